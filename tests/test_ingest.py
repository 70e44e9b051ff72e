"""Ingesting reports: each is recognised by its contents, and read whole or refused by name."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tiny_export import Call, Kernel, Range, make_export

from nsight_suite.errors import BadReport, CannotAnswer, SuiteError, UsageError
from nsight_suite.evidence.ingested import rebuild
from nsight_suite.evidence.store import Connection, bare_connection, open_store
from nsight_suite.ingesting.inputs import Given, LeftOut
from nsight_suite.ingesting.making import Ingested, Options, ingest
from nsight_suite.ingesting.overview import as_text
from nsight_suite.ingesting.pairing import StaleExport, choose
from nsight_suite.ingesting.recognising import Form, recognise
from nsight_suite.runfolder import RunFolder, read_json
from nsight_suite.sources import find_run

DATA = Path(__file__).parent / "data"
NODE = DATA / "nsys_node.sqlite"
PAGE = DATA / "ncu_kernel_raw.csv"
REPORT = b"NVIDIA Tegra Profiler Report 2023@4@4@54-1v0.\n"


@pytest.fixture(autouse=True)
def _no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """No nsys and no ncu, wherever the tests run."""
    monkeypatch.setattr("nsight_suite.ingesting.making.find_tool", lambda name: None)


def small(path: Path, kernels: int = 2) -> Path:
    """An export of some kernels, one in each instance of a range `step`."""
    return make_export(
        path,
        api=[Call("cudaLaunchKernel_v7000", 100 * n + 10, 100 * n + 20, n) for n in range(kernels)],
        kernels=[Kernel("k", 100 * n + 50, 100 * n + 70, n) for n in range(kernels)],
        nvtx=[Range("step", 100 * n, 100 * n + 30) for n in range(kernels)],
    )


def ask(run: RunFolder, sql: str) -> Connection:
    """A question, with no more of the run opened than it reads."""
    return open_store(run, sql=sql).connection.execute(sql)


def count(run: RunFolder, table: str) -> int:
    ((found,),) = ask(run, f'SELECT count(*) FROM "{table}"').fetchall()
    return int(found)


def findings(run: RunFolder) -> list[tuple[str, str]]:
    return ask(run, "SELECT code, subject FROM finding ORDER BY ALL").fetchall()


def nothing_else(folder: Path, *names: str) -> None:
    """Nothing lies in the folder but what the test put there, hidden files included."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


# -- what a run holds ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    """Three reports of one program; read only."""
    out = tmp_path_factory.mktemp("real") / "run"
    return ingest([NODE, DATA / "nsys_graph.sqlite", PAGE], out)


def test_each_report_is_a_pass_named_after_its_file(real: Ingested) -> None:
    rows = ask(real.run, "SELECT pass, state FROM pass ORDER BY 1").fetchall()
    assert rows == [("ncu_kernel_raw", "ok"), ("nsys_graph", "ok"), ("nsys_node", "ok")]
    assert real.run.read_run()["passes"] == ["nsys_node", "nsys_graph", "ncu_kernel_raw"]


def test_their_rows_are_what_the_readers_give(real: Ingested) -> None:
    counted = "SELECT pass, count(*) FROM kernel GROUP BY 1 ORDER BY 1"
    kernels = ask(real.run, counted).fetchall()
    assert kernels == [("nsys_graph", 32), ("nsys_node", 63)]  # as in tests/data/README.md
    workloads = ask(real.run, "SELECT count(DISTINCT workload_id) FROM counter")
    assert workloads.fetchall() == [(10,)]


def test_a_run_of_reports_is_a_run(real: Ingested) -> None:
    assert find_run(real.run.path) == real.run.path
    assert real.run.is_ingested()
    assert sorted(path.name for path in real.run.path.iterdir()) == [
        *("evidence", "evidence.duckdb", "manifest.json", "run.json")
    ]


