"""The suite works from a wheel, an editable install and a bare checkout, and from any directory."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from nsight_suite.capture import FOR_THE_ANALYSIS

ROOT = Path(__file__).resolve().parent.parent
DATA = ("kernels", "capture", "queries", "figures", "examples")


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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment that holds the wheel with its declared dependencies and nothing else."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    _install(python, str(wheel))
    return python


def _borrowing(folder: Path) -> Path:
    """Python of a new environment that sees this one's dependencies; its own packages come first."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    import duckdb  # any dependency shows where they are

    (site / "dependencies.pth").write_text(f"{Path(duckdb.__file__).parent.parent}\n")
    return folder / "bin" / "python"


def _install(python: Path, *what: str) -> None:
    pip = ("-m", "pip", "--python", str(python), "install", "--quiet")
    done = _run(sys.executable, *pip, *what, directory=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=["wheel", "editable", "checkout"])
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    if request.param == "wheel":
        python = request.getfixturevalue("installed")
        return Setup(python, elsewhere, python.parent.parent)
    python = _borrowing(tmp_path_factory.mktemp(request.param) / "venv")
    if request.param == "editable":
        _install(python, "--no-deps", "--no-build-isolation", "-e", ".")
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


def test_the_recorded_run_answers(setup: Setup) -> None:
    done = setup.run("nsight_suite.query", "examples/row-h200", "kernel_counts", "--format", "json")
    assert done.returncode == 0, done.stderr
    kernels = {row["variant"]: row["kernels_per_invocation"] for row in json.loads(done.stdout)}
    assert kernels == {"staged": 4, "fused": 1, "tuned": 1, "cudnn": 1}


def test_the_recorded_run_reconciles(setup: Setup) -> None:
    done = setup.run("nsight_suite.reconcile", "examples/row-h200")
    assert done.returncode == 0, done.stdout + done.stderr


def test_console_script_is_the_same(installed: Path, tmp_path: Path) -> None:
    done = _run(installed.parent / "nsight-suite", "list", "experiments", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "row" in done.stdout.split()


def test_the_declared_dependencies_suffice_for_everything_after_the_passes(
    installed: Path, tmp_path: Path
) -> None:
    done = _run(
        installed, *("-m", "nsight_suite.capture", "row", "--or-recorded", "--out", "run"), directory=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run" / "report.html").is_file()
    assert list((tmp_path / "run" / "figures").glob("*.png"))


def test_capture_looks_for_every_dependency_before_it_measures() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {_normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in project["dependencies"]}
    for_claims_alone = {"markdown-it-py"}
    assert {_normal(package) for package in FOR_THE_ANALYSIS} == declared - for_claims_alone


def test_every_import_is_declared() -> None:
    """Also those inside functions, and those that come along with another package today."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *extras["arrow"],
        *extras["fast"],
        *extras["ncu"],
        *extras["cuda12"],
        *extras["cuda13"],
    ]
    names = {_normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in declared}
    sources = metadata.packages_distributions()
    for place, module in _third_party_imports():
        # What need not be installed here is named in the extras.
        provided = {_normal(name) for name in sources.get(module, PACKAGES.get(module, ()))}
        assert provided & names, f"{place} imports {module}, which pyproject.toml does not declare"


PACKAGES = {
    "llvmlite": ["llvmlite"],
    "numba": ["numba"],
    "cupy": ["cupy-cuda13x"],
    "nvtx": ["nvtx"],
    "pynvml": ["nvidia-ml-py"],
    "cuda": ["cuda-bindings"],
}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _third_party_imports() -> Iterator[tuple[str, str]]:
    for folder in ("nsight_suite", "capture", "figures", "kernels"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    modules = [node.module]
                else:
                    continue
                for module in {module.partition(".")[0] for module in modules}:
                    if module != "nsight_suite" and module not in sys.stdlib_module_names:
                        yield path.relative_to(ROOT).as_posix(), module


def test_the_source_distribution_can_be_checked(tmp_path: Path) -> None:
    done = _run(
        *(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), "."),
        directory=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        ".ci/run",
        "pyproject.toml",
        "README.md",
        "tests/conftest.py",
        "tests/data/nsys_node.sqlite",
    } <= held


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
    assert not [name for name in held if name.endswith((".pyc", ".nsys-rep", ".ncu-rep", "evidence.sqlite"))]
