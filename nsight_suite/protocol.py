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

# ncu reads '/' in a range as nesting and '@' as the domain; the others break its filter or its CSV.
_NAME = re.compile(r"[A-Za-z0-9._-]+")

# The NVTX domain of every range; profilers are told to look at no other.
DOMAIN = "nsight_suite"

KNOWN_PASSES = ("validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize")


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
    """A whole protocol. `needs` holds, per variant that needs any, its shared libraries (libcudnn.so.9 …)."""

    name: str
    title: str
    question: str
    seed: int
    variants: Mapping[str, str]
    needs: Mapping[str, tuple[str, ...]]
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
        """Rounds of the timing pass."""
        return int((self.quick if quick else {}).get("rounds", self.timing["rounds"]))

    def invocations(self, name: str, quick: bool) -> int:
        """Invocations of each case by any other pass."""
        fewer = self.quick.get("invocations", {}) if quick else {}
        return int(fewer.get(name, self.pass_settings(name).invocations))

    def pass_settings(self, name: str) -> PassSettings:
        for settings in self.passes:
            if settings.name == name:
                return settings
        known = ", ".join(settings.name for settings in self.passes)
        raise UsageError(f"The protocol of '{self.name}' has no pass '{name}'.", f"Its passes: {known}.")


def cases_of_pass(settings: PassSettings, cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases that a pass runs: timing takes timed shapes only; its option `shapes` limits it further."""
    only = settings.options.get("shapes")
    return tuple(
        case
        for case in cases
        if (only is None or case.shape.name in only) and (settings.name != "timing" or case.shape.timed)
    )


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
        return _parse(data, hashlib.sha256(text).hexdigest())
    except KeyError as error:
        raise UsageError(f"The protocol {path} lacks the key {error}.") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"The protocol {path} is malformed: {error}") from error


def _parse(data: Mapping[str, Any], sha256: str) -> Protocol:
    known = {
        "experiment",
        "variants",
        "needs",
        "shapes",
        "fixtures",
        "tolerances",
        "timing",
        "passes",
        "metrics",
        "quick",
    }
    if unknown := sorted(set(data) - known):
        raise ValueError(f"unknown sections {', '.join(unknown)}")
    head = data["experiment"]
    timing = {key: int(value) for key, value in data["timing"].items()}
    for name in (head["name"], *data["variants"], *head["submissions"], *data["shapes"]):
        if not _NAME.fullmatch(name):
            raise ValueError(f"the name '{name}' may hold only letters, digits, '.', '_' and '-'")
    return Protocol(
        name=head["name"],
        title=head["title"],
        question=head["question"],
        seed=int(head["seed"]),
        variants=dict(data["variants"]),
        needs=_needs(data.get("needs", {}), data["variants"]),
        submissions=tuple(head["submissions"]),
        shapes=tuple(_shape(name, values, timing["batch"]) for name, values in data["shapes"].items()),
        passes=tuple(_pass(name, data.get("passes", {}).get(name, {})) for name in head["passes"]),
        fixtures=tuple(data["fixtures"]["before"]),
        held_out=data["fixtures"]["held_out"],
        tolerances={key: float(value) for key, value in data["tolerances"].items()},
        timing=timing,
        metrics=tuple(data.get("metrics", {}).get("names", ())),
        quick=dict(data.get("quick", {})),
        sha256=sha256,
    )


def _needs(data: Mapping[str, Any], variants: Collection[str]) -> dict[str, tuple[str, ...]]:
    for variant, libraries in data.items():
        if variant not in variants:
            raise ValueError(f"[needs] names the variant '{variant}', which there is not")
        if not isinstance(libraries, list) or not all(isinstance(library, str) for library in libraries):
            raise ValueError(f"[needs] {variant} must be a list of shared libraries, like ['libcudnn.so.9']")
    return {variant: tuple(libraries) for variant, libraries in data.items()}


def _shape(name: str, values: Mapping[str, Any], batch: int) -> Shape:
    parameters = {key: int(value) for key, value in values.items() if key not in ("timed", "batch")}
    return Shape(name, parameters, bool(values.get("timed", True)), int(values.get("batch", batch)))


def _pass(name: str, values: Mapping[str, Any]) -> PassSettings:
    if name not in KNOWN_PASSES:
        raise ValueError(f"unknown pass '{name}'; known: {', '.join(KNOWN_PASSES)}")
    options = {key: value for key, value in values.items() if key not in ("timeout_s", "invocations")}
    return PassSettings(name, int(values.get("timeout_s", 600)), int(values.get("invocations", 1)), options)
