"""The protocol of an experiment: what is measured, as data.

A protocol is a TOML file. Its cases are the product variants × submissions × shapes; a case's id
(`row:fused:graph:4096x4096`) is also its NVTX range, so one name joins everything.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.errors import UsageError
from nsight_suite.tomltable import Table

# ncu reads '/' in a range as nesting and '@' as the domain; the others break its filter or its CSV.
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_NAME_RULE = "may hold only letters, digits, '.', '_' and '-'"

# The NVTX domain of every range; profilers are told to look at no other.
DOMAIN = "nsight_suite"

# In the order in which a run makes them: a pilot chooses before anything is timed for the record.
KNOWN_PASSES = (*("validate", "pilot", "timing", "timing-2", "trace", "nsys", "ncu", "ncu-warm", "sanitize"),)
# The passes whose samples enter latency tables: each is a session, a process of its own.
SESSIONS = ("timing", "timing-2")
# Fewer samples than these choose nothing, and so many are taken where nothing is said.
_PILOT_LEAST, _PILOT_DEFAULT = 5, 21
# A choice is among at least so many.
_PILOT_CANDIDATES = 2
# What a driver adds to the integers of each shape.
_OF_DEVICE = "multiprocessors"
# The passes that look only at shapes that are timed.
_TIMED = ("pilot", *SESSIONS)
SUBMISSIONS = ("stream", "graph")
# Without these neither traffic nor the profiled kernels' time can be judged.
DEFAULT_METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")

_SECTIONS = (
    *("experiment", "variants", "needs", "rules", "pilot", "shapes", "fixtures", "tolerances", "timing"),
    *("passes", "metrics", "quick"),
)
# The keys of [timing], each with the least that it may be.
_TIMING = {"warmups": 0, "rounds": 1, "batch": 1, "graph_setups": 1}
# The keys of [passes.NAME]: those of every pass, and those of some with what they may be.
_OPTIONS = ("timeout_s", "invocations", "shapes", "submissions")
_NCU_OPTIONS = {
    "cache_control": ("all", "none"),
    "clock_control": ("none", "base"),
    "graph_profiling": ("node", "graph"),
}
_OWN_OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "nsys": {"graph_trace": ("node", "graph")},
    "ncu": _NCU_OPTIONS,
    "ncu-warm": _NCU_OPTIONS,
    "sanitize": {"tools": ("memcheck", "racecheck", "synccheck", "initcheck")},
}


@dataclass(frozen=True)
class Shape:
    """One problem size. `parameters` are the integers of the protocol that describe it."""

    name: str
    parameters: Mapping[str, int]
    timed: bool
    batch: int


@dataclass(frozen=True)
class Case:
    """One variant under one submission at one shape."""

    experiment: str
    variant: str
    submission: str
    shape: Shape

    @property
    def case_id(self) -> str:
        return f"{self.experiment}:{self.variant}:{self.submission}:{self.shape.name}"


@dataclass(frozen=True)
class PassSettings:
    """What one pass is told. `options` holds what only that pass knows (cache_control, shapes, tools …)."""

    name: str
    timeout_s: int
    invocations: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Protocol:
    """A whole protocol.

    `needs` holds, per variant that needs any, its shared libraries (libcudnn.so.9 …); `rules`, per variant that
    has one, the lines by which its driver chooses what to launch, in the order of the file; `pilot` the groups
    of variants of which the pass `pilot` takes the fastest.
    """

    name: str
    title: str
    question: str
    seed: int
    variants: Mapping[str, str]
    needs: Mapping[str, tuple[str, ...]]
    rules: Mapping[str, tuple[Mapping[str, Any], ...]]
    pilot: Mapping[str, tuple[str, ...]]
    submissions: tuple[str, ...]
    shapes: tuple[Shape, ...]
    passes: tuple[PassSettings, ...]
    fixtures: tuple[str, ...]
    held_out: str
    tolerances: Mapping[str, float]
    timing: Mapping[str, int]
    metrics: tuple[str, ...]
    quick: Mapping[str, Any]
    sha256: str

    def cases(self) -> tuple[Case, ...]:
        """Every case, shape by shape, in the order of the file."""
        return tuple(
            Case(self.name, variant, submission, shape)
            for shape in self.shapes
            for variant in self.variants
            for submission in self.submissions
        )

    def libraries(self, variants: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The shared libraries that some of these variants need, each with those that do."""
        needed = dict.fromkeys(library for variant in variants for library in self.needs.get(variant, ()))
        return {
            library: tuple(variant for variant in variants if library in self.needs.get(variant, ()))
            for library in needed
        }

    def rounds(self, quick: bool) -> int:
        """Rounds of a session of timing."""
        return int((self.quick if quick else {}).get("rounds", self.timing["rounds"]))

    def invocations(self, name: str, quick: bool) -> int:
        """Invocations of each case by any other pass."""
        fewer = self.quick["invocations"] if quick else {}
        return int(fewer.get(name, self.pass_settings(name).invocations))

    def pass_settings(self, name: str) -> PassSettings:
        for settings in self.passes:
            if settings.name == name:
                return settings
        known = ", ".join(settings.name for settings in self.passes)
        raise UsageError(f"The protocol of '{self.name}' has no pass '{name}'.", f"Its passes: {known}.")


