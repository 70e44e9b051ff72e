"""Reading the raw rows that stand behind the rows of a query, as `behind.py` declares them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nsight_suite.evidence.store import Store
from nsight_suite.querying import query_text, run_sql
from nsight_suite.reporting.behind import Behind
from nsight_suite.reporting.strips import Spread, spread, strip
from nsight_suite.reporting.tables import exact, in_unit

Row = Mapping[str, Any]

_TOTAL = "raw_rows_in_all"
# Keys that are words of SQL.
_WORDS = ("range",)


@dataclass(frozen=True)
class RawRows:
    """Raw rows as they are printed, in base units.

    `total` counts them all; `command` gives all where some are left out. `home` is the anchor of another row
    that shows them, in place of the rows. `strips` are plots, each with what it is of.
    """

    title: str
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    total: int = 0
    command: str = ""
    home: str = ""
    strips: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Source:
    """One declaration of raw rows with those of the run, asked for once for all rows of the query."""

    store: Store
    behind: Behind
    experiment: str
    run_argument: str
    homes: Mapping[tuple[Any, ...], str] = field(default_factory=dict)

    def of(self, row: Row) -> RawRows:
        """What stands behind one row of the query; behind all of them where there are no keys."""
        key = tuple(row[name] for name in self.behind.keys)
        rows = self._by_key.get(key, ())
        columns = tuple(name for name in self._columns if name not in self.behind.keys)
        home = self.homes.get(tuple(row[name] for name in self.behind.home_keys or self.behind.keys), "")
        most = self.behind.most
        shown = () if home else tuple(tuple(exact(one[name]) for name in columns) for one in rows[:most])
        return RawRows(
            title=self.behind.title,
            headings=columns,
            rows=shown,
            total=(total := rows[0][_TOTAL] if rows and _TOTAL in rows[0] else len(rows)),
            command=self._command(key) if total > most and not home else "",
            home=home,
            strips=() if home else tuple(self._strips(rows)),
        )

    def spreads(self, row: Row) -> Iterator[tuple[str, Spread]]:
        """Each column of the query that sums up raw values, with their spread."""
        rows = self._by_key.get(tuple(row[name] for name in self.behind.keys), ())
        for column, raw in self.behind.values.items():
            if values := self._values(rows, raw):
                yield column, spread(values)

    @cached_property
    def _text(self) -> str:
        sql = self.behind.sql
        text = query_text(sql, self.experiment) if len(sql.split()) == 1 else sql
        return "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return run_sql(self.store, f"SELECT * FROM ({self._text}) LIMIT 0").columns

    def _records(self) -> list[dict[str, Any]]:
        """All raw rows where something is worked out from them; else those that are printed, with the total."""
        if self.behind.values:
            return run_sql(self.store, self._text).records()
        within = ", ".join(f'"{name}"' for name in self.behind.keys)
        of_key = f"PARTITION BY {within}" if within else ""
        order = "ORDER BY " + ", ".join(f'"{name}"' for name in self._columns)
        sql = (
            f"SELECT *, count(*) OVER ({of_key}) AS {_TOTAL} FROM ({self._text}) "
            f"QUALIFY row_number() OVER ({of_key} {order}) <= {self.behind.most} {order}"
        )
        return run_sql(self.store, sql).records()

    @cached_property
    def _by_key(self) -> dict[tuple[Any, ...], list[Row]]:
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self._records():
            groups.setdefault(tuple(row[name] for name in self.behind.keys), []).append(row)
        return groups

    def _values(self, rows: Sequence[Row], column: str) -> list[float]:
        per = self.behind.per
        return [row[column] / (row[per] if per else 1) for row in rows if row[column] is not None]

    def _strips(self, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
        # Where a row is split into parts, its table says it better than ten plots would.
        wanted = dict.fromkeys(self.behind.values.values())
        for column in wanted if len(wanted) <= 3 else ():
            if len(values := self._values(rows, column)) > 1:
                drawn = strip(values)
                name = f"{column} / {self.behind.per}" if self.behind.per else column
                beyond = f", {drawn.beyond} beyond the plot" if drawn.beyond else ""
                yield f"{name}: {told(spread(values), 'ns')}{beyond}", drawn.svg

    def _command(self, key: Sequence[Any]) -> str:
        where = " AND ".join(map(_equal, self.behind.keys, key))
        sql = f"SELECT * FROM ({self._text}) WHERE {where}" if where else self._text
        return f"python -m nsight_suite.query {self.run_argument} --sql {_shell_quoted(sql)}"


def told(seen: Spread, unit: str) -> str:
    """A spread in words: quantiles of many samples, the range of few."""
    if unit == "ns":
        low, median, high = (f"{value:.0f} ns" for value in (seen.low, seen.median, seen.high))
    else:
        low, median, high = (in_unit(value, unit) for value in (seen.low, seen.median, seen.high))
    if seen.quantiles:
        return f"median {median}, p10 {low}, p90 {high}, {seen.samples} samples"
    return f"median {median}, from {low} to {high}, {seen.samples} samples"


def _shell_quoted(sql: str) -> str:
    """SQL as one word of a command line. It is full of single quotes, so double ones read better."""
    return shlex.quote(sql) if set(sql) & set('"$`\\!') else f'"{sql}"'


def _equal(name: str, value: object) -> str:
    """A condition on a key, in SQL. Only a name that needs quotes has them: a shell must be told of each."""
    name = f'"{name}"' if name in _WORDS else name
    if value is None:
        return f"{name} IS NULL"
    if isinstance(value, int | float):
        return f"{name} = {exact(value)}"
    text = str(value).replace("'", "''")
    return f"{name} = '{text}'"