def test_provenance_tells_which_file_was_read(real: Ingested) -> None:
    first = real.run.read_run()["reports"][0]
    assert first["given"]["path"] == str(NODE)
    assert first["given"]["bytes"] == NODE.stat().st_size
    hashed = ask(real.run, "SELECT sha256 FROM report WHERE pass = 'nsys_node'")
    assert hashed.fetchall() == [(first["given"]["sha256"],)]


def test_no_path_of_the_machine_is_in_the_evidence(real: Ingested) -> None:
    for path in real.run.evidence.iterdir():
        assert str(DATA).encode() not in path.read_bytes()


def test_the_overview_says_unknown_where_a_number_is_unknown(tmp_path: Path) -> None:
    export = make_export(tmp_path / "r.sqlite", kernels=None, nvtx=None)
    (line,) = ingest([export], tmp_path / "run").overview.lines
    assert (line.kernels, line.ranges, line.unattributed) == ("?", "?", "?")
    assert (line.tool, line.schema) == ("2025.5.2.266", "3.24.0")


def test_the_overview_shows_the_unattributed_share(tmp_path: Path) -> None:
    export = make_export(
        tmp_path / "r.sqlite",
        api=[Call("cudaLaunchKernel_v7000", 10, 20, 1), Call("cudaLaunchKernel_v7000", 60, 70, 2)],
        kernels=[Kernel("k", 30, 40, 1), Kernel("k", 80, 90, 2), Kernel("k", 95, 99, 3)],
        nvtx=[Range("step", 0, 50)],
    )
    made = ingest([export], tmp_path / "run")
    (line,) = made.overview.lines
    assert (line.kernels, line.launches, line.ranges) == ("3", "2", "1")
    assert line.unattributed == "66.6 %"  # two of three, rounded down
    text = "\n".join(as_text(made.overview, 10))
    assert "66.6 %" in text


def test_sqlite_is_written_only_when_asked_for(tmp_path: Path) -> None:
    made = ingest([small(tmp_path / "r.sqlite")], tmp_path / "run", Options(sqlite=True))
    with closing(sqlite3.connect(made.run.sqlite)) as database:
        assert database.execute("SELECT count(*) FROM kernel").fetchall() == [(2,)]


# -- what is recognised ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("nsys_node.sqlite", Form.NSYS_SQLITE),
        ("ncu_kernel_raw.csv", Form.NCU_CSV),
        ("ncu_kernel_details.csv", Form.NCU_CSV),
        ("ncu_graph_whole.ncu-rep", Form.NCU_REP),
    ],
)
def test_contents_tell_the_kind_and_not_the_suffix(tmp_path: Path, name: str, form: Form) -> None:
    assert recognise(DATA / name) is form
    assert recognise(Path(shutil.copy(DATA / name, tmp_path / "report.dat"))) is form


def test_a_report_of_nsys_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(REPORT)
    (tmp_path / "b.bin").write_bytes(b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-1v0!")
    assert recognise(tmp_path / "a.bin") is Form.NSYS_REP
    assert recognise(tmp_path / "b.bin") is Form.QDSTRM


@pytest.mark.parametrize("suffix", [".ncu-rep", ".ncu-repz", ".NCU-REP"])
def test_an_unknown_layout_under_a_known_suffix_is_left_to_its_reader(tmp_path: Path, suffix: str) -> None:
    """Case 94: both suffixes, in any case."""
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"PK\x03\x04 of another make")
    assert recognise(path) is Form.NCU_REP