def cases_of_pass(protocol: Protocol, settings: PassSettings, cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases that a pass runs.

    Sessions and the pilot take timed shapes only, the pilot only groups of which two variants or more are among
    the cases; a pass's options `shapes` and `submissions` limit it further.
    """
    shapes, submissions = settings.options.get("shapes"), settings.options.get("submissions")
    candidates = _candidates(protocol, cases)
    return tuple(
        case
        for case in cases
        if (shapes is None or case.shape.name in shapes)
        and (submissions is None or case.submission in submissions)
        and (settings.name not in _TIMED or case.shape.timed)
        and (settings.name != "pilot" or case.variant in candidates)
    )


def _candidates(protocol: Protocol, cases: Sequence[Case]) -> set[str]:
    """The variants among which a pilot can choose: those of groups of which these cases have two or more."""
    there = {case.variant for case in cases}
    groups = [there.intersection(group) for group in protocol.pilot.values()]
    return {variant for group in groups if len(group) >= _PILOT_CANDIDATES for variant in group}


def load(path: Path) -> Protocol:
    """Read and check a protocol file.

    Raises UsageError, naming the file and the key, for anything missing, unknown or of the wrong type.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read the protocol {path}: {error.strerror}.") from error
    try:
        data = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The protocol {path} is not valid TOML: {error}.") from error
    try:
        return _parse(Table("", data, _SECTIONS), hashlib.sha256(text).hexdigest())
    except ValueError as error:
        raise UsageError(f"The protocol {path} cannot be used: {error}.") from error


def _parse(data: Table, sha256: str) -> Protocol:
    head = data.table("experiment", ("name", "title", "question", "seed", "submissions", "passes"))
    variants, shapes = data.table("variants"), data.table("shapes")
    needs, rules = data.table("needs", needed=False), data.table("rules", needed=False)
    fixtures = data.table("fixtures", ("before", "held_out"))
    tolerances = data.table("tolerances")
    names = (head.text("name"), *variants.values, *head.texts("submissions"), *shapes.values)
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"the name '{name}' {_NAME_RULE}")
    for key in ("variants", "shapes"):
        if not data.values[key]:
            raise ValueError(f"[{key}] is empty")
    timing = data.table("timing", tuple(_TIMING))
    counts = {key: timing.whole(key, least=least) for key, least in _TIMING.items()}
    return Protocol(
        name=head.text("name"),
        title=head.text("title"),
        question=head.text("question"),
        seed=head.whole("seed", least=0),
        variants={name: variants.text(name) for name in variants.values},
        needs={needs.among(name, variants.values, "variant"): needs.texts(name) for name in needs.values},
        rules={rules.among(name, variants.values, "variant"): rules.rows(name) for name in rules.values},
        pilot=_pilot(data.table("pilot", needed=False), variants.values, head),
        submissions=_each(head, "submissions", SUBMISSIONS, "submission"),
        shapes=tuple(_shape(shapes.table(name), name, counts["batch"]) for name in shapes.values),
        passes=_passes(head, data.table("passes", KNOWN_PASSES, needed=False), shapes.values),
        fixtures=fixtures.texts("before"),
        held_out=fixtures.text("held_out"),
        tolerances={name: tolerances.number(name) for name in tolerances.values},
        timing=counts,
        metrics=data.table("metrics", ("names",), needed=False).texts("names", DEFAULT_METRICS),
        quick=_quick(data.table("quick", ("shapes", "rounds", "invocations"), needed=False), shapes.values),
        sha256=sha256,
    )


