"""Opening evidence: damaged, missing and strangely placed files give reasons, never tracebacks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence import store
from nsight_suite.evidence.paths import argument_without_path, without_paths
from nsight_suite.evidence.tables import tables
from nsight_suite.runfolder import RunFolder


@pytest.fixture
def run(synthetic_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy that a test may spoil."""
    copy = RunFolder(tmp_path / "run")
    shutil.copytree(synthetic_run.path, copy.path)
    return copy


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (Path.unlink, "kernel.parquet is missing"),
        (lambda path: path.write_bytes(b""), "kernel.parquet is damaged"),
        (lambda path: path.write_bytes(b"hello, world"), "kernel.parquet is damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "kernel.parquet is damaged"),
        (lambda path: shutil.copyfile(path.with_name("launch.parquet"), path), "kernel.parquet is damaged"),
    ],
    ids=["missing", "empty", "text", "cut", "another table"],
)
def test_a_bad_file_is_a_missing_table_with_a_reason(
    run: RunFolder, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(run.evidence / "kernel.parquet")
    opened = store.open_store(run)
    assert list(opened.missing) == ["kernel"]
    assert opened.missing["kernel"].startswith(reason)
    assert str(run.path) not in opened.missing["kernel"]
    with pytest.raises(store.DatabaseError, match="the table 'kernel' is not empty but missing"):
        opened.rows("SELECT count(*) AS n FROM kernel")
    assert opened.rows("SELECT count(*) AS n FROM launch") != [{"n": 0}]
    lenient = store.open_store(run, missing_as_empty=True)
    assert lenient.missing == opened.missing
    assert lenient.rows("SELECT count(*) AS n FROM kernel") == [{"n": 0}]


def test_a_folder_of_any_name_can_be_opened(run: RunFolder, tmp_path: Path) -> None:
    odd = RunFolder(tmp_path / "it's [1] * é")
    run.path.rename(odd.path)
    assert store.open_store(odd).missing == {}
    store.write_duckdb(odd)
    assert store.open_store(odd).rows("SELECT count(*) AS n FROM run") == [{"n": 1}]


def test_an_open_store_reads_nothing_else(run: RunFolder, tmp_path: Path) -> None:
    private = tmp_path / "private.csv"
    private.write_text("a\n1\n")
    opened = store.open_store(run)
    for sql in (
        f"SELECT * FROM read_csv('{private}')",
        f"COPY run TO '{tmp_path / 'out.csv'}'",
        "INSTALL sqlite",
    ):
        with pytest.raises(store.DatabaseError):
            opened.connection.execute(sql)
    assert not (tmp_path / "out.csv").exists()


def test_expectations_that_are_no_query_are_named(run: RunFolder) -> None:
    run.expected.write_text("SELECT nonsense FROM nowhere")
    with pytest.raises(UsageError, match=r"expected\.sql"):
        store.open_store(run)


@pytest.mark.parametrize("opening", [store.open_store, store.write_duckdb])
@pytest.mark.parametrize(
    ("appended", "what"),
    [
        ("; COPY (SELECT 1) TO '{target}'", "holds SELECT and COPY"),
        (" WHERE EXISTS (FROM read_csv('{secret}'))", "Permission Error"),
        ("; DROP VIEW kernel", "holds SELECT and DROP"),
    ],
    ids=["writes", "reads", "drops"],
)
def test_expectations_touch_no_other_file(
    run: RunFolder, tmp_path: Path, opening: Callable[[RunFolder], object], appended: str, what: str
) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    text = run.expected.read_text().rstrip().rstrip(";")
    more = appended.format(target=tmp_path / "written.csv", secret=tmp_path / "secret.csv")
    run.expected.write_text(f"SELECT * FROM ({text}\n){more}")
    with pytest.raises(UsageError, match=rf"expected\.sql .*{what}"):
        opening(run)
    assert not (tmp_path / "written.csv").exists()


@pytest.mark.parametrize("kind", ["folder", "dangling", "latin-1"])
def test_expectations_that_cannot_be_read_are_named(run: RunFolder, kind: str) -> None:
    run.expected.unlink()
    if kind == "folder":
        run.expected.mkdir()
    elif kind == "dangling":
        run.expected.symlink_to("nowhere")
    else:
        run.expected.write_bytes("-- é\nSELECT 1".encode("latin-1"))
    with pytest.raises(SuiteError, match=r"expected\.sql"):
        store.open_store(run)


def test_rows_keep_big_integers_null_and_text() -> None:
    with store.empty_store() as connection:
        big = 2**63 - 1
        store.insert_rows(
            connection, "sample", [{"pass": "t", "duration_ns": big, "case_id": "é\n\"'"}, {"pass": "t"}]
        )
        assert connection.execute("SELECT duration_ns, case_id, round FROM sample").fetchall() == [
            (big, "é\n\"'", None),
            (None, None, None),
        ]


@pytest.mark.parametrize("row", [{"colour": "red"}, {"duration_ns": float("nan")}])
def test_a_row_that_does_not_fit_is_the_programmer_s_mistake(row: dict[str, object]) -> None:
    with store.empty_store() as connection, pytest.raises(ValueError, match=r"colour|JSON"):
        store.insert_rows(connection, "sample", [row])


def test_every_column_is_told_with_a_known_type() -> None:
    for table in tables().values():
        assert table.doc.startswith("one row")
        for column in table.columns:
            assert column.type in ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"), (table.name, column.name)
            assert column.doc, (table.name, column.name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot open /home/me/a/row.cu: denied", "cannot open row.cu: denied"),
        ("nvrtc -I/opt/suite/kernels 'x /a/b' (/c/d)", "nvrtc -Ikernels 'x b' (d)"),
        ("--plan=/a/b/plan.json PATH=/usr/bin:/opt/x/bin", "--plan=plan.json PATH=bin:bin"),
        ("byte/block, n/a, docs/tour.ipynb, ./a/b, ../c", "byte/block, n/a, docs/tour.ipynb, ./a/b, ../c"),
        ("nsight_suite@row:fused:graph:4096x4096/", "nsight_suite@row:fused:graph:4096x4096/"),
        ("1 / 2", "1 / 2"),
    ],
)
def test_paths_are_cut_to_their_last_name(text: str, shown: str) -> None:
    assert without_paths(text) == shown


def test_a_path_with_spaces_is_one_argument() -> None:
    assert argument_without_path("/home/my name/run 1") == "run 1"
    assert argument_without_path("--out=/a/b") == "--out=b"