def test_a_page_after_a_megabyte_of_output_is_found(tmp_path: Path) -> None:
    path = tmp_path / "live.txt"
    path.write_bytes(b"step\n" * 300_000 + PAGE.read_bytes())
    assert recognise(path) is Form.NCU_CSV


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("r.sqlite", b"", "is an empty file"),
        ("r.csv", b"", "is an empty file"),
        ("r.sqlite", b"not a database\n", "not an SQLite database"),
        ("r.csv", b"a,b\n1,2\n", "text without a table"),
        ("r.parquet", b"PAR1....PAR1", "one Parquet file"),
        ("r.h5", b"\x89HDF\r\n\x1a\n....", "HDF5"),
        ("r.zip", b"PK\x03\x04....", "ZIP"),
        ("r.zst", b"\x28\xb5\x2f\xfd....", "zstd"),
        ("r.csv", b"\xff\xfe" + "a,b".encode("utf-16-le"), "text without a table"),
        ("r.bin", b"\x00\x01\x02\x03", "binary"),
        ("r.json", b'{"traceEvents": []}', "JSON"),
        ("timing.jsonl", b'{"table": "sample"}\n', "records of a driver"),
        ("r.py", b"print()\n", "text without a table"),
    ],
)
def test_what_is_no_report_is_refused_by_name(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    """Case 57: empty, foreign and text files, each named for what it is."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadReport, match=says) as caught:
        ingest([tmp_path / name], tmp_path / "run")
    assert name in caught.value.what
    nothing_else(tmp_path, name)


@pytest.mark.parametrize("size", [0.5, 0.999])
def test_a_cut_export_is_refused(tmp_path: Path, size: float) -> None:
    """Case 57 b and e: in the middle, and in the last page alone."""
    path = tmp_path / "r.sqlite"
    path.write_bytes(NODE.read_bytes()[: int(NODE.stat().st_size * size)])
    with pytest.raises(BadReport, match=r"r\.sqlite is (truncated|damaged)"):
        ingest([path], tmp_path / "run")
    nothing_else(tmp_path, "r.sqlite")


def test_a_report_under_the_name_of_an_export_is_seen_for_what_it_is(tmp_path: Path) -> None:
    """Case 57 d, without an nsys: what it is, and the command that exports it."""
    (tmp_path / "r.sqlite").write_bytes(REPORT)
    with pytest.raises(BadReport, match="report of Nsight Systems") as caught:
        ingest([tmp_path / "r.sqlite"], tmp_path / "run")
    assert "nsys export --type sqlite" in caught.value.way_out
    nothing_else(tmp_path, "r.sqlite")


@pytest.mark.parametrize(("table", "says"), [("users", "its tables are users"), (None, "without any table")])
def test_a_foreign_database_is_refused_with_the_tables_seen(
    tmp_path: Path, table: str | None, says: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as database:
        database.execute("PRAGMA user_version = 1")
        if table:
            database.execute(f"CREATE TABLE {table} (name TEXT)")
        database.commit()
    with pytest.raises(BadReport, match=says):
        ingest([tmp_path / "r.sqlite"], tmp_path / "run")


def test_an_export_of_nothing_is_still_an_export(tmp_path: Path) -> None:
    """Case 01: no kernel table is an answer, with its reason."""
    made = ingest([make_export(tmp_path / "r.sqlite", kernels=None)], tmp_path / "run")
    assert "no-kernel-table" in [code for code, _ in findings(made.run)]


def test_a_missing_path_creates_nothing(tmp_path: Path) -> None:
    """Case 55."""
    with pytest.raises(UsageError, match=r"There is no file '.*typo\.sqlite'"):
        ingest([tmp_path / "typo.sqlite"], tmp_path / "deep" / "run")
    nothing_else(tmp_path)


def test_arrow_files_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "r_arwdir").mkdir()
    (tmp_path / "r_arwdir" / "StringIds.arrow").write_bytes(b"\xff\xff\xff\xff")
    with pytest.raises(BadReport, match="Arrow files"):
        ingest([tmp_path / "r_arwdir"], tmp_path / "run")


def test_a_database_that_lost_its_journal_is_doubted(tmp_path: Path) -> None:
    export = small(tmp_path / "r.sqlite")
    with closing(sqlite3.connect(export)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    assert not (tmp_path / "r.sqlite-wal").exists()
    made = ingest([export], tmp_path / "run")
    assert ("journal-missing", "r.sqlite") in findings(made.run)
    assert count(made.run, "kernel") == 2


@pytest.mark.parametrize("name", ["r.sqlite", "page.csv"])
def test_what_is_packed_by_gzip_is_unpacked(tmp_path: Path, name: str) -> None:
    source = small(tmp_path / "source.sqlite") if name.endswith("sqlite") else PAGE
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    made = ingest([packed], tmp_path / "run")
    (entry,) = made.run.read_run()["reports"]
    assert entry["read"]["path"] == f"reports/{name}"
    assert (made.run.reports / name).read_bytes() == source.read_bytes()
    named = ask(made.run, "SELECT file, rows FROM report").fetchall()
    assert named == [(f"{name}.gz", 2 if name.endswith("sqlite") else 10)]


def test_a_cut_gzip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.sqlite.gz").write_bytes(gzip.compress(NODE.read_bytes())[:-500])
    with pytest.raises(BadReport, match="cannot be unpacked"):
        ingest([tmp_path / "r.sqlite.gz"], tmp_path / "run")
    nothing_else(tmp_path, "r.sqlite.gz")


# -- places and names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ['it\'s a "trace" é.sqlite', "two\nlines.sqlite", "100%;[a]*?.sqlite", "-v.sqlite"]
)
def test_any_name_will_do_and_comes_back(tmp_path: Path, name: str) -> None:
    """Case 59."""
    export = shutil.copy(small(tmp_path / "plain.sqlite"), tmp_path / name)
    made = ingest([Path(export)], tmp_path / f"run of {name}")
    assert ask(made.run, "SELECT file FROM report").fetchall() == [(name,)]
    assert count(made.run, "kernel") == 2


def test_a_name_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.sqlite"
    Path(os.fsdecode(path)).write_bytes(NODE.read_bytes())
    with pytest.raises(UsageError, match="not valid UTF-8"):
        ingest([Path(os.fsdecode(path))], tmp_path / "run")


def test_reports_of_one_name_become_two_passes(tmp_path: Path) -> None:
    for number, folder in enumerate(("a", "b"), start=2):
        (tmp_path / folder).mkdir()
        small(tmp_path / folder / "r.sqlite", kernels=number)
    made = ingest([tmp_path / "a" / "r.sqlite", tmp_path / "b" / "r.sqlite"], tmp_path / "run")
    assert made.run.read_run()["passes"] == ["r", "r-2"]


def test_the_same_report_twice_is_read_once(tmp_path: Path) -> None:
    export = small(tmp_path / "r.sqlite")
    (tmp_path / "link.sqlite").symlink_to(export)
    shutil.copy(export, tmp_path / "copy.sqlite")
    made = ingest([export, export, tmp_path / "link.sqlite", tmp_path / "copy.sqlite"], tmp_path / "run")
    assert made.run.read_run()["passes"] == ["r"]
    assert [one.path.name for one in made.left_out] == ["link.sqlite", "copy.sqlite"]


def test_a_folder_gives_its_reports_and_tells_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    small(folder / "a.sqlite")
    shutil.copy(PAGE, folder / "b.csv")
    (folder / "notes.md").write_text("notes\n")
    (folder / ".hidden").write_text("hidden\n")
    (folder / "a.sqlite-shm").write_bytes(b"")
    (folder / "more").mkdir()
    made = ingest([folder], tmp_path / "run", Options(merge_anyway=True))
    assert made.run.read_run()["passes"] == ["a", "b"]
    assert sorted(one.path.name for one in made.left_out) == ["more", "notes.md"]


def test_a_bad_report_in_a_folder_is_a_failed_pass_and_a_named_one_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    small(folder / "good.sqlite")
    (folder / "bad.csv").write_text("==PROF== Connected to process 9\n==ERROR== ERR_NVGPUCTRPERM - no\n")
    made = ingest([folder], tmp_path / "run")
    states = ask(made.run, "SELECT pass, state FROM pass ORDER BY 1").fetchall()
    assert states == [("bad", "failed"), ("good", "ok")]
    assert ("unreadable-report", "bad.csv") in findings(made.run)
    with pytest.raises(BadReport, match=r"bad\.csv"):
        ingest([folder / "good.sqlite", folder / "bad.csv"], tmp_path / "other")
    nothing_else(tmp_path, "reports", "run")


def test_a_folder_without_reports_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadReport, match="holds no report"):
        ingest([tmp_path / "empty"], tmp_path / "run")


def test_a_run_is_not_ingested_again(tmp_path: Path, real: Ingested) -> None:
    with pytest.raises(UsageError, match="is a run of the suite already"):
        ingest([real.run.path], tmp_path / "run")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    export = small(tmp_path / "r.sqlite")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    for out in (tmp_path / "taken", export, tmp_path / "taken" / "file"):
        with pytest.raises(UsageError, match="exists already"):
            ingest([export], out)
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["file"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert count(ingest([small(tmp_path / "r.sqlite")], tmp_path / "run").run, "kernel") == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_reports_in_a_folder_that_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    small(folder / "r.sqlite")
    folder.chmod(0o500)
    assert count(ingest([folder / "r.sqlite"], tmp_path / "run").run, "kernel") == 2


# -- exports beside their report -------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A report and its export, which is a second younger."""
    report, export = tmp_path / "r.nsys-rep", small(tmp_path / "r.sqlite")
    report.write_bytes(REPORT)
    os.utime(report, (1000, 1000))
    os.utime(export, (1001, 1001))
    return report, export


def test_an_export_older_than_its_report_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Case 61: both times are told, and both ways out."""
    report, export = pair
    os.utime(report, (1010, 1010))
    for given in (export, report, tmp_path):
        with pytest.raises(StaleExport, match=r"r\.sqlite \(written .*\) is older than r\.nsys-rep") as caught:
            ingest([given], tmp_path / "run")
        assert "--force-overwrite true" in caught.value.way_out
        assert "--accept-stale" in caught.value.way_out
    made = ingest([export], tmp_path / "run", Options(accept_stale=True))
    assert ("stale-export", "r.sqlite") in findings(made.run)


def test_a_fresh_export_is_read_in_place_of_its_report(pair: tuple[Path, Path], tmp_path: Path) -> None:
    report, export = pair
    made = ingest([report, export], tmp_path / "run")
    (entry,) = made.run.read_run()["reports"]
    assert (entry["given"]["path"], entry["read"]["path"]) == (str(report), str(export))
    assert [one.path for one in made.left_out] == [report]


def test_an_export_tells_which_report_it_lies_beside(pair: tuple[Path, Path], tmp_path: Path) -> None:
    report, export = pair
    (entry,) = ingest([export], tmp_path / "run").run.read_run()["reports"]
    assert (entry["given"]["path"], entry["export_of"]) == (str(export), str(report))


def test_a_page_older_than_its_report_is_refused(tmp_path: Path) -> None:
    page = Path(shutil.copy(PAGE, tmp_path / "r.csv"))
    (tmp_path / "r.ncu-rep").write_bytes(b"NVR\0")
    os.utime(page, (1000, 1000))
    with pytest.raises(StaleExport, match=r"is older than r\.ncu-rep"):
        ingest([page], tmp_path / "run")


def test_a_report_of_ncu_and_its_page_are_one_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is read where it can be: a page may have been printed in part, or rounded."""
    report = Path(shutil.copy(DATA / "ncu_graph_whole.ncu-rep", tmp_path / "r.ncu-rep"))
    page = Path(shutil.copy(DATA / "ncu_graph_whole_raw.csv", tmp_path / "r.csv"))
    os.utime(report, (1000, 1000))
    monkeypatch.setattr("nsight_suite.ingesting.making.can_read", lambda: False)
    made = ingest([tmp_path], tmp_path / "run")
    (entry,) = made.run.read_run()["reports"]
    assert (entry["given"]["path"], entry["read"]["path"], entry["form"]) == (str(report), str(page), "ncu-csv")
    assert [one.path for one in made.left_out] == [report]
    assert [file.format for file in made.overview.lines] == ["ncu-csv"]
    shutil.rmtree(made.run.path)

    given = [Given(page, Form.NCU_CSV, named=False), Given(report, Form.NCU_REP, named=False)]
    chosen, left_out = choose(given, accept_stale=False, can_export=lambda: False, can_load=lambda: True)
    assert [(one.given, one.form, one.read) for one in chosen] == [(report, Form.NCU_REP, None)]
    assert left_out == [LeftOut(page, "r.csv is a page of r.ncu-rep beside it.")]


def test_a_page_under_any_suffix_belongs_to_its_report(tmp_path: Path) -> None:
    report, page = tmp_path / "r.ncu-rep", tmp_path / "r.log"
    report.write_bytes(b"NVR\0")
    shutil.copy(PAGE, page)
    given = [Given(report, Form.NCU_REP, named=True), Given(page, Form.NCU_CSV, named=True)]
    chosen, left_out = choose(given, accept_stale=False, can_export=lambda: False, can_load=lambda: False)
    assert [(one.given, one.read) for one in chosen] == [(report, page)]
    assert [one.path for one in left_out] == [report]


# -- reports that belong together ------------------------------------------------------------------

ORIGIN = {
    "DEVICE_DISPLAY_NAME": "planted-host-a",
    "PROCESS_0:COMMAND": "/usr/bin/python3",
    "PROCESS_0:ARGUMENT_0": "-u",
    "PROCESS_0:ARGUMENT_1": "/home/planted-user/train.py",
}


def of(path: Path, kernels: int, changed: dict[str, str], uuid: str = "", process: str = "") -> Path:
    """A small export that tells where it was captured."""
    export = small(path, kernels)
    with closing(sqlite3.connect(export)) as database:
        database.executemany("INSERT INTO META_DATA_CAPTURE VALUES (?, ?)", {**ORIGIN, **changed}.items())
        if uuid:
            database.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT)")
            database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', ?)", (uuid,))
        if process:
            database.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
            database.execute("INSERT INTO PROCESSES VALUES (1, 1, ?)", (process,))
        database.commit()
    return export


