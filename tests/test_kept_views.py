"""Rows of a view that a large run keeps beside its tables: they answer as the view would, or not at all."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_export import Call, Kernel, make_export

import nsight_suite
from nsight_suite import share
from nsight_suite.errors import CannotAnswer
from nsight_suite.evidence import keeping, store
from nsight_suite.evidence.views import shared_views
from nsight_suite.ingesting.making import ingest
from nsight_suite.querying import open_evidence, query_text, run_named
from nsight_suite.querying.asking import Result
from nsight_suite.runfolder import RunFolder, sha256
from nsight_suite.verifying import CHECKS, subject_of

SUMMARY = query_text("kernel_summary")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """Four kernels of two names, which are many for once."""
    monkeypatch.setattr(store, "_SORTED_ROWS", 3)
    return _ingested(tmp_path, "large")


def _ingested(folder: Path, name: str, slower: int = 0) -> RunFolder:
    export = folder / f"{name}.sqlite"
    times = (("scale", 100, 130), ("scale", 200, 250 + slower), ("copy", 300, 310), ("scale", None, None))
    make_export(
        export,
        api=[Call("cudaLaunchKernel_v7000", 50 + at, 51 + at, at) for at in range(4)],
        kernels=[Kernel(kernel, start, end, at) for at, (kernel, start, end) in enumerate(times)],
    )
    ingest([export], folder / name)
    return RunFolder(folder / name)


def _kept(run: RunFolder) -> Path:
    (file,) = run.evidence.glob("kernel_group-*.parquet")
    return file


def _summary(run: RunFolder) -> Result:
    return run_named(open_evidence(run, sql=SUMMARY), "kernel_summary")


def test_a_large_run_keeps_what_a_small_one_works_out(run: RunFolder) -> None:
    kept = _kept(run)
    before = _summary(run)
    assert [(row["kernel"], row["kernels"], row["untimed"], row["p50_ns"]) for row in before.records()] == [
        ("scale", 3, 1, 40.0),
        ("copy", 1, 0, 10.0),
    ]
    kept.unlink()
    assert _summary(run) == before


def test_a_small_run_keeps_nothing(tmp_path: Path) -> None:
    assert not list(_ingested(tmp_path, "small").evidence.glob("kernel_group*"))


def test_the_rows_are_those_of_one_select_and_no_other() -> None:
    group = shared_views()["kernel_group"]
    assert group.kept
    assert "FROM kernel" in group.select
    over = group.over("SELECT 1 AS one")
    assert 'VIEW "kernel_group" AS SELECT 1 AS one;' in over
    assert "FROM kernel" not in over
    assert "COMMENT ON COLUMN kernel_group.kernels" in over


def test_nothing_answers_for_a_table_that_is_lost(run: RunFolder) -> None:
    (run.evidence / "kernel.parquet").unlink()
    with pytest.raises(CannotAnswer, match=r"kernel\.parquet is missing"):
        _summary(run)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"hello, world"])
def test_kept_rows_that_are_damaged_are_made_anew(run: RunFolder, content: bytes) -> None:
    before = _summary(run)
    _kept(run).write_bytes(content)
    assert _summary(run) == before
    assert nsight_suite.open_run(run.path).query("kernel_summary", as_="rows") == before.records()


def test_kept_rows_of_other_tables_are_not_believed(run: RunFolder, tmp_path: Path) -> None:
    before = _summary(run)
    other = _ingested(tmp_path, "other", slower=1000)
    shutil.copyfile(_kept(other), _kept(run).with_name(_kept(other).name))
    assert _summary(run) == before
    shutil.copyfile(other.evidence / "kernel.parquet", run.evidence / "kernel.parquet")
    shutil.copyfile(other.evidence / "pass.parquet", run.evidence / "pass.parquet")
    assert _summary(run) == _summary(other)


def test_too_little_memory_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_SORTED_ROWS", 3)
    # A list of all durations, as those of very many kernels, does not fit into what a store may take.
    group = shared_views()["kernel_group"]
    huge = replace(group, select=group.select.replace("FROM kernel", "FROM kernel, range(10000000)"))
    monkeypatch.setattr(keeping, "kept_views", lambda: {group.name: huge})
    monkeypatch.setattr(store, "_CONFIG", store._CONFIG | {"memory_limit": "80MB", "temp_directory": ""})
    run = _ingested(tmp_path, "huge")
    assert not list(run.evidence.glob("kernel_group*"))
    assert len(_summary(run).rows) == 2


def test_verify_works_them_out_again(run: RunFolder, tmp_path: Path) -> None:
    kept = _kept(run)
    changed = store.bare_connection()
    changed.execute(
        f"COPY (SELECT * REPLACE (kernels + 1 AS kernels) FROM '{kept}') TO '{tmp_path / 'changed.parquet'}'"
    )
    kept.unlink()
    forged = f"{kept.stem.rpartition('-')[0]}-{sha256(tmp_path / 'changed.parquet')[:12]}.parquet"
    shutil.move(tmp_path / "changed.parquet", kept.with_name(forged))
    check = CHECKS["evidence"][1](subject_of(run))
    assert any("column kernels is 4, and the tables give 3" in failure.what for failure in check.failures)


def test_a_bundle_works_them_out(run: RunFolder, tmp_path: Path) -> None:
    share.main([str(run.path), "--out", str(tmp_path / "bundle")])
    bundle = RunFolder(tmp_path / "bundle")
    assert not list(bundle.evidence.glob("kernel_group*"))
    assert _summary(bundle) == _summary(run)
