"""NVIDIA's `ncu-report` package: the workloads, metrics, ranges and rules of a loaded report."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.evidence.readers.ncu_advice import Advice
from nsight_suite.evidence.readers.ncu_nvtx import Range, innermost
from nsight_suite.evidence.readers.workloads import Cells, Metric, Workload, wanted

_LONGEST_S = 600
_LOAD = """
import sys, ncu_report
context = ncu_report.load_report(sys.argv[1])
for number in range(context.num_ranges()):
    results = context.range_by_idx(number)
    for index in range(results.num_actions()):
        action = results.action_by_idx(index)
        for name in action.metric_names():
            action.metric_by_name(name).value()
"""
# As the details page types what a rule says.
_MESSAGE_KINDS = {"NONE": "INF", "OK": "INF", "OPTIMIZATION": "OPT", "WARNING": "WRN", "ERR": "ERR"}
# Links in what a rule says: @section:ID:label@, @url:label:address@.
_ADDRESS = re.compile(r"@url:([^:@]*):([^@]*)@")
_LINK = re.compile(r"@[a-z-]+:[^:@]*:([^@]*)@")
# Lists of other metrics, which no page prints.
_NO_METRIC = ("breakdown:", "group:")


@dataclass(frozen=True)
class Package:
    """The package, loaded."""

    module: Any

    def gather(
        self,
        path: Path,
        cells: Cells,
        *,
        instances: bool,
        most: int | None,
        process_ids: Sequence[int],
    ) -> list[Advice]:
        """Put the workloads of a report, at most so many, into `cells`; gives what the rules say of them.

        Raises whatever the package raises for a report that it cannot load.
        """
        advice: list[Advice] = []
        # With several processes the package does not tell which workload is whose.
        process = 0 if len(process_ids) == 1 else None
        for number, action in enumerate(_actions(self.module.load_report(str(path)))):
            if most is not None and number >= most:
                break
            around = innermost(*_ranges(self.module, action))
            workload = Workload(
                workload_id=number,
                name=action.name(action.NameBase_DEMANGLED),
                process=process,
                kind=_kind(action),
                range_name=around.name if around else None,
                invocation=around.payload if around else None,
            )
            cells.add(workload, _cells(action, cells, instances))
            if cells.requested is None:
                advice += _advice(self.module, action, number)
        return advice


def survives(path: Path) -> bool:
    """Whether the package can load a doubtful report: some damage ends the process, so another is asked."""
    command = [sys.executable, "-c", _LOAD, str(path)]
    try:
        return subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def package() -> Package | str:
    """The package, or why it cannot be used."""
    try:
        import ncu_report
    except ModuleNotFoundError:
        return "which is not installed"
    except (ImportError, OSError) as error:
        return f"which cannot be loaded here ({type(error).__name__})"
    return Package(ncu_report)


def _actions(context: Any) -> Iterator[Any]:
    for range_index in range(context.num_ranges()):
        results = context.range_by_idx(range_index)
        for index in range(results.num_actions()):
            yield results.action_by_idx(index)


def _kind(action: Any) -> str:
    names = {"GRAPH": "graph", "RANGE": "range", "CMDLIST": "command list"}
    kinds = {getattr(action, f"WorkloadType_{name}", None): kind for name, kind in names.items()}
    return kinds.get(action.workload_type(), "kernel")


def _cells(action: Any, cells: Cells, instances: bool) -> Iterator[tuple[int, str]]:
    for name in action.metric_names():
        if name.startswith(_NO_METRIC) or not wanted(name, cells.requested):
            continue
        metric = action.metric_by_name(name)
        number = cells.metric(Metric(name, metric.unit() or ""))
        text = _printed(metric.value()) if metric.has_value() else "no data"
        several = metric.num_instances() if instances else 0
        if several:
            yield number, f"{text} ({'; '.join(_instances(metric, several))})"
        else:
            yield number, text


def _instances(metric: Any, several: int) -> Iterator[str]:
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    for index in range(several):
        value = _printed(metric.value(index))
        yield value if ids is None else f"{ids.value(index)}: {value}"


def _printed(value: object) -> str:
    return "" if value is None else str(value)


def _ranges(module: Any, action: Any) -> tuple[list[Range], list[Range]]:
    push_pop: list[Range] = []
    start_end: list[Range] = []
    state = action.nvtx_state()
    for number in state.domains() if state else ():
        domain = state.domain_by_id(number)
        name = domain.name()
        for index in range(len(domain.push_pop_ranges())):
            push_pop.append(_range(module, name, domain.push_pop_range(index)))
        for index in range(len(domain.start_end_ranges())):
            start_end.append(_range(module, name, domain.start_end_range(index)))
    return push_pop, start_end


def _range(module: Any, domain: str, found: Any) -> Range:
    kinds = module.INvtxRange
    # The package has one call for all integers: signed ones come as their two's complement.
    bits = {
        kinds.PayloadType_PAYLOAD_INT32: 32,
        kinds.PayloadType_PAYLOAD_INT64: 64,
        kinds.PayloadType_PAYLOAD_UINT32: 0,
        kinds.PayloadType_PAYLOAD_UINT64: 0,
    }.get(found.payload_type())
    if bits is None:
        return Range(domain, found.name(), None)
    value = int(found.payload_as_uint64())
    if bits and value >> (bits - 1) & 1:
        value = (value & (1 << bits) - 1) - (1 << bits)
    return Range(domain, found.name(), value if value < 2**63 else None)


def _advice(module: Any, action: Any, number: int) -> Iterator[Advice]:
    kinds = {getattr(module, f"MsgType_{name}"): kind for name, kind in _MESSAGE_KINDS.items()}
    for result in action.rule_results_as_dicts():
        message = result.get("rule_message") or {}
        if not message.get("message"):
            continue
        estimate = result.get("speedup_estimation") or {}
        speedup = estimate.get("speedup")
        yield Advice(
            workload_id=number,
            section=result.get("section_identifier") or "",
            rule=result.get("rule_identifier") or "",
            kind=kinds.get(message.get("type"), ""),
            text=_LINK.sub(r"\1", _ADDRESS.sub(r"\1 (\2)", message["message"])),
            speedup="" if speedup is None else str(speedup),
        )