A_GPU, B_GPU = "61ecf9b5-10f2-0805-c367-148cb69e0220", "5ccfcea7-7818-e587-5925-9e018cca3b92"


@pytest.mark.parametrize(
    ("changed", "uuid", "process", "says"),
    [
        ({"DEVICE_DISPLAY_NAME": "planted-host-b"}, A_GPU, "python3", "another host"),
        ({}, B_GPU, "python3", "other GPUs"),
        ({"PROCESS_0:ARGUMENT_1": "/home/planted-user/infer.py"}, A_GPU, "python3", "another program"),
        ({}, A_GPU, "/opt/app/solver", "other processes"),
    ],
)
def test_strangers_do_not_merge_unless_asked(
    tmp_path: Path, changed: dict[str, str], uuid: str, process: str, says: str
) -> None:
    reports = [
        of(tmp_path / "a.sqlite", 2, {}, A_GPU, "python3"),
        of(tmp_path / "b.sqlite", 3, changed, uuid, process),
    ]
    with pytest.raises(UsageError, match=rf"b\.sqlite is of {says}.* than a\.sqlite") as caught:
        ingest(reports, tmp_path / "run")
    assert "planted" not in str(caught.value)
    assert "--merge-anyway" in str(caught.value)
    nothing_else(tmp_path, "a.sqlite", "b.sqlite")
    made = ingest(reports, tmp_path / "run", Options(merge_anyway=True))
    assert count(made.run, "kernel") == 5


