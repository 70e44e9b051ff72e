"""Operations on bound values. Those of `reconciliation.inference` refuse what may not be concluded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from nsight_suite.claiming.binding import Binding, BindingError, Operation, Source
from nsight_suite.claiming.evidence import Evidence
from nsight_suite.claiming.findings import AMBIGUOUS, NO_EVIDENCE, UNKNOWN
from nsight_suite.claiming.units import BYTES, NONE, TIME, UNITS, Unit
from nsight_suite.claiming.values import Case, Value
from nsight_suite.reconciliation import inference
from nsight_suite.reconciliation.inference import Measured

_Compute = Callable[..., float]


@dataclass(frozen=True)
class _Rule:
    """Of which dimensions an operation's operands are (empty: any, but all the same), and what it gives."""

    compute: _Compute
    needs: tuple[str, ...]
    gives: Unit | None = None
    relation: str = ""


def _change(one: Measured, other: Measured) -> float:
    return inference.difference(one, other) / other.value


# The operations by name, as docs/claims.md tells them. `gives` is None where it is what the operands have.
_RULES = {
    "ratio": _Rule(inference.ratio, ("", ""), NONE, "ratio"),
    "difference": _Rule(inference.difference, ("", ""), None, "difference"),
    "change": _Rule(_change, ("", ""), NONE, "change"),
    "speedup": _Rule(inference.speedup, (TIME, TIME), NONE, "speedup"),
    "latency": _Rule(inference.latency, (TIME,)),
    "kernel_duration": _Rule(inference.kernel_duration, (TIME,)),
    "bandwidth": _Rule(inference.bandwidth, (BYTES, TIME), UNITS["B/s"]),
    "logical_rate": _Rule(inference.logical_rate, (BYTES, TIME), UNITS["B/s"]),
    "total_writes": _Rule(inference.total_writes, (BYTES,)),
    "utilisation": _Rule(inference.utilisation, ("",), NONE),
}
OPERATIONS = (*_RULES, "sum", "range", "attribute")
# These ask how their operands were had, so that one that nobody knows it of cannot be used.
_ASK_HOW = ("latency", "speedup", "kernel_duration", "bandwidth", "logical_rate", "attribute", "total_writes")


def evaluate(binding: Binding, evidence: Evidence) -> Value:
    """What a binding comes to.

    Raises BindingError when it cannot be followed, ForbiddenInference when it must not be concluded.
    """
    if isinstance(binding, Source):
        return evidence.read(binding)
    if binding.name not in OPERATIONS:
        raise BindingError(
            UNKNOWN, f"There is no operation '{binding.name}'.", f"Operations: {', '.join(OPERATIONS)}."
        )
    operands = [evaluate(operand, evidence) for operand in binding.operands]
    for operand, text in zip(operands, binding.operands, strict=True):
        if len(operand.amounts) != 1:
            what = "a text" if operand.text is not None else "a range"
            raise BindingError(AMBIGUOUS, f"'{text}' is {what}, of which nothing can be computed.")
    match binding.name:
        case "sum":
            return _sum(binding, operands)
        case "range":
            return _range(binding, operands)
        case "attribute":
            return _attribute(binding, operands)
    return _computed(binding, _RULES[binding.name], operands)


def _computed(binding: Operation, rule: _Rule, operands: Sequence[Value]) -> Value:
    _require_count(binding, operands, len(rule.needs))
    for operand, needed, text in zip(operands, rule.needs, binding.operands, strict=True):
        if needed and operand.unit.dimension != needed:
            raise BindingError(
                UNKNOWN, f"{binding.name} needs {needed}, but '{text}' is in {_dimension(operand)}."
            )
    _require_same(binding, operands, rule.needs)
    measured = [_measured(operand) for operand in operands]
    if binding.name in _ASK_HOW:
        _require_methods(binding, measured)
    if binding.name == "utilisation" and measured[0].unit == "block":
        inference.utilisation(measured[0])
    try:
        amount = _exact(rule.compute(*measured))
    except ZeroDivisionError as error:
        raise BindingError(NO_EVIDENCE, f"'{binding}' divides by zero.") from error
    except ValueError as error:
        raise BindingError(UNKNOWN, f"'{binding}' makes no sense: {error}.") from error
    pair = _cases(operands) if rule.relation else None
    return replace(
        _joined(operands),
        amounts=(amount,),
        unit=rule.gives or operands[0].unit,
        pair=pair,
        relation=rule.relation,
    )


