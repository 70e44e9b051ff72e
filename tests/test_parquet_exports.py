"""An nsys export as a folder of Parquet files is read as its twin in SQLite is."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from nsys_reports import Asked, at_once
from test_sweep import RANGE_COLUMNS, READ
from tiny_export import Call, Kernel, Range, make_export

from nsight_suite.errors import BadReport
from nsight_suite.evidence.readers import nsys
from nsight_suite.evidence.store import bare_connection, empty_store
from nsight_suite.query import main

DATA = Path(__file__).parent / "data"
_KINDS = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR"}


def as_parquet(export: Path, folder: Path, kinds: dict[str, str] | None = None) -> Path:
    """Each table of an export as a Parquet file; `kinds` gives columns another type than theirs."""
    folder.mkdir()
    with closing(sqlite3.connect(export)) as database, bare_connection() as connection:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            info = database.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
            columns = {
                name: (kinds or {}).get(name) or _KINDS.get(kind.split()[0], "VARCHAR") for name, kind in info
            }
            declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            connection.execute(f'CREATE TABLE "{table}" ({declared})')
            rows = database.execute(f'SELECT * FROM "{table}"').fetchall()
            if rows:
                connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(info))})', rows)
            connection.execute(f"COPY \"{table}\" TO '{folder / table}.parquet' (FORMAT parquet)")
    return folder


def evidence(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with empty_store() as connection:
        nsys.read(connection, path, "r")
        found = {name: connection.execute(f'SELECT * FROM "{name}" ORDER BY ALL').fetchall() for name in READ}
        found["finding"] = connection.execute(
            "SELECT code, subject, reason FROM finding ORDER BY ALL"
        ).fetchall()
        return found


@pytest.mark.parametrize("name", ["nsys_node", "nsys_two_gpus"])
def test_a_recording_gives_the_same_evidence(tmp_path: Path, name: str) -> None:
    export = DATA / f"{name}.sqlite"
    folder = as_parquet(export, tmp_path / name)
    assert evidence(folder) == evidence(export)
    columns = ("range", *RANGE_COLUMNS[10:13])
    told = [
        [[row[name] for name in columns] for row in at_once(path, "range_projection")]
        for path in (export, folder)
    ]
    assert told[0] == told[1]


def tiny(path: Path) -> Path:
    return make_export(
        path,
        api=[Call("cudaLaunchKernel_v7000", 1, 2, 1)],
        kernels=[Kernel("k", 10, 20, 1), Kernel("k", 30, 45, 1)],
        nvtx=[Range("step", 0, 5, payload=7)],
    )


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        ("SELECT count(*) AS n FROM kernel", [{"n": 2}]),
        ("SELECT count(*) AS n FROM range", [{"n": 1}]),
        ("SELECT kernel_id, name FROM kernel ORDER BY ALL", [{"kernel_id": n, "name": "k"} for n in (0, 1)]),
        ("SELECT sum(end_ns - start_ns) AS ns, max(grid_x) AS x FROM kernel", [{"ns": 25, "x": None}]),
    ],
)
def test_questions_are_answered_without_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, right: list[dict[str, Any]]
) -> None:
    folder = as_parquet(tiny(tmp_path / "r.sqlite"), tmp_path / "folder")
    assert main([str(folder), "--sql", sql, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == right


@pytest.mark.parametrize("kind", ["UBIGINT", "DOUBLE", "VARCHAR", "DECIMAL(38, 0)", "HUGEINT"])
def test_numbers_of_any_type_are_numbers(tmp_path: Path, kind: str) -> None:
    """nsys writes some ids unsigned, and other programs rewrite exports with types of their own."""
    export = tiny(tmp_path / "r.sqlite")
    names = (
        "start",
        "end",
        "globalTid",
        "globalPid",
        "correlationId",
        "int64Value",
        "demangledName",
        "eventType",
    )
    report = Asked(as_parquet(export, tmp_path / "folder", dict.fromkeys(names, kind)))
    assert report.table("kernel_by_path", "path kernel kernels total_ns")[0] == ("step", "k", 2, 25)
    assert report.table("range_projection", "payload kernels") == [(7, 2)]
    assert report.findings() == {}


def rewritten(folder: Path, table: str, *statements: str) -> Path:
    """The folder with a table changed by SQL over `t`."""
    file = folder / f"{table}.parquet"
    with bare_connection() as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_parquet('{file}')")
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    return folder


@pytest.mark.parametrize(
    ("kind", "made", "total"),
    [
        ("TIMESTAMP_NS", "make_timestamp_ns({})", 25),
        ("TIMESTAMP", "make_timestamp({})", 25_000),
        ("BOOLEAN", "{} > 0", None),
    ],
)
def test_moments_of_a_type_of_their_own(tmp_path: Path, kind: str, made: str, total: int | None) -> None:
    """They are told in ns, whatever their unit; what is no moment is none."""
    folder = as_parquet(tiny(tmp_path / "r.sqlite"), tmp_path / "folder")
    changes = [
        f'ALTER TABLE t ALTER "{name}" TYPE {kind} USING {made.format(chr(34) + name + chr(34))}'
        for name in ("start", "end")
    ]
    report = Asked(rewritten(folder, "CUPTI_ACTIVITY_KIND_KERNEL", *changes))
    assert report.table("kernel_summary", "kernels total_ns") == [(2, total)]
    assert ("odd-cells" in report.findings()) == (total is None)


def test_a_table_that_is_a_folder_is_no_table_without_rows(tmp_path: Path) -> None:
    folder = as_parquet(tiny(tmp_path / "r.sqlite"), tmp_path / "folder")
    file = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    file.unlink()
    file.mkdir()
    for query in ("range_projection", "kernel_summary"):
        with pytest.raises(BadReport, match="is no file"):
            at_once(folder, query)


def test_texts_that_their_writer_calls_bytes_are_texts(tmp_path: Path) -> None:
    """In a folder whose name looks like a column of its own."""
    kinds = {"value": "BLOB", "text": "BLOB"}
    folder = as_parquet(tiny(tmp_path / "r.sqlite"), tmp_path / "start=5", kinds)
    report = Asked(folder)
    assert report.table("kernel_by_path", "path kernel kernels total_ns")[0] == ("step", "k", 2, 25)
    assert report.findings() == {}
    assert [(row["kernel"], row["kernels"]) for row in at_once(folder, "kernel_summary")] == [("k", 2)]


def test_a_number_that_stands_for_two_names_doubles_no_kernel(tmp_path: Path) -> None:
    folder = as_parquet(tiny(tmp_path / "r.sqlite"), tmp_path / "folder")
    rewritten(folder, "StringIds", "INSERT INTO t SELECT id, value || ' too' FROM t UNION ALL FROM t")
    report = Asked(folder)
    assert report.table("kernel_summary", "kernel kernels total_ns") == [("k", 2, 25)]
    assert [(row["kernel"], row["kernels"]) for row in at_once(folder, "kernel_summary")] == [("k", 2)]
    assert "ambiguous-names" in report.findings()


def test_cells_that_are_no_integers_are_counted_and_not_rounded(tmp_path: Path) -> None:
    export = tiny(tmp_path / "r.sqlite")
    folder = as_parquet(export, tmp_path / "folder", {"end": "DOUBLE"})
    changed = 'UPDATE t SET "end" = 44.6 WHERE "start" = 30'
    report = Asked(rewritten(folder, "CUPTI_ACTIVITY_KIND_KERNEL", changed))
    assert report.table("kernel_summary", "kernels untimed total_ns") == [(2, 1, 10)]
    assert "1 cells" in report.findings()["odd-cells"]


@pytest.mark.parametrize("cut", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: raw[:-1]])
def test_a_damaged_file_is_told(tmp_path: Path, cut: Any) -> None:
    folder = as_parquet(tiny(tmp_path / "r.sqlite"), tmp_path / "folder")
    file = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    file.write_bytes(cut(file.read_bytes()))
    with pytest.raises(BadReport, match="folder"):
        Asked(folder)
    with pytest.raises(BadReport, match="folder"):
        at_once(folder, "kernel_summary")
