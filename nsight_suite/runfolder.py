"""The layout of a run folder, and writing into it without ever leaving half a file.

run.json            what was asked for, and whether the run is complete
protocol/           the protocol.toml and expected.sql that the run was made with
passes/NAME.json    one record per finished pass: argv, tools, exit status, duration
reports/NAME.*      what the passes produced: driver records, nsys exports, ncu reports
reports/builds/NAME/  the kernels' sources, compiler logs, PTX, machine code and SASS; dumps of the graphs
logs/NAME.log       what the passes printed
attempts/NAME-1/    an attempt at a pass that was made again, with its record pass.json: no evidence
work/NAME/          a pass in progress; moved to reports/ only when it has ended
evidence/*.parquet  the record
evidence.duckdb     commented views over it, for the DuckDB shell
evidence.sqlite     the same tables in one file, for Datasette and sqlite3
summaries/NAME.csv  the rows of the queries that reconciliation, report and figures ask
figures/            PNG, SVG and a provenance JSON beside each
reconciliation.json, report.html, report.md
manifest.json       every file of the run with its hash, and the SQL behind the summaries
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.errors import CannotAnswer, SuiteError, UsageError
from nsight_suite.runshape import ATTEMPT, PASS, PASS_OPTIONAL, RUN, RUN_OPTIONAL, Check, misshapen
from nsight_suite.writing import cannot_write, remove, sweep, sync, temporary_beside

_AGAIN = "It is damaged, or was cut: copy it again from where it was made."


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def run_json(self) -> Path:
        return self.path / "run.json"

    @property
    def protocol(self) -> Path:
        return self.path / "protocol" / "protocol.toml"

    @property
    def expected(self) -> Path:
        return self.path / "protocol" / "expected.sql"

    @property
    def passes(self) -> Path:
        return self.path / "passes"

    @property
    def attempts(self) -> Path:
        return self.path / "attempts"

    @property
    def reports(self) -> Path:
        return self.path / "reports"

    def builds(self, pass_name: str) -> Path:
        return self.reports / "builds" / pass_name

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def evidence(self) -> Path:
        return self.path / "evidence"

    @property
    def figures(self) -> Path:
        return self.path / "figures"

    @property
    def duckdb(self) -> Path:
        return self.path / "evidence.duckdb"

    @property
    def sqlite(self) -> Path:
        return self.path / "evidence.sqlite"

    @property
    def summaries(self) -> Path:
        return self.path / "summaries"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    def read_run(self) -> dict[str, Any]:
        """The contents of run.json. Raises SuiteError when it is missing, damaged or of another shape."""
        return _shaped(self.run_json, RUN, RUN_OPTIONAL, "Copy the run again from where it was made.")

    def is_ingested(self) -> bool:
        """Whether the run was made of loose reports: no experiment declared what they should show."""
        return bool(self.read_run()["experiment"] == "")

    def refuse_ingested(self, what: str) -> None:
        """Raise CannotAnswer when the run was made of loose reports. `what` would need a declaration."""
        if self.is_ingested():
            raise CannotAnswer(
                f"{self.path} was ingested from reports: no experiment declares what they should show, so "
                f"there {what}.",
                f"Ask it: query {self.path} report_completeness; all queries: query --list",
            )

    def pass_records(self) -> dict[str, dict[str, Any]]:
        """The record of every finished pass, by pass name. Raises SuiteError like `read_run`."""
        # A killed process may leave files under temporary names, which begin with a dot.
        paths = [path for path in files_of(self.passes) if path.suffix == ".json" and path.name[0] != "."]
        way_out = "Without this file the pass counts as absent, and `capture --resume` makes it again."
        return {path.stem: _shaped(path, PASS, PASS_OPTIONAL, way_out) for path in paths}

    def attempt_records(self) -> dict[Path, dict[str, Any]]:
        """The records of attempts at passes that were made again, by path. Raises like `read_run`."""
        paths = [folder / "pass.json" for folder in files_of(self.attempts) if folder.name[0] != "."]
        way_out = "Nothing is built from it: where it is of no use, remove it."
        return {path: _shaped(path, ATTEMPT, {}, way_out) for path in paths if os.path.lexists(path)}


def _shaped(
    path: Path, needed: Mapping[str, Check], optional: Mapping[str, Check], way_out: str
) -> dict[str, Any]:
    data = read_json(path)
    if wrong := misshapen(data, needed, optional):
        raise SuiteError(f"{path} {wrong}.", way_out)
    return data


def files_of(folder: Path) -> list[Path]:
    """What a folder holds, by name; nothing where there is none. Raises SuiteError when it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SuiteError(f"{folder} cannot be read: {error.strerror}.") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises UsageError when there is none, SuiteError when it cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair could never be written again
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            raise UsageError(f"{path} does not exist.") from error
        raise SuiteError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path} cannot be read: {error}.", _AGAIN) from error
    if not isinstance(data, dict):
        raise SuiteError(f"{path} is not a JSON object.", _AGAIN)
    return data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def json_text(data: object) -> str:
    """JSON as the suite writes it."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def write_json(path: Path, data: object) -> None:
    write_text(path, json_text(data))


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name for what is to become `path`: it takes its place when the block ends well, else it goes.

    Once it stands there it is on the disk. A symlink stays, and its target is replaced. A device or a pipe
    stays what it is, and is written into.
    """
    temporary = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with tempfile.TemporaryDirectory() as folder:
                yield (whole := Path(folder) / path.name)
                with whole.open("rb") as source, path.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
            return
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        temporary = temporary_beside(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent, target)
        yield temporary
        sync(temporary)
        temporary.replace(target)
        sync(target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if temporary:
            remove(temporary)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_sha256(text: str) -> str:
    """The hash of a text, such as a query's, as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