def as_parquet(export: Path) -> Path:
    """The same export as nsys writes it with --type parquetdir."""
    folder = export.with_name(f"{export.stem}_pqtdir")
    folder.mkdir()
    with closing(sqlite3.connect(export)) as source, bare_connection() as target:
        tables = [row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [f'"{row[1]}" {row[2]}' for row in source.execute(f"PRAGMA table_info({table})")]
            target.execute(f"CREATE TABLE {table} ({', '.join(columns).replace('INTEGER', 'BIGINT')})")
            marks = ", ".join("?" * len(columns))
            if rows := source.execute(f"SELECT * FROM {table}").fetchall():
                target.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            target.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
    return folder


def test_a_folder_of_parquet_files_is_a_report(tmp_path: Path) -> None:
    folder = as_parquet(of(tmp_path / "a.sqlite", 2, {}, A_GPU))
    run = ingest([folder], tmp_path / "run").run
    assert run.read_run()["passes"] == ["a"]
    assert count(run, "kernel") == 2
    before = {path.name: path.read_bytes() for path in run.evidence.iterdir()}
    rebuild(run)
    assert {path.name: path.read_bytes() for path in run.evidence.iterdir()} == before
    stranger = of(tmp_path / "b.sqlite", 3, {"DEVICE_DISPLAY_NAME": "planted-host-b"}, A_GPU)
    with pytest.raises(UsageError, match=r"b\.sqlite is of another host than a_pqtdir"):
        ingest([folder, stranger], tmp_path / "other")


def test_only_what_both_tell_is_compared(tmp_path: Path) -> None:
    reports = [
        of(tmp_path / "a.sqlite", 2, {}, A_GPU),
        of(tmp_path / "b.sqlite", 3, {"PROCESS_0:COMMAND": "python3.12"}, f"GPU-{A_GPU.upper()}"),
        small(tmp_path / "c.sqlite", 4),
        PAGE,
    ]
    made = ingest(reports, tmp_path / "run")
    assert count(made.run, "kernel") == 9
    for path in made.run.evidence.iterdir():
        assert b"planted" not in path.read_bytes()


# -- afterwards ------------------------------------------------------------------------------------


def test_the_evidence_is_built_again_from_the_same_reports(tmp_path: Path) -> None:
    export = small(tmp_path / "r.sqlite")
    run = ingest([export], tmp_path / "run").run
    before = {path.name: path.read_bytes() for path in run.evidence.iterdir()}
    shutil.rmtree(run.evidence)
    os.utime(export, (1, 1))  # touched, and still the same
    rebuild(run)
    assert {path.name: path.read_bytes() for path in run.evidence.iterdir()} == before
    small(tmp_path / "other.sqlite", kernels=3).replace(export)
    with pytest.raises(UsageError, match="no longer the file"):
        rebuild(run)
    export.unlink()
    with pytest.raises(UsageError, match="no longer there"):
        rebuild(run)


@pytest.mark.parametrize("verb", ["reconcile", "figures"])
def test_what_needs_a_declaration_says_so(real: Ingested, verb: str) -> None:
    command = [sys.executable, "-m", f"nsight_suite.{verb}", str(real.run.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "was ingested from reports: no experiment declares" in done.stderr
    assert "Traceback" not in done.stderr


def test_from_python_too(real: Ingested) -> None:
    import nsight_suite

    with nsight_suite.open_run(real.run.path) as run:
        assert len(run.sql("SELECT DISTINCT pass FROM kernel")) == 2
        with pytest.raises(CannotAnswer, match="nothing to reconcile"):
            run.reconcile()


def test_run_json_is_what_runs_are(real: Ingested) -> None:
    told = read_json(real.run.run_json)
    assert (told["experiment"], told["source"], told["state"], told["device"]) == (
        "",
        "reports",
        "complete",
        None,
    )


def test_errors_are_the_family_s(tmp_path: Path) -> None:
    with pytest.raises(SuiteError):
        ingest([tmp_path], tmp_path / "run")
