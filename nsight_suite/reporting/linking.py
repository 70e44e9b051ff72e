"""The results tables, each number of which leads to its query and to the raw rows behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nsight_suite.drawing import Drawn
from nsight_suite.errors import CannotAnswer, SuiteError
from nsight_suite.evidence.needs import needs_of
from nsight_suite.evidence.store import Store
from nsight_suite.evidence.versions import EvidenceReplaced
from nsight_suite.evidence.views import shared_views
from nsight_suite.querying import find_query, run_named
from nsight_suite.reporting.behind import Behind
from nsight_suite.reporting.rawrows import RawRows, Source, told
from nsight_suite.reporting.selection import Shown
from nsight_suite.reporting.tables import TextTable, exact, text_table
from nsight_suite.runfolder import text_sha256

Row = Mapping[str, Any]

# A kernel's name may be a page of template arguments.
_LONGEST = 100


@dataclass(frozen=True)
class LinkedTable:
    """A table of results. `hints` tells the spread of the raw values behind a number, by its row and column."""

    table: TextTable
    hints: Mapping[tuple[int, int], str] = field(default_factory=dict)
    left_out: int = 0


@dataclass(frozen=True)
class RowEvidence:
    """What stands behind one row of a table: the row as its query gives it, in base units, and its raw rows."""

    anchor: str
    label: str
    whole: str
    raw: tuple[RawRows, ...]


@dataclass(frozen=True)
class QueryEvidence:
    """A query that numbers of the report come from: its text with its hash, its columns, and its rows.

    `command` asks it, if it has a name, and `table` is the title of its table, if it has one. `shared` are raw
    rows that stand behind every row alike.
    """

    name: str
    about: str
    sql: str
    sha256: str
    reads: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    command: str = ""
    table: str = ""
    shared: tuple[RawRows, ...] = ()
    rows: tuple[RowEvidence, ...] = ()


@dataclass(frozen=True)
class View:
    """A view of the evidence that queries share."""

    name: str
    sql: str
    sha256: str


class Linker:
    """Makes tables and, beside them, the evidence that their numbers lead to."""

    def __init__(self, store: Store, experiment: str, run_argument: str) -> None:
        self._store, self._experiment, self._run_argument = store, experiment, run_argument
        self._anchors: dict[str, list[tuple[Row, str]]] = {}
        self.queries: dict[str, QueryEvidence] = {}

    def tables(
        self,
        shown: Iterable[Shown],
        *,
        more: Mapping[str, Mapping[str, str]] | None = None,
        most: int | None = None,
        behind: Mapping[str, Sequence[Behind]] | None = None,
    ) -> tuple[LinkedTable, ...]:
        """The tables that the run has rows for, and those that cannot be asked, each with the reason.

        more    by query the column `answer`, which is no part of it: what it says of each case
        most    rows of a table that are shown at most
        behind  by query what stands behind its rows; without it they have no evidence but the query's own
        """
        made = []
        for one in shown:
            try:
                made.append(self._table(one, (more or {}).get(one.query), most, behind))
            except EvidenceReplaced:
                raise
            except (
                CannotAnswer
            ) as error:  # what is lost must not be taken for empty: counts of it would be zero
                made.append(self._unanswered(one, error.what, table=one.title if behind else ""))
        return tuple(table for table in made if table is not None)

    def add(self, names: Iterable[str]) -> None:
        """Queries without a table of their own, so that links lead to them; unknown names are no queries."""
        for name in names:
            if name not in self.queries:
                try:
                    self.queries[name] = self._query(name)
                except SuiteError:  # what a finding came from may be a file
                    continue

    def add_figures(self, drawn: Drawn) -> None:
        """The queries of the figures, those too that stand nowhere but in a figure."""
        for drawing in drawn.drawings:
            for query in drawing.provenance["queries"]:
                if query["name"]:
                    self.add([query["name"]])
                    continue
                name = f"{drawing.source.name}.{query['key']}"
                about = f"Asked by the figure {drawing.source.name} alone."
                self.queries[name] = self._described(name, about, query["sql"])

    def views(self) -> tuple[View, ...]:
        """The views that any of the queries reads."""
        read = {name for query in self.queries.values() for name in query.reads}
        return tuple(
            View(name, view.statements, text_sha256(view.statements))
            for name, view in sorted(shared_views().items())
            if name in read
        )

    def _table(
        self,
        one: Shown,
        more: Mapping[str, str] | None,
        most: int | None,
        behind: Mapping[str, Sequence[Behind]] | None,
    ) -> LinkedTable | None:
        query = find_query(one.query, self._experiment)
        every = run_named(self._store, one.query, self._experiment).records()
        if one.only_if is not None and not any(map(one.only_if, every)):
            return None
        rows = every[:most]
        said = rows if more is None else [{**row, "answer": more.get(row["case_id"])} for row in rows]
        about = f"{query.about} {query.notes}".replace("\n", " ").strip()
        table = text_table(one.title, one.query, about, said, one.columns, noted=one.noted)
        if behind is None:
            self.queries.setdefault(one.query, self._query(one.query))
            return LinkedTable(table, left_out=len(every) - len(rows))
        sources = [self._source(raw) for raw in behind.get(one.query, ())]
        self._anchors[one.query] = [(row, f"{one.query}.{number}") for number, row in enumerate(rows, 1)]
        evidence = tuple(
            RowEvidence(
                anchor,
                _label(row, one, sources),
                " · ".join(f"{name} {exact(row[name])}" for name in row if name not in _told_by_case(row)),
                _raw(row, sources),
            )
            for row, anchor in self._anchors[one.query]
        )
        shared = tuple(source.of({}) for source in sources if not source.behind.keys)
        self.queries[one.query] = self._query(one.query, table=one.title, shared=shared, rows=evidence)
        return LinkedTable(table, _hints(rows, one, sources, table), len(every) - len(rows))

    def _unanswered(self, one: Shown, why: str, table: str) -> LinkedTable:
        query = self.queries[one.query] = self._query(one.query, table=table)
        return LinkedTable(
            replace(text_table(one.title, one.query, query.about, [], one.columns), notes=(why,))
        )

    def _source(self, behind: Behind) -> Source:
        homes = {
            tuple(row[name] for name in behind.home_keys or behind.keys): anchor
            for row, anchor in self._anchors.get(behind.home, ())
        }
        return Source(self._store, behind, self._experiment, self._run_argument, homes)

    def _query(self, name: str, **more: Any) -> QueryEvidence:
        query = find_query(name, self._experiment)
        return self._described(
            *(name, query.about, query.sql),
            columns=query.columns,
            notes=query.notes,
            command=f"python -m nsight_suite.query {self._run_argument} {name}",
            **more,
        )

    def _described(self, name: str, about: str, sql: str, **more: Any) -> QueryEvidence:
        needs = needs_of(self._store.connection, sql)
        return QueryEvidence(
            name, about, sql, text_sha256(sql), tuple(sorted(needs.tables)) if needs else (), **more
        )


def _raw(row: Row, sources: Sequence[Source]) -> tuple[RawRows, ...]:
    """What each source has; what it has not where none has anything."""
    every = tuple(source.of(row) for source in sources if source.behind.keys)
    return tuple(one for one in every if one.total) or every


def _told_by_case(row: Row) -> tuple[str, ...]:
    """Columns that a case's id, which is the label of its rows, says already."""
    return ("case_id", "experiment", "variant", "submission", "shape") if row.get("case_id") else ()


def _hints(
    rows: Sequence[Row], one: Shown, sources: Sequence[Source], table: TextTable
) -> dict[tuple[int, int], str]:
    places = {name: place for place, name in enumerate(one.columns)}
    return {
        (number, places[column]): told(seen, table.columns[places[column]].unit)
        for number, row in enumerate(rows)
        for source in sources
        for column, seen in source.spreads(row)
        if column in places
    }


def _label(row: Row, one: Shown, sources: Sequence[Source]) -> str:
    """What tells a row from the others: the first column that is shown, and those that its raw rows go by."""
    keys = next((source.behind.keys for source in sources if source.behind.keys), ())
    names = dict.fromkeys([next(name for name in one.columns if name in row), *keys])
    texts = (exact(row[name]) for name in names)
    return " · ".join(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in texts)
