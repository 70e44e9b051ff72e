"""The manifest of a run: every file with its hash, what it was measured with, and the SQL behind each number.

`manifest.json` lies in the run folder. In a bundle that `share` wrote it tells also what was left out, with
hashes, so that it can be checked later by whoever gets it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json
from nsight_suite.runshape import (
    MANIFEST,
    MANIFEST_ATTEMPT,
    MANIFEST_FILE,
    MANIFEST_LEFT_OUT,
    MANIFEST_OPTIONAL,
    MANIFEST_PASS,
    MANIFEST_QUERY,
    MANIFEST_QUERY_OPTIONAL,
    MANIFEST_VIEW,
    Check,
    misshapen,
)

FORMAT = 1
# A manifest names some hundred files and queries; one that is larger was not written by the suite.
_LARGEST_BYTES = 32 << 20
_WAY_OUT = "It is not a manifest that this suite wrote. Get the run again from where it was made."

# The first pattern that a path inside the run matches tells what the file is for.
_ROLES = tuple(
    (re.compile(pattern), role)
    for pattern, role in (
        (r"run\.json", "run"),
        (r"protocol/protocol\.toml", "protocol"),
        (r"protocol/expected\.sql", "expectation"),
        (r"passes/[^/]+\.json|attempts/[^/]+/pass\.json", "pass"),
        (r"reports/builds/[^/]+/[^/]+|attempts/[^/]+/builds/[^/]+", "build"),
        (r"logs/[^/]+|(reports|attempts/[^/]+)/[^/]+\.log", "log"),
        (r"(reports|attempts/[^/]+)/[^/]+\.jsonl", "records"),
        (r"(reports|attempts/[^/]+)/[^/]+\.sqlite", "export"),
        (r"(reports|attempts/[^/]+)/[^/]+", "report"),
        (r"evidence/[^/]+\.parquet", "evidence"),
        (r"evidence\.(duckdb|sqlite)", "store"),
        (r"summaries/[^/]+\.csv", "summary"),
        (r"figures/[^/]+\.(png|svg)", "figure"),
        (r"figures/[^/]+\.provenance\.json", "provenance"),
        (r"reconciliation\.json", "reconciliation"),
        (r"report\.(html|md)", "page"),
    )
)
# Made from lists of what may be told; everything else may name this machine.
_PUBLIC = frozenset(
    {"protocol", "expectation", "records", "evidence", "store", "summary", "figure", "provenance"}
    | {"reconciliation"}
)


@dataclass(frozen=True)
class FileEntry:
    """A file of the run by its path inside the folder. `private`: it may tell of the machine or its user."""

    path: str
    bytes: int
    sha256: str
    role: str
    private: bool


@dataclass(frozen=True)
class QueryEntry:
    """A query, its SQL text with that text's hash, and the CSV file that holds its `rows` rows.

    What could not be answered has neither file nor rows, and says the reason.
    """

    name: str
    sha256: str
    sql: str
    summary: str | None
    rows: int | None
    reason: str | None = None


@dataclass(frozen=True)
class ViewEntry:
    """A view that queries read, with the hash of the SQL text that makes it."""

    name: str
    sha256: str
    sql: str


@dataclass(frozen=True)
class LeftOut:
    """A file of the original run that the bundle does not hold as it was, and why."""

    path: str
    bytes: int
    sha256: str
    why: str


@dataclass(frozen=True)
class Conditions:
    """The GPU of a pass (uuid, name, driver_version) and its state before and after; None where not recorded.

    A state holds the columns of the table `device_state`: clocks in MHz, power in mW, temperature in °C …
    `state` is how the evidence says that the pass ended: of an ingested report nothing else tells it.
    """

    state: str | None = None
    device: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class PassEntry:
    """How a pass ended (`ok`, `failed`, `absent`) and what it was made with and under."""

    state: str
    tools: Mapping[str, str | None]
    device: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class AttemptEntry:
    """An attempt at a pass that was made again: it is kept under `path` and no evidence is built from it."""

    path: str
    pass_name: str
    state: str
    reason: str | None
    started_utc: str | None


@dataclass(frozen=True)
class Manifest:
    """See docs/publishing.md. `files`, `queries` and `left_out` are sorted by path or name."""

    run_id: str
    experiment: str
    created_utc: str
    state: str
    suite_version: str | None
    source: str
    quick: bool
    made_with: Mapping[str, str] | None
    protocol_sha256: str | None
    argv: tuple[str, ...]
    passes: Mapping[str, PassEntry]
    attempts: tuple[AttemptEntry, ...]
    files: tuple[FileEntry, ...]
    queries: tuple[QueryEntry, ...]
    views: tuple[ViewEntry, ...]
    left_out: tuple[LeftOut, ...]


def assemble(
    run: RunFolder,
    conditions: Mapping[str, Conditions],
    *,
    queries: Iterable[QueryEntry] = (),
    views: Iterable[ViewEntry] = (),
    left_out: Iterable[LeftOut] = (),
    bundle: bool = False,
    known: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest of a run as it lies there; nothing is written.

    `conditions` are those of the passes, by name. In a `bundle` no file is private. `known` are SHA-256 by path
    of files that were hashed a moment ago and need not be read again.
    """
    info, records = run.read_run(), run.pass_records()
    made_with = info.get("made_with")
    passes = {}
    for name in dict.fromkeys([*info["passes"], *records]):
        record, under = records.get(name), conditions.get(name, Conditions())
        state = record["state"] if record else under.state or "absent"
        tools = dict(record["tools"]) if record else {}
        passes[name] = PassEntry(state, tools, under.device, under.before, under.after)
    return Manifest(
        run_id=info["run_id"],
        experiment=info["experiment"],
        created_utc=info["created_utc"],
        state=info["state"],
        suite_version=info.get("suite_version"),
        source=info["source"],
        quick=info["quick"],
        made_with=dict(made_with) if made_with is not None else None,
        protocol_sha256=info.get("protocol_sha256"),
        argv=tuple(info.get("argv", ())),
        passes=passes,
        attempts=tuple(_attempts(run)),
        files=tuple(files_of_run(run, bundle=bundle, known=known)),
        queries=tuple(sorted(queries, key=lambda query: query.name)),
        views=tuple(sorted(views, key=lambda view: view.name)),
        left_out=tuple(sorted(left_out, key=lambda one: (one.path, one.sha256))),
    )


