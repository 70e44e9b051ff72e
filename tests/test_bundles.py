"""Bundles: the same run gives the same bytes, within a size; all that stays behind is told with its hash."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from real_run import SECRETS, make_real_run, refresh_artifacts

import nsight_suite
from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence import store
from nsight_suite.manifest import read_manifest
from nsight_suite.runfolder import RunFolder, sha256
from nsight_suite.share import main
from nsight_suite.sharing import Bundle, Options, share
from nsight_suite.sharing.archive import write_archive
from nsight_suite.sharing.leaving import Sized, choose

BUILDS = {"fused.cu": 300, "fused.sm_90.cubin": 40_000, "fused.sm_90.ptx": 20_000, "fused.sm_90.sass": 30_000}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A captured run with private files and builds; read only."""
    run = make_real_run(tmp_path_factory.mktemp("captured") / "run")
    folder = run.reports / "builds" / "validate"
    folder.mkdir(parents=True)
    for name, size in BUILDS.items():
        (folder / name).write_bytes((name.encode() + b"\n") * (size // (len(name) + 1)))
    refresh_artifacts(run)
    return run


@pytest.fixture(scope="module")
def bundle(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The run as an archive with figures and report; read only."""
    return share(run, tmp_path_factory.mktemp("bundle") / "row.zip", environment={})


@pytest.fixture(scope="module")
def unpacked(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(bundle.path) as packed:
        packed.extractall(folder)
    return RunFolder(folder / "row")


def test_the_same_bytes_come_again_elsewhere_from_another_process_and_from_the_copy(
    bundle: Bundle, unpacked: RunFolder, tmp_path: Path
) -> None:
    """In another folder, later, with another time zone, umask, order of hashing and style of figures."""
    (tmp_path / "matplotlibrc").write_text("font.size: 20\nsvg.fonttype: none\n")
    command = [sys.executable, "-m", "nsight_suite.share", str(unpacked.path), "--out", "row.zip"]
    environment = {"PYTHONPATH": str(Path(nsight_suite.__file__).parent.parent), "PATH": os.environ["PATH"]}
    environment |= {"PYTHONHASHSEED": "12345", "TZ": "Asia/Kathmandu", "HOME": str(tmp_path)}
    environment["MATPLOTLIBRC"] = str(tmp_path / "matplotlibrc")
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, umask=0o077, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "row.zip").read_bytes() == bundle.path.read_bytes()
    assert f"SHA-256 {bundle.sha256}  row.zip" in done.stdout
    assert f"SHA-256 {bundle.manifest_sha256}  manifest.json" in done.stdout


def test_an_archive_tells_nothing_of_when_and_where_it_was_made(bundle: Bundle) -> None:
    with zipfile.ZipFile(bundle.path) as packed:
        entries = packed.infolist()
    names = [entry.filename for entry in entries]
    assert names == sorted(names)
    assert {name.split("/")[0] for name in names} == {"row"}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.external_attr >> 16 for entry in entries} == {0o100644}
    assert not any(entry.extra or entry.comment for entry in entries)


def test_a_bundle_holds_everything_that_its_manifest_tells(bundle: Bundle, unpacked: RunFolder) -> None:
    manifest = read_manifest(unpacked.manifest)
    assert manifest == bundle.manifest
    assert sha256(bundle.path) == bundle.sha256
    assert sha256(unpacked.manifest) == bundle.manifest_sha256
    there = {path.relative_to(unpacked.path).as_posix() for path in files_of(unpacked.path)}
    assert {entry.path for entry in manifest.files} == there - {"manifest.json"}
    assert all(sha256(unpacked.path / entry.path) == entry.sha256 for entry in manifest.files)
    assert not any(entry.private for entry in manifest.files)
    assert {entry.role for entry in manifest.files} == {
        *("run", "protocol", "expectation", "pass", "records", "report", "export", "log", "build", "evidence"),
        *("summary", "figure", "provenance", "reconciliation", "page"),
    }


def test_private_files_are_told_with_their_hashes(bundle: Bundle, run: RunFolder, unpacked: RunFolder) -> None:
    left = {entry.path: entry for entry in bundle.manifest.left_out}
    assert left.keys() == {
        *("logs/nsys.log", "reports/nsys.nsys-rep", "reports/nsys.sqlite", "reports/ncu.csv"),
        *("reports/ncu-warm.csv", "reports/sanitize.memcheck.log"),
        *(f"reports/{name}.jsonl" for name in run.pass_records()),
    }
    for path, entry in left.items():
        assert (entry.bytes, entry.sha256) == ((run.path / path).stat().st_size, sha256(run.path / path))
        assert "private" in entry.why
        assert ("under this name" in entry.why) == (unpacked.path / path).exists()


def test_nothing_private_is_in_any_file(unpacked: RunFolder) -> None:
    content = b"".join(path.read_bytes() for path in files_of(unpacked.path))
    assert not [secret for secret in SECRETS if secret.encode() in content]


def test_asking_a_bundle_writes_nothing_into_it(unpacked: RunFolder) -> None:
    before = {path: path.stat().st_mtime_ns for path in files_of(unpacked.path)}
    with nsight_suite.open_run(unpacked.path) as opened:
        assert opened.query("kernel_counts", as_="rows")
    assert {path: path.stat().st_mtime_ns for path in files_of(unpacked.path)} == before


def test_the_report_of_a_bundle_names_no_folder(unpacked: RunFolder) -> None:
    text = (unpacked.path / "report.md").read_text()
    assert "python -m nsight_suite.query . " in text or "nsight_suite.reconcile ." in text


# -- a limit of size -------------------------------------------------------------------------------


def test_what_does_not_fit_stays_behind_and_is_told(run: RunFolder, bundle: Bundle, tmp_path: Path) -> None:
    without = ("figures", "report")
    plain = [entry for entry in bundle.manifest.files if entry.role not in ("figure", "provenance", "page")]
    limit = sum(entry.bytes for entry in plain) + bundle_size_of_manifest(bundle) - 35_000
    limited = share(run, tmp_path / "limited", Options(without=without, max_bytes=limit), environment={})
    assert sum(path.stat().st_size for path in files_of(limited.path)) == limited.bytes <= limit
    large = {entry.path: entry for entry in limited.manifest.left_out if entry.why.startswith("too large")}
    builds = "reports/builds/validate"
    assert large.keys() == {f"{builds}/fused.sm_90.sass", f"{builds}/fused.sm_90.ptx"}
    for path, entry in large.items():
        assert entry.sha256 == sha256(run.path / path)
        assert not (limited.path / path).exists()
    built = (limited.run.summaries / "artifacts.csv").read_text()
    assert "fused.sm_90.cubin" in built
    assert "fused.sm_90.sass" not in built


def bundle_size_of_manifest(bundle: Bundle) -> int:
    with zipfile.ZipFile(bundle.path) as packed:
        return packed.getinfo("row/manifest.json").file_size


@pytest.mark.parametrize(
    ("excess", "stays_behind"),
    [
        (1, ["b.sass"]),
        (300, ["b.sass"]),
        (301, ["b.sass", "a.sass"]),
        (601, ["b.sass", "a.sass", "a.ptx", "figures/f.png"]),
        (10_000, ["b.sass", "a.sass", "a.ptx", "figures/f.png", "a.cubin", "report.html", "figures/f.svg"]),
    ],
)
def test_things_stay_behind_in_order(tmp_path: Path, excess: int, stays_behind: list[str]) -> None:
    sizes = {
        **{"a.sass": 200, "b.sass": 300, "a.ptx": 100, "a.cubin": 900, "a.cu": 5_000},
        **{"figures/f.png": 50, "figures/f.svg": 60, "report.html": 70, "report.md": 5_000},
    }
    files = {
        (name if "/" in name or name.startswith("report") else f"reports/builds/validate/{name}"): size
        for name, size in sizes.items()
    }
    for name, size in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    chosen = choose([Sized(*one) for one in files.items()], excess, 1, RunFolder(tmp_path))
    assert [path.removeprefix("reports/builds/validate/") for path in chosen] == stays_behind
    assert all(entry.bytes == files[path] and entry.why for path, entry in chosen.items())


def test_what_the_numbers_are_checked_with_never_stays_behind(tmp_path: Path) -> None:
    sizes = [
        Sized("reports/timing.jsonl", 900),
        Sized("evidence/sample.parquet", 90),
        Sized("manifest.json", 9),
    ]
    with pytest.raises(SuiteError, match=r"takes 999 bytes .* records 900, evidence 90, manifest 9") as caught:
        choose(sizes, 499, 500, RunFolder(tmp_path))
    assert "--max-size" in caught.value.way_out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--max-size", "much"], "'much' is no size"),
        (["--max-size", "5XB"], "'5XB' is no size"),
        (["--without", "evidence"], "--without knows no 'evidence'"),
    ],
)
def test_a_wrong_call_is_told(
    run: RunFolder, tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run.path), "--out", str(tmp_path / "bundle"), *arguments]) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_archive_that_is_there_stays(run: RunFolder, tmp_path: Path) -> None:
    taken = tmp_path / "taken.zip"
    taken.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        share(run, taken)
    assert taken.read_text() == "mine"


# -- the parts -------------------------------------------------------------------------------------


def test_the_size_of_each_file_in_an_archive_adds_up(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.txt").write_text("a" * 10_000)
    (folder / "deeper" / "ü.bin").write_bytes(os.urandom(500))
    taken = write_archive(folder, tmp_path / "a.zip", "top")
    end_of_directory = 22
    assert sum(taken.values()) + end_of_directory == (tmp_path / "a.zip").stat().st_size
    assert list(taken) == ["a.txt", "deeper/ü.bin"]


def test_parquet_files_are_the_same_whatever_the_number_of_threads(tmp_path: Path) -> None:
    """Also of a table that is too large to be sorted."""
    written = []
    for threads in (1, 7):
        with store.empty_store() as connection:
            connection.execute(f"SET threads = {threads}")
            connection.execute(
                "INSERT INTO sample BY NAME SELECT 'timing' AS pass, 'completion' AS quantity, i AS round, "
                "(i * 7919) % 10007 AS duration_ns FROM range(300_000) AS numbers(i)"
            )
            store.write_parquet(connection, tmp_path / str(threads))
        written.append((tmp_path / str(threads) / "sample.parquet").read_bytes())
    assert written[0] == written[1]


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