def _each(table: Table, key: str, known: Collection[str], kind: str) -> tuple[str, ...]:
    """Known names, each of them once."""
    names = tuple(table.among(name, known, kind) for name in table.texts(key))
    if again := [name for position, name in enumerate(names) if name in names[:position]]:
        raise ValueError(f"[{table.name}] {key} names the {kind} '{again[0]}' more than once")
    return names


def _pilot(table: Table, variants: Collection[str], head: Table) -> dict[str, tuple[str, ...]]:
    groups = {name: _each(table, name, variants, "variant") for name in table.values}
    chosen: dict[str, str] = {}
    for name, group in groups.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"[pilot] the name '{name}' {_NAME_RULE}")
        if len(group) < _PILOT_CANDIDATES:
            raise ValueError(f"[pilot] {name} leaves nothing to choose: it names one variant, '{group[0]}'")
        for variant in group:
            if variant in chosen:
                raise ValueError(f"[pilot] {chosen[variant]} and {name} both choose from '{variant}'")
            chosen[variant] = name
    if bool(groups) != ("pilot" in head.texts("passes")):
        raise ValueError("[pilot] and the pass 'pilot' need one another: the groups say what it chooses from")
    return groups


def _shape(table: Table, name: str, batch: int) -> Shape:
    if _OF_DEVICE in table.values:
        raise ValueError(f"[{table.name}] {_OF_DEVICE} is the device's own number, which every driver is given")
    parameters = {key: table.whole(key, least=1) for key in table.values if key not in ("timed", "batch")}
    return Shape(name, parameters, table.flag("timed", True), table.whole("batch", least=1, default=batch))


def _passes(head: Table, tables: Table, shapes: Collection[str]) -> tuple[PassSettings, ...]:
    settings = {name: _pass(tables, name, shapes) for name in KNOWN_PASSES}
    names = _each(head, "passes", KNOWN_PASSES, "pass")
    if SESSIONS[1] in names and SESSIONS[0] not in names:
        raise ValueError(f"[experiment] passes has '{SESSIONS[1]}', a second session, without '{SESSIONS[0]}'")
    ordered = [name for name in KNOWN_PASSES if name in names]
    if list(names) != ordered:
        raise ValueError(f"[experiment] passes must be in the order in which they run: {', '.join(ordered)}")
    return tuple(settings[name] for name in names)


def _pass(tables: Table, name: str, shapes: Collection[str]) -> PassSettings:
    own = _OWN_OPTIONS.get(name, {})
    table = tables.table(name, (*_OPTIONS, *own), needed=False)
    options: dict[str, Any] = {}
    for key in table.values:
        if key == "shapes":
            options[key] = list(_each(table, key, shapes, "shape"))
        elif key == "submissions":
            options[key] = list(_each(table, key, SUBMISSIONS, "submission"))
        elif key == "tools":
            options[key] = list(_each(table, key, own[key], "tool"))
        elif key in own:
            options[key] = table.among(table.text(key), own[key], key)
    timeout_s = table.whole("timeout_s", least=1, default=600)
    default = _PILOT_DEFAULT if name == "pilot" else 1
    return PassSettings(
        name, timeout_s, table.whole("invocations", least=_least(name), default=default), options
    )


def _least(name: str) -> int:
    """The fewest invocations of a pass that say anything."""
    return _PILOT_LEAST if name == "pilot" else 1


def _quick(table: Table, shapes: Collection[str]) -> dict[str, Any]:
    fewer = table.table("invocations", KNOWN_PASSES, needed=False)
    quick: dict[str, Any] = {
        "invocations": {name: fewer.whole(name, least=_least(name)) for name in fewer.values}
    }
    if "shapes" in table.values:
        quick["shapes"] = list(_each(table, "shapes", shapes, "shape"))
    if "rounds" in table.values:
        quick["rounds"] = table.whole("rounds", least=1)
    return quick
