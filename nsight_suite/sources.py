"""Where the data folders are: beside the code in a wheel, one folder up in a checkout.

An experiment is a name (`row`) or a folder outside the project that holds its `protocol.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import UsageError

_PACKAGE = Path(__file__).resolve().parent
# What reports are called; only to say what is likely meant, never to tell what a file is.
REPORT_SUFFIXES = (
    *(".nsys-rep", ".qdrep", ".qdstrm", ".ncu-rep", ".ncu-repz"),
    *(".sqlite", ".sqlite3", ".db", ".csv", ".gz", ".parquet", "_pqtdir"),
)


def may_be_report(path: Path) -> bool:
    """Whether a report stands at a path: a file, or a folder of Parquet files; else a run may, or nothing."""
    return path.is_file() or (path.is_dir() and any(path.glob("*.parquet")))


def data_root() -> Path:
    """The folder that holds kernels/, capture/, queries/, figures/ and examples/."""
    inside = _PACKAGE / "_data"
    return inside if inside.is_dir() else _PACKAGE.parent


@dataclass(frozen=True)
class ExperimentSource:
    """The files of one experiment.

    For a built-in experiment they lie in the four data folders. For an outside one, `folder` holds everything:
    protocol.toml, driver.py, kernels/, expected.sql and figures/.
    """

    name: str
    folder: Path

    @property
    def built_in(self) -> bool:
        return self.folder.parent == data_root() / "capture"

    @property
    def protocol(self) -> Path:
        return self.folder / "protocol.toml"

    @property
    def driver(self) -> Path:
        return self.folder / "driver.py"

    @property
    def kernels(self) -> Path:
        return data_root() / "kernels" / self.name if self.built_in else self.folder / "kernels"

    @property
    def expected(self) -> Path:
        base = data_root() / "queries" / self.name if self.built_in else self.folder
        return base / "expected.sql"


def experiments() -> Iterator[ExperimentSource]:
    """The built-in experiments, by name."""
    for protocol in sorted((data_root() / "capture").glob("*/protocol.toml")):
        yield ExperimentSource(protocol.parent.name, protocol.parent)


def find_experiment(name_or_path: str) -> ExperimentSource:
    """The experiment of that name, or in that folder."""
    for source in experiments():
        if source.name == name_or_path:
            return source
    folder = Path(name_or_path).resolve()
    if (folder / "protocol.toml").is_file():
        return ExperimentSource(folder.name, folder)
    known = ", ".join(source.name for source in experiments()) or "none"
    raise UsageError(
        f"There is no experiment '{name_or_path}'.",
        f"Name one of: {known}; or give the path of a folder with a protocol.toml.",
    )


def recorded_runs() -> list[Path]:
    """The run folders that ship with the suite."""
    return sorted(path.parent for path in (data_root() / "examples").glob("*/run.json"))


def find_run(name_or_path: str | Path) -> Path:
    """A run folder by its path, or a recorded run by its name (`row-h200`, `examples/row-h200`)."""
    path = Path(name_or_path)
    try:
        if "run.json" in (entry.name for entry in path.iterdir()):
            return path
    except (FileNotFoundError, NotADirectoryError, ValueError):
        pass  # a recorded run's name, or none at all
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror}.") from error
    for recorded in recorded_runs():
        if str(name_or_path).rstrip("/") in (recorded.name, f"examples/{recorded.name}"):
            return recorded
    known = ", ".join(f"examples/{run.name}" for run in recorded_runs()) or "none"
    way_out = f"Give the folder that `capture` or `ingest` wrote, or a recorded run: {known}."
    ingest = f"python -m nsight_suite.ingest {path} --out RUN"
    if path.is_file() and path.suffix == ".zip":
        raise UsageError(
            f"'{path}' is an archive, no run folder.",
            f"Check it as it is: python -m nsight_suite.verify {path}\n"
            f"  or unpack it: python -m zipfile -e {path} FOLDER",
        )
    if path.is_file():
        raise UsageError(f"'{path}' is a file, no run folder.", f"If it is a report, ingest it first: {ingest}")
    if path.is_dir():
        what = f"'{path}' is no run folder: it holds no run.json."
        if any(looks_like_report(entry.name) for entry in path.iterdir()):
            way_out = f"To ask the reports in it, ingest them first: {ingest}"
    elif looks_like_report(str(name_or_path)) or "/" in str(name_or_path):
        what = f"There is no run or report '{name_or_path}': no such file or folder exists."
        way_out = f"Check the path. Recorded runs: {known}."
    else:
        what = f"There is no run '{name_or_path}'."
    raise UsageError(what, way_out)


def looks_like_report(name: str) -> bool:
    """Whether a file of that name is likely meant as a report."""
    return name.lower().rstrip("/").endswith(REPORT_SUFFIXES)
