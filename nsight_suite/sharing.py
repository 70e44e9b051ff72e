"""A copy of a run that is fit to publish: reduced reports, the same evidence, nothing private."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence.paths import argument_without_path, without_paths
from nsight_suite.evidence.tables import tables
from nsight_suite.protocol import load
from nsight_suite.runfolder import RunFolder, sha256, write_json

if TYPE_CHECKING:
    from nsight_suite.evidence.store import Connection

_RUN_KEYS = (
    *("format", "run_id", "experiment", "created_utc", "suite_version", "source", "quick", "state", "device"),
    *("protocol_sha256", "passes", "cases"),
)
_PASS_KEYS = ("pass", "state", "exit_status", "started_utc", "duration_ns", "options")
_STEP_KEYS = ("exit_status", "duration_ns", "timed_out")
# What a copy may tell otherwise: its files are smaller, so their sizes and hashes differ.
_DIFFERENT = {"artifact": None, "report": "sha256"}
# Of the builds: everything in them is made from the kernels' sources under names of the suite's own.
_BUILDS = (".cu", ".cuh", ".log", ".ptx", ".cubin", ".sass", ".dot")
# Of these what is text, so that it can be looked through.
_TEXTS = frozenset(_BUILDS) - {".cubin"}
_PUBLIC = {"device": ("uuid", "name", "driver_version"), "tool": ("name", "version")}


def share(
    run: RunFolder, out: Path, *, force: bool = False, environment: Mapping[str, str] | None = None
) -> RunFolder:
    """Write a copy of `run` to the new folder `out`, whole or not at all, and return it.

    Of a run that was ingested only the evidence is copied: its reports stay where they are.
    Raises SuiteError for a run that is not complete (unless `force`), for a copy whose reports do not give the
    run's own evidence, and for one that still tells of this machine. `environment` is this process's own.
    """
    from nsight_suite.evidence.build import collect, write
    from nsight_suite.evidence.store import open_store

    _check(run, out, force)
    draft = RunFolder(out.parent / f".{out.name}.{os.getpid()}")
    environment = os.environ if environment is None else environment
    try:
        if run.is_ingested():
            _copy_evidence(run, draft)
            with open_store(draft, missing_as_empty=True).connection as copied:
                _refuse_leaks(run, draft, copied, environment)
        else:
            _copy_sources(run, draft)
            with collect(run) as original, collect(draft) as copied:
                _compare(original, copied)
                write(copied, draft)
                _refuse_leaks(run, draft, copied, environment)
        if out.exists():
            out.rmdir()
        draft.path.rename(out)
    except OSError as error:
        raise SuiteError(f"Cannot write {out}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)
    return RunFolder(out)


def _check(run: RunFolder, out: Path, force: bool) -> None:
    state = run.read_run().get("state")
    if state != "complete" and not force:
        raise UsageError(
            f"The run {run.path} is {state}, so a copy of it would not show the whole experiment.",
            f"Finish it with --resume {run.path}, or share it as it is with --force.",
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"'{out}' exists already.", "Give --out a folder that does not exist yet.")
    if run.path.resolve() in out.resolve().parents:
        raise UsageError(f"'{out}' lies inside the run.", "Give --out a folder elsewhere.")


def _copy_sources(run: RunFolder, draft: RunFolder) -> None:
    """Everything that evidence is built from, reduced."""
    from nsight_suite.evidence.reduction import reduce_report

    draft.reports.mkdir(parents=True)
    draft.protocol.parent.mkdir()
    for source, target in ((run.protocol, draft.protocol), (run.expected, draft.expected)):
        if source.is_file():
            shutil.copyfile(source, target)
    asked = run.read_run()
    arguments = [argument_without_path(str(part)) for part in asked.get("argv", [])]
    write_json(draft.run_json, {**_only(asked, _RUN_KEYS), "argv": arguments})
    requested = load(run.protocol).metrics
    for path in sorted(run.reports.glob("*")):
        if path.is_file() and not path.name.startswith("."):
            reduce_report(path, draft.reports / path.name, requested)
    for path in sorted(run.reports.glob("builds/*/*")):
        # What a link leads to, or lies in a linked folder, may be anybody's.
        inside = path.relative_to(run.path)
        if path.is_file() and path.suffix in _BUILDS and path.resolve() == run.path.resolve() / inside:
            target = draft.path / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for name, record in run.pass_records().items():
        write_json(draft.passes / f"{name}.json", _pass_record(draft, record))


def _copy_evidence(run: RunFolder, draft: RunFolder) -> None:
    """The tables of an ingested run, and of run.json what does not tell where its reports lie."""
    from nsight_suite.evidence.store import write_duckdb

    draft.evidence.mkdir(parents=True)
    files = [file for name in tables() if (file := run.evidence / f"{name}.parquet").is_file()]
    if not files:
        raise UsageError(
            f"The run {run.path} holds no evidence.", f"Build it: python -m nsight_suite.evidence {run.path}"
        )
    for file in files:
        shutil.copyfile(file, draft.evidence / file.name)
    write_json(draft.run_json, _only(run.read_run(), _RUN_KEYS))
    write_duckdb(draft)


def _pass_record(draft: RunFolder, record: Mapping[str, Any]) -> dict[str, Any]:
    reason = record.get("reason")
    kept = [entry["path"] for entry in record.get("artifacts") or [] if (draft.path / entry["path"]).is_file()]
    return {
        **_only(record, _PASS_KEYS),
        "reason": reason and without_paths(str(reason)),
        "steps": [
            {"argv": [argument_without_path(str(part)) for part in step["argv"]], **_only(step, _STEP_KEYS)}
            for step in record.get("steps") or []
        ],
        "tools": {name: without_paths(str(version)) for name, version in (record.get("tools") or {}).items()},
        "artifacts": [
            {
                "path": path,
                "bytes": (draft.path / path).stat().st_size,
                "sha256": sha256(draft.path / path),
                "private": False,
            }
            for path in kept
        ],
    }


def _only(data: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: data[key] for key in keys if key in data}


def _compare(original: Connection, copied: Connection) -> None:
    """The copy must support every claim that the run supports, and no other."""
    for name, table in tables().items():
        without = _DIFFERENT.get(name, "")
        if without is None:
            continue
        columns = ", ".join(f'"{column}"' for column in table.column_names if column != without)
        sql = f'SELECT {columns} FROM "{name}" ORDER BY ALL'
        if original.execute(sql).fetchall() != copied.execute(sql).fetchall():
            raise SuiteError(
                f"The reduced reports do not give the run's evidence: table '{name}' differs.",
                "A report of this run cannot be shared. If it is an .ncu-rep alone, print it as CSV beside it.",
            )


def _refuse_leaks(run: RunFolder, draft: RunFolder, copied: Connection, environment: Mapping[str, str]) -> None:
    from nsight_suite.evidence.leaks import leaks, secrets_of_export, secrets_of_machine

    secrets = secrets_of_machine(
        environment,
        host=socket.gethostname(),
        user=getpass.getuser(),
        home=str(Path.home()),
        folders=[run.path.resolve()],
    )
    for export in _exports(run):
        secrets += secrets_of_export(export)
    # What the evidence says by design is no secret, even when the environment repeats it.
    public = _texts(copied, _PUBLIC)
    secrets = [secret for secret in secrets if secret.text not in public]
    everything = {
        name: [c.name for c in table.columns if c.type == "VARCHAR"] for name, table in tables().items()
    }
    found = [
        f"{leak.path.relative_to(draft.path)} holds {leak.what}"
        for leak in leaks(draft.path, secrets, _texts(copied, everything))
    ]
    found += _private_builds(draft, copied)
    if found:
        told = "; ".join(found[:5])
        raise SuiteError(
            f"The copy was not kept, because it would tell private things: {told}.",
            "They are names of ranges, kernels, files or runs, or stand in sources and in what compilers say "
            "of them: change these, and make the run again.",
        )


def _private_builds(draft: RunFolder, copied: Connection) -> list[str]:
    """What the builds' texts, and the options that they were made with, tell of any machine or user."""
    from nsight_suite.scanning import scan
    from nsight_suite.scanning.signs import signs_of_line

    texts = [path for path in sorted(draft.reports.glob("builds/*/*")) if path.suffix in _TEXTS]
    looked = scan(texts)
    found = [
        f"{Path(leak.file).relative_to(draft.path)} holds {_with_article(leak.kind)}"
        + (f" ({leak.place})" if leak.place else "")
        for leak in looked.leaks
    ]
    found += [f"{Path(file).relative_to(draft.path)} cannot be read: {why}" for file, why in looked.unreadable]
    for options in sorted(_texts(copied, {"build": ("options",)})):
        kinds = {sign.kind for option in _each_option(options) for sign in signs_of_line(option)}
        found += [f"an option of a compiler in the table 'build' holds {_with_article(kind)}" for kind in kinds]
    return list(dict.fromkeys(found))


def _each_option(options: str) -> list[str]:
    """The compiler's options, which the driver writes as a JSON list."""
    try:
        read = json.loads(options)
    except ValueError:
        read = None
    return [str(option) for option in read] if isinstance(read, list) else [options]


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def _exports(run: RunFolder) -> list[Path]:
    """The exports of nsys that the run was made from and that are still there: what they hold is private."""
    found = list(run.reports.glob("*.sqlite"))
    for entry in run.read_run().get("reports", []):
        path = run.path / (entry["read"] or entry["given"])["path"]
        if entry["form"].startswith("nsys-") and path.exists():
            found.append(path)
    return list(dict.fromkeys(found))


def _texts(connection: Connection, columns: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    for table, names in columns.items():
        for name in names:
            rows = connection.execute(f'SELECT DISTINCT "{name}" FROM "{table}" WHERE "{name}" IS NOT NULL')
            found.update(row[0] for row in rows.fetchall())
    return found
