"""The suite works from a wheel, an editable install and a bare checkout, and from any directory."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = ("kernels", "capture", "queries", "figures", "examples")
RECORDED = ROOT / "examples" / "row-h200"


@dataclass(frozen=True)
class Setup:
    """An environment with the suite in it, and the directory that commands are started from."""

    python: Path
    directory: Path
    package: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _run(self.python, "-m", *arguments, directory=self.directory)


def _run(python: Path | str, *arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), *arguments], cwd=directory, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = _run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), ".", directory=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def _environment(folder: Path) -> Path:
    """A new environment that sees this one's dependencies; its own packages come first."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    import duckdb  # any dependency shows where they are

    (site / "dependencies.pth").write_text(f"{Path(duckdb.__file__).parent.parent}\n")
    return folder / "bin" / "python"


def _install(python: Path, *what: str) -> None:
    done = _run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        *what,
        directory=ROOT,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=["wheel", "editable", "checkout"])
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    folder = tmp_path_factory.mktemp(request.param)
    python = _environment(folder / "venv")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    if request.param == "wheel":
        _install(python, str(request.getfixturevalue("wheel")))
        return Setup(python, elsewhere, folder / "venv")
    if request.param == "editable":
        _install(python, "--no-build-isolation", "-e", ".")
        return Setup(python, elsewhere, ROOT / "nsight_suite")
    return Setup(python, ROOT, ROOT / "nsight_suite")


def test_the_right_copy_is_imported(setup: Setup) -> None:
    done = _run(
        setup.python, "-c", "import nsight_suite; print(nsight_suite.__file__)", directory=setup.directory
    )
    assert Path(done.stdout.strip()).is_relative_to(setup.package), done.stderr


def test_list(setup: Setup) -> None:
    done = setup.run("nsight_suite.list", "--json")
    assert done.returncode == 0, done.stderr
    listing = json.loads(done.stdout)
    assert "row" in listing["experiments"]
    assert "kernel_counts" in listing["queries"]
    assert {"row-completion", "profile-traffic"} <= set(listing["figures"])


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded run is not there yet")
def test_the_recorded_run_answers(setup: Setup) -> None:
    done = setup.run("nsight_suite.query", "examples/row-h200", "kernel_counts", "--format", "json")
    assert done.returncode == 0, done.stderr
    kernels = {row["variant"]: row["kernels_per_invocation"] for row in json.loads(done.stdout)}
    assert kernels == {"staged": 4, "fused": 1, "cudnn": 1}


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded run is not there yet")
def test_the_recorded_run_reconciles(setup: Setup) -> None:
    done = setup.run("nsight_suite.reconcile", "examples/row-h200")
    assert done.returncode == 0, done.stdout + done.stderr


def test_console_script_is_the_same(wheel: Path, tmp_path: Path) -> None:
    python = _environment(tmp_path / "venv")
    _install(python, str(wheel))
    done = _run(python.parent / "nsight-suite", "list", "experiments", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "row" in done.stdout.split()


def test_wheel_holds_every_tracked_data_file(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "nsight_suite", *DATA], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode != 0:
        pytest.skip("not a git checkout: which files belong cannot be asked")
    wanted = {
        name if name.startswith("nsight_suite/") else f"nsight_suite/_data/{name}"
        for name in tracked.stdout.split()
        if (ROOT / name).is_file()
    }
    held = set(zipfile.ZipFile(wheel).namelist())
    assert wanted <= held
    assert not [name for name in held if name.endswith((".pyc", ".nsys-rep", ".ncu-rep", ".duckdb"))]