def _exact(number: float) -> Fraction:
    """The simple fraction that is this float, if there is one: 43 over 20 rounds to 2.2, its float to 2.1."""
    simple = Fraction(number).limit_denominator(10**9)
    return simple if float(simple) == number else Fraction(number)


def _sum(binding: Operation, operands: Sequence[Value]) -> Value:
    _require_same(binding, operands, ("",) * len(operands))
    first = _measured(operands[0])
    total = sum((operand.amount for operand in operands), Fraction(0))
    methods = {(one.method, one.caches, one.scope, one.device_uuid) for one in map(_measured, operands)}
    if len(methods) > 1:
        raise BindingError(
            UNKNOWN, f"'{binding}' adds what was had in different ways.", "Add values of one source."
        )
    return replace(
        _joined(operands),
        amounts=(total,),
        unit=operands[0].unit,
        measured=(replace(first, value=float(total)),),
    )


def _range(binding: Operation, operands: Sequence[Value]) -> Value:
    _require_count(binding, operands, 2)
    _require_same(binding, operands, ("", ""))
    return replace(
        _joined(operands), amounts=tuple(operand.amount for operand in operands), unit=operands[0].unit
    )


def _attribute(binding: Operation, operands: Sequence[Value]) -> Value:
    _require_count(binding, operands, 2)
    measured = [_measured(operand) for operand in operands]
    _require_methods(binding, measured)
    return replace(_joined(operands), text=inference.attribute(*measured))


def _joined(operands: Sequence[Value]) -> Value:
    return Value(
        measured=tuple(one for operand in operands for one in operand.measured),
        columns=tuple(column for operand in operands for column in operand.columns),
        runs=tuple(dict.fromkeys(run for operand in operands for run in operand.runs)),
        subjects=frozenset().union(*(operand.subjects for operand in operands)),
        take=" ".join(filter(None, dict.fromkeys(operand.take for operand in operands))),
    )


def _cases(operands: Sequence[Value]) -> tuple[Case, Case] | None:
    first, second = (operand.measured[0] if operand.measured else None for operand in operands)
    if not first or not second or not (first.case_id and second.case_id):
        return None
    return Case(first.case_id, first.traits), Case(second.case_id, second.traits)


def _measured(operand: Value) -> Measured:
    """The operand for inference: in base units."""
    if len(operand.measured) == 1:
        return operand.measured[0]
    return Measured(float(operand.amount), operand.unit.dimension, "")


def _require_count(binding: Operation, operands: Sequence[Value], count: int) -> None:
    if len(operands) != count:
        raise BindingError(UNKNOWN, f"{binding.name} takes {count} values, not {len(operands)}.")


def _require_same(binding: Operation, operands: Sequence[Value], needs: Sequence[str]) -> None:
    dimensions = {operand.unit.dimension for operand, needed in zip(operands, needs, strict=True) if not needed}
    if len(dimensions) > 1:
        raise BindingError(UNKNOWN, f"'{binding}' mixes {' and '.join(sorted(dimensions))}.")


def _require_methods(binding: Operation, measured: Sequence[Measured]) -> None:
    if any(not one.method for one in measured):
        raise BindingError(
            UNKNOWN,
            f"How a value of '{binding}' was had is not known, so {binding.name} cannot be allowed.",
            "Use ratio or difference, which promise less.",
        )


def _dimension(operand: Value) -> str:
    return "no unit" if operand.unit.dimension == NONE.dimension else operand.unit.dimension