def files_of_run(
    run: RunFolder, *, bundle: bool = False, known: Mapping[str, str] | None = None
) -> Iterator[FileEntry]:
    """Every file of a run but its manifest, by path. Passes in progress and temporary names do not count.

    Raises SuiteError for a file that cannot be read.
    """
    recorded = {
        entry["path"]: bool(entry["private"])
        for record in run.pass_records().values()
        for entry in record["artifacts"]
    }
    for inside in sorted(_paths(run)):
        path, role = run.path / inside, role_of(inside)
        private = not bundle and recorded.get(inside, role not in _PUBLIC)
        yield _entry(path, inside, role, private, (known or {}).get(inside))


def role_of(inside: str) -> str:
    """What a file is for, by its path inside the run folder; `other` for what the suite does not write."""
    return next((role for pattern, role in _ROLES if pattern.fullmatch(inside)), "other")


def write_manifest(run: RunFolder, manifest: Manifest) -> None:
    """Write manifest.json, whole or not at all."""
    write_json(run.manifest, as_data(manifest))


def update_manifest(run: RunFolder, changed: Collection[Path]) -> None:
    """Hash again the files that the suite itself has just written, where the run has a manifest.

    Files outside the run do not count. No other file is looked at: what somebody else changed stays found.
    Raises UsageError like `read_manifest`.
    """
    place = run.path.resolve()
    within = [path for path in changed if path.resolve().is_relative_to(place)]
    if not within or not run.manifest.is_file():
        return
    manifest = read_manifest(run.manifest)
    inside = {path.resolve().relative_to(place).as_posix(): path for path in within}
    private = {entry.path: entry.private for entry in manifest.files}
    kept = [entry for entry in manifest.files if entry.path not in inside]
    for name, path in inside.items():
        if path.is_file():
            role = role_of(name)
            kept.append(_entry(path, name, role, private.get(name, role not in _PUBLIC)))
    files = tuple(sorted(kept, key=lambda entry: entry.path))
    write_manifest(run, replace(manifest, files=files))


