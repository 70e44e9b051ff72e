"""Evidence built again from the reports and compared with the Parquet files: table, row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nsight_suite import __version__
from nsight_suite.evidence.build import collect
from nsight_suite.evidence.keeping import kept_files
from nsight_suite.evidence.sqltext import escaped, not_a_pattern, quoted
from nsight_suite.evidence.store import Connection, bare_connection
from nsight_suite.evidence.tables import Table, tables
from nsight_suite.evidence.views import View
from nsight_suite.unpacking import shown
from nsight_suite.verifying.checks import Check, Findings, Subject

NAME = "evidence"
ABOUT = "the reports give the tables of the evidence again, row by row"

# Rows that are told of one table.
_MOST_ROWS = 5
# Rows among which those that belong together are looked for.
_MOST_PAIRED = 50
_LONGEST = 80

Row = tuple[Any, ...]


def check(subject: Subject) -> Check:
    """Every table of the evidence against what the reports give."""
    found = Findings()
    kept = {f"evidence/{file.name}": view for view, file in kept_files(subject.run.evidence)}
    for label, view in kept.items():
        with found.readable(label), bare_connection() as connection:
            _compare_kept(subject, connection, view, label, found)
    if subject.run.is_ingested():
        found.miss(
            "the run was ingested: its reports stayed where they are, so its evidence cannot be built again"
        )
        return found.as_check(NAME, ABOUT)
    if not any(path.startswith("evidence/") for path in subject.files):
        found.fail("evidence", "there is none to compare with what the reports give")
        return found.as_check(NAME, ABOUT)
    with found.readable("reports"), collect(subject.run) as connection:
        lost = _lost_passes(subject)
        for name in lost:
            found.miss(f"rows of the pass {name}: a report of it was left out")
        for table in tables().values():
            _compare(subject, connection, table, lost, found)
    known = kept.keys() | {f"evidence/{name}.parquet" for name in tables()}
    for path in subject.files:
        if path.startswith("evidence/") and path not in known:
            found.fail(path, "is no table of the evidence: no report gives it")
    return found.as_check(NAME, ABOUT)


def _compare_kept(subject: Subject, connection: Connection, view: View, label: str, found: Findings) -> None:
    """The rows of a view that were kept against what the tables give."""
    for name in view.tables:
        connection.execute(
            f"CREATE VIEW {quoted(name)} AS FROM {_parquet(subject.plain.evidence / f'{name}.parquet')}"
        )
    connection.execute(f"CREATE VIEW given AS {view.select}")
    connection.execute(f"CREATE VIEW recorded AS FROM {_parquet(subject.path(label))}")
    names = [row[0] for row in connection.execute("DESCRIBE given").fetchall()]
    _compare_rows(connection, names, label, ("given", "recorded"), found, source="the tables give")


def _parquet(path: Path) -> str:
    return f"read_parquet('{escaped(not_a_pattern(path.resolve()))}')"


def _lost_passes(subject: Subject) -> list[str]:
    """Passes of which a report that evidence is built from was left out."""
    reports = [path.removeprefix("reports/") for path in subject.left_out if path.startswith("reports/")]
    # What lies deeper are builds, which only tell their hash; private reports have an export or a page.
    names = {path.split(".")[0] for path in reports if "/" not in path and not path.endswith("-rep")}
    return sorted(names)


def _compare(
    subject: Subject, connection: Connection, table: Table, lost: Sequence[str], found: Findings
) -> None:
    path = subject.plain.evidence / f"{table.name}.parquet"
    label = f"evidence/{path.name}"
    if not path.is_file():
        found.fail(label, "is missing, so nothing can be compared with what the reports give")
        return
    rebuilt, recorded = f"rebuilt.{quoted(table.name)}", f"recorded.{quoted(table.name)}"
    with found.readable(label):
        connection.execute("CREATE SCHEMA IF NOT EXISTS recorded; CREATE SCHEMA IF NOT EXISTS rebuilt")
        file = _parquet(path)
        there = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()]
        if there != list(table.column_names):
            other = sorted(set(there) ^ set(table.column_names))
            found.fail(
                label, f"has other columns than this version reads ({', '.join(other) or 'another order'})"
            )
            return
        if _version_differs(connection, table, file):
            found.note("the evidence was written by another version of the suite; its version is not compared")
        condition = _condition(subject, table, lost)
        columns = ", ".join(f"CAST({quoted(c.name)} AS {c.type}) AS {quoted(c.name)}" for c in _compared(table))
        connection.execute(f"CREATE VIEW {recorded} AS SELECT {columns} FROM {file} WHERE {condition}")
        connection.execute(
            f"CREATE VIEW {rebuilt} AS SELECT {columns} FROM main.{quoted(table.name)} WHERE {condition}"
        )
        names = [column.name for column in _compared(table)]
        _compare_rows(connection, names, label, (rebuilt, recorded), found)


def _version_differs(connection: Connection, table: Table, file: str) -> bool:
    if table.name != "run":
        return False
    written = connection.execute(f"SELECT DISTINCT suite_version FROM {file}").fetchall()
    return written != [(__version__,)]


def _compared(table: Table) -> list[Any]:
    """Which version wrote the evidence is no measurement: another one must come to the same."""
    return [column for column in table.columns if (table.name, column.name) != ("run", "suite_version")]


def _condition(subject: Subject, table: Table, lost: Sequence[str]) -> str:
    conditions = ["true"]
    if lost and "pass" in table.column_names:
        names = ", ".join(f"'{escaped(name)}'" for name in lost)
        conditions.append(f'("pass" IS NULL OR "pass" NOT IN ({names}))')
    if table.name == "artifact" and subject.left_out:
        paths = ", ".join(f"'{escaped(path)}'" for path in subject.left_out)
        conditions.append(f'"path" NOT IN ({paths})')
    return " AND ".join(conditions)


def _compare_rows(
    connection: Connection,
    names: Sequence[str],
    label: str,
    views: tuple[str, str],
    found: Findings,
    *,
    source: str = "the reports give",
) -> None:
    rebuilt, recorded = views
    counts = [connection.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] for view in views]
    found.count("tables")
    found.count("rows", counts[0])
    if counts[0] != counts[1]:
        found.fail(label, f"holds {counts[1]} rows, and {source} {counts[0]}")
        # A file may claim any number of rows: those are not compared.
        if counts[1] > 2 * counts[0] + 1000:
            return
    if counts == [0, 0]:
        return
    added = _beyond(connection, recorded, rebuilt)
    if not added and counts[0] == counts[1]:
        return
    lost = _beyond(connection, rebuilt, recorded)
    for what in _told(names, added, lost, source)[:_MOST_ROWS]:
        found.fail(label, what)


def _beyond(connection: Connection, one: str, other: str) -> list[Row]:
    """Rows that the one has more of than the other."""
    sql = f"SELECT * FROM (SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}) ORDER BY ALL"
    return connection.execute(f"{sql} LIMIT {_MOST_PAIRED}").fetchall()


def _told(names: Sequence[str], recorded: list[Row], rebuilt: list[Row], source: str) -> list[str]:
    """Rows that differ, each with the row that it was most likely made of."""
    told, left = [], list(rebuilt)
    for row in recorded:
        other = min(left, key=lambda one: len(_differing(row, one)), default=None)
        if other is None or len(_differing(row, other)) > len(names) // 2:
            told.append(f"a row that nothing gives: {_row(names, row)}")
            continue
        left.remove(other)
        told += [
            f"column {names[at]} is {_value(row[at])}, and {source} {_value(other[at])}, in the row "
            f"{_row(names, other)}"
            for at in _differing(row, other)
        ]
    return told + [f"lacks a row that {source}: {_row(names, row)}" for row in left]


def _differing(one: Row, other: Row) -> list[int]:
    return [at for at, (mine, theirs) in enumerate(zip(one, other, strict=True)) if mine != theirs]


def _row(names: Sequence[str], row: Row) -> str:
    """What tells a row from others: its first columns that have a value."""
    told: Mapping[str, Any] = {name: value for name, value in zip(names, row, strict=True) if value is not None}
    return ", ".join(f"{name} {_value(value)}" for name, value in list(told.items())[:6])


def _value(value: object) -> str:
    return "nothing" if value is None else shown(str(value), _LONGEST)
