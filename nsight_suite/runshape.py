"""What run.json, passes/*.json and manifest.json must look like. Whatever reads them relies on it.

A run may come from anywhere: names that become part of a path may hold nothing that leads out of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

Check = Callable[[Any], bool]

_NAME = re.compile(r"[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**63 - 1


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _name(value: Any) -> bool:
    return isinstance(value, str) and bool(_NAME.fullmatch(value))


def _name_or_empty(value: Any) -> bool:
    return value == "" or _name(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def _duration(value: Any) -> bool:
    return _whole(value) and value >= 0


def _inside(value: Any) -> bool:
    return (
        _text(value)
        and "\0" not in value
        and not value.startswith("/")
        and ".." not in PurePosixPath(value).parts
    )


def _canonical(value: Any) -> bool:
    """A path inside the run, spelled in the one way that the suite spells it."""
    return _inside(value) and value not in ("", ".") and str(PurePosixPath(value)) == value


def _hash(value: Any) -> bool:
    return isinstance(value, str) and bool(_SHA256.fullmatch(value))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _keyed(key_check: Check, check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(key_check, value)) and _map_to(check)(value)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _map_to(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _object(needed: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    return lambda value: isinstance(value, dict) and not misshapen(value, needed, optional or {})


def _objects(needed: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    return _list_of(_object(needed, optional))


RUN: dict[str, Check] = {
    "run_id": _text,
    "experiment": _name_or_empty,  # empty: ingested from reports, nothing was declared
    "created_utc": _text,
    "source": _text,
    "state": _text,
    "quick": _flag,
    "device": _or_null(_duration),
    "passes": _list_of(_name),
    "cases": _list_of(_text),
}
_FILE: dict[str, Check] = {"path": _text, "bytes": _duration, "modified_ns": _whole, "sha256": _text}
# An ingested report: the file that was given, and what was read in its place (an export of it, in reports/).
_SOURCE: dict[str, Check] = {
    "pass": _name,
    "form": _text,
    "given": _object(_FILE),
    "read": _or_null(_object(_FILE)),
    "doubts": _list_of(lambda value: _list_of(_text)(value) and len(value) == 3),
}
RUN_OPTIONAL: dict[str, Check] = {
    "suite_version": _text,
    "protocol_sha256": _text,
    "made_with": _or_null(_map_to(_text)),
    "argv": _list_of(_text),
    "reports": _objects(_SOURCE, {}),
}
_STEP: dict[str, Check] = {"argv": lambda value: bool(value) and _list_of(_text)(value)}
_STEP_OPTIONAL: dict[str, Check] = {
    "exit_status": _or_null(_whole),
    "duration_ns": _or_null(_duration),
    "timed_out": _flag,
}
_ARTIFACT: dict[str, Check] = {"path": _inside, "bytes": _duration, "sha256": _text, "private": _flag}
PASS: dict[str, Check] = {
    "state": _text,
    "reason": _or_null(_text),
    "exit_status": _or_null(_whole),
    "started_utc": _or_null(_text),
    "duration_ns": _or_null(_duration),
    "steps": _objects(_STEP, _STEP_OPTIONAL),
    "tools": _map_to(_or_null(_text)),
    "options": _map_to(_or_null(_text)),
    "artifacts": _objects(_ARTIFACT, {}),
}
PASS_OPTIONAL: dict[str, Check] = {"pass": _name, "ordinal": _duration}
# A pass that was made again.
ATTEMPT: dict[str, Check] = {**PASS, "pass": _name}

_PLAIN = _map_to(lambda value: value is None or isinstance(value, str | int))
_VIEW: dict[str, Check] = {"name": _name, "sha256": _hash, "sql": _text}
MANIFEST: dict[str, Check] = {
    "format": _whole,
    **{key: RUN[key] for key in ("run_id", "experiment", "created_utc", "source", "state", "quick")},
    "suite_version": _or_null(_text),
    "made_with": _or_null(_map_to(_text)),
    "protocol_sha256": _or_null(_hash),
    "argv": _list_of(_text),
    "passes": _keyed(_name, _is_object),
    "files": _list_of(_is_object),
    "queries": _list_of(_is_object),
    "left_out": _list_of(_is_object),
}
MANIFEST_OPTIONAL: dict[str, Check] = {"views": _list_of(_is_object), "attempts": _list_of(_is_object)}
MANIFEST_PASS: dict[str, Check] = {
    "state": _text,
    "tools": _map_to(_or_null(_text)),
    **dict.fromkeys(("device", "before", "after"), _or_null(_PLAIN)),
}
MANIFEST_FILE: dict[str, Check] = {
    **{"path": _canonical, "bytes": _duration, "sha256": _hash},
    **{"role": _text, "private": _flag},
}
MANIFEST_QUERY: dict[str, Check] = {
    **_VIEW,
    "summary": _or_null(_canonical),
    "rows": _or_null(_duration),
}
MANIFEST_QUERY_OPTIONAL: dict[str, Check] = {"reason": _or_null(_text)}
MANIFEST_VIEW = _VIEW
MANIFEST_ATTEMPT: dict[str, Check] = {
    **{"path": _canonical, "pass": _name, "state": _text},
    **{"reason": _or_null(_text), "started_utc": _or_null(_text)},
}
MANIFEST_LEFT_OUT: dict[str, Check] = {"path": _inside, "bytes": _duration, "sha256": _hash, "why": _text}


def misshapen(data: Mapping[str, Any], needed: Mapping[str, Check], optional: Mapping[str, Check]) -> str:
    """The first key that is lacking or holds a value of the wrong kind, as text; empty when all is well."""
    for key, check in needed.items():
        if key not in data:
            return f"lacks '{key}'"
        if not check(data[key]):
            return f"has a malformed '{key}'"
    return next(
        (f"has a malformed '{key}'" for key, check in optional.items() if key in data and not check(data[key])),
        "",
    )