def as_data(manifest: Manifest) -> dict[str, Any]:
    """The manifest as plain data, ready for JSON."""
    data = asdict(manifest)
    for attempt in data["attempts"]:
        attempt["pass"] = attempt.pop("pass_name")
    for query in data["queries"]:
        if query["reason"] is None:
            del query["reason"]
    return {"format": FORMAT, **data}


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file.

    Raises UsageError when there is none, and for one that is malformed, of another format, larger than 32 MiB,
    or that names a path outside the run, or the same path twice.
    """
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(f"{path} is larger than {_LARGEST_BYTES >> 20} MiB.", _WAY_OUT)
        data = read_json(path)
    except FileNotFoundError as error:
        way_out = "Only a run that was captured or ingested, or a bundle that `share` wrote, has one."
        raise UsageError(f"{path} does not exist.", way_out) from error
    except OSError as error:
        way_out = "Make it readable, or get the run again."
        raise UsageError(f"{path} cannot be read: {error.strerror}.", way_out) from error
    except UsageError:
        raise
    except SuiteError as error:
        raise UsageError(error.what, _WAY_OUT) from error
    if data.get("format") != FORMAT:
        raise UsageError(
            f"{path} has the format {data.get('format')!r}, not {FORMAT}.",
            "Read it with the suite that wrote it.",
        )
    if wrong := _wrong(data):
        raise UsageError(f"{path} {wrong}.", _WAY_OUT)
    return _manifest(data)


def _wrong(data: Mapping[str, Any]) -> str:
    """What is wrong with the data of a manifest, as text; empty when nothing is."""
    if wrong := _misshapen(data, MANIFEST, MANIFEST_OPTIONAL):
        return wrong
    lists: tuple[tuple[str, Mapping[str, Check], Mapping[str, Check]], ...] = (
        ("files", MANIFEST_FILE, {}),
        ("queries", MANIFEST_QUERY, MANIFEST_QUERY_OPTIONAL),
        ("views", MANIFEST_VIEW, {}),
        ("attempts", MANIFEST_ATTEMPT, {}),
        ("left_out", MANIFEST_LEFT_OUT, {}),
    )
    for name, needed, optional in lists:
        for number, entry in enumerate(data.get(name, ())):
            if wrong := _misshapen(entry, needed, optional):
                return f"{wrong} in {name}[{number}]"
    for name, entry in data["passes"].items():
        if wrong := _misshapen(entry, MANIFEST_PASS, {}):
            return f"{wrong} in the pass {name!r}"
    for key, name in (("files", "path"), ("queries", "name"), ("views", "name")):
        names = [entry[name] for entry in data.get(key, ())]
        if names != sorted(set(names)):
            return f"does not tell its {key} once and in order"
    if "manifest.json" in {entry["path"] for entry in data["files"]}:
        return "names itself among its files"
    return ""


def _misshapen(data: Mapping[str, Any], needed: Mapping[str, Check], optional: Mapping[str, Check]) -> str:
    unknown = next((key for key in data if key not in needed and key not in optional), None)
    return misshapen(data, needed, optional) or (f"holds an unknown {unknown!r}" if unknown is not None else "")


def _manifest(data: Mapping[str, Any]) -> Manifest:
    rest = {key: value for key, value in data.items() if key != "format"}
    attempts = [
        AttemptEntry(pass_name=one["pass"], **{key: one[key] for key in one if key != "pass"})
        for one in data.get("attempts", ())
    ]
    return Manifest(
        **{
            **rest,
            "argv": tuple(data["argv"]),
            "passes": {name: PassEntry(**entry) for name, entry in data["passes"].items()},
            "attempts": tuple(attempts),
            "files": tuple(FileEntry(**entry) for entry in data["files"]),
            "queries": tuple(QueryEntry(**entry) for entry in data["queries"]),
            "views": tuple(ViewEntry(**entry) for entry in data.get("views", ())),
            "left_out": tuple(LeftOut(**entry) for entry in data["left_out"]),
        }
    )


def _paths(run: RunFolder) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        raise SuiteError(f"{error.filename} cannot be read: {error.strerror}.") from error

    for folder, folders, names in os.walk(run.path, onerror=unreadable):
        here = Path(folder)
        folders[:] = [name for name in folders if name[0] != "." and here / name != run.work]
        for name in names:
            path = here / name
            if name[0] != "." and path != run.manifest and path.is_file():
                yield path.relative_to(run.path).as_posix()


def _entry(path: Path, inside: str, role: str, private: bool, known: str | None = None) -> FileEntry:
    try:
        return FileEntry(inside, path.stat().st_size, known or sha256(path), role, private)
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}.") from error


def _attempts(run: RunFolder) -> Iterator[AttemptEntry]:
    for path, record in run.attempt_records().items():
        yield AttemptEntry(
            path.relative_to(run.path).as_posix(),
            record["pass"],
            record["state"],
            record["reason"],
            record["started_utc"],
        )
