"""What a binding asks for: a cell of a named query, or an operation on several.

host_completion/median_ns?case=row:fused:graph:4096x4096     a column of the one row of that case
row-h200/host_completion/median_ns?case=…                    … of that run, where there are several
samples/duration_ns?case=…&take=max                          one number of several rows
ratio(staged,fused)                                          an operation on values that the article defines
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from nsight_suite.claiming.findings import MALFORMED, UNKNOWN
from nsight_suite.errors import SuiteError

TAKES = ("median", "mean", "min", "max", "sum", "count", "distinct", "range")
_OPERATION = re.compile(r"([A-Za-z_]+)\((.*)\)(?:\?(unit=[^&=]+))?", re.DOTALL)
_DEEPEST = 8


class BindingError(SuiteError):
    """A binding that cannot be followed. `code` is the finding's."""

    def __init__(self, code: str, what: str, way_out: str = "") -> None:
        super().__init__(what, way_out)
        self.code = code


@dataclass(frozen=True)
class Source:
    """A column of the rows of a named query that hold the given values.

    `parts` is [run,] query [, column]; which of them is meant depends on the runs and queries there are. `take`
    makes one value of several rows. `unit` is what the text leaves out.
    """

    parts: tuple[str, ...]
    where: tuple[tuple[str, str], ...] = ()
    take: str = ""
    unit: str = ""

    def __str__(self) -> str:
        conditions = [f"{name}={value}" for name, value in self.where] + (
            [f"take={self.take}"] if self.take else []
        )
        return "/".join(self.parts) + ("?" + "&".join(conditions) if conditions else "")


@dataclass(frozen=True)
class Operation:
    """A named operation on values."""

    name: str
    operands: tuple[Binding, ...]
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.operands))})"


Binding = Source | Operation


def parse_binding(text: str, definitions: Mapping[str, str], *, depth: int = 0) -> Binding:
    """The binding that a text tells. `definitions` are the article's link definitions, by folded label.

    Raises BindingError for what cannot be read.
    """
    text = text.strip()
    if depth > _DEEPEST:
        raise BindingError(MALFORMED, "The binding is nested too deep, or defined by itself.")
    if not text:
        raise BindingError(
            MALFORMED, "The binding is empty.", "Name a query and a column: claim:QUERY/COLUMN?case=CASE"
        )
    if operation := _OPERATION.fullmatch(text):
        operands = [parse_binding(part, definitions, depth=depth + 1) for part in _operands(operation[2])]
        unit = unquote(operation[3].removeprefix("unit=")) if operation[3] else ""
        return Operation(operation[1].lower(), tuple(operands), unit)
    if (defined := definitions.get(_label(text))) is not None:
        if not defined.lower().startswith("claim:"):
            raise BindingError(UNKNOWN, f"[{text}] is defined, but as a link: {defined}")
        return parse_binding(defined[len("claim:") :], definitions, depth=depth + 1)
    return _source(text)


def sources_of(binding: Binding) -> list[Source]:
    """The columns that a binding reads."""
    if isinstance(binding, Source):
        return [binding]
    return [source for operand in binding.operands for source in sources_of(operand)]


def _label(text: str) -> str:
    return re.sub(r"\s+", " ", unquote(text).strip()).lower().upper()


def _operands(text: str) -> list[str]:
    """The parts between commas that stand in no parentheses."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                raise BindingError(MALFORMED, f"'{text}' closes a parenthesis that it did not open.")
        elif character == "," and not depth:
            parts.append(text[start:position])
            start = position + 1
    if depth:
        raise BindingError(MALFORMED, f"'{text}' opens a parenthesis that it does not close.")
    return [*parts, text[start:]]


def _source(text: str) -> Source:
    path, _, conditions = text.partition("?")
    parts = tuple(unquote(part).strip() for part in path.split("/"))
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise BindingError(
            MALFORMED, f"'{path}' is no QUERY/COLUMN.", "Write claim:QUERY/COLUMN or claim:RUN/QUERY/COLUMN."
        )
    if odd := next((part for part in parts if not re.fullmatch(r"[\w.:\-]+", part)), ""):
        raise BindingError(MALFORMED, f"'{odd}' is no name.", "Names hold letters, digits and _ . : -")
    source = Source(parts)
    for condition in filter(None, conditions.replace("&amp;", "&").split("&")):
        name, equals, value = (unquote(one).strip() for one in condition.partition("="))
        if not equals or not name:
            raise BindingError(
                MALFORMED, f"'{condition}' is no COLUMN=VALUE.", "Write ?case=CASE&column=value."
            )
        source = _with(source, name, value)
    return source


def _with(source: Source, name: str, value: str) -> Source:
    if name == "take":
        if value not in TAKES:
            raise BindingError(
                UNKNOWN, f"There is no way '{value}' to take rows.", f"Known: {', '.join(TAKES)}."
            )
        return replace(source, take=value)
    if name == "unit":
        return replace(source, unit=value)
    return replace(source, where=(*source.where, (name, value)))
