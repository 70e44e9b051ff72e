"""What is counted and not timed: kernels, resources, machine code, bytes, checks, verdicts.

A failed check or an error more is a regression, one less an improvement; what else differs has changed.
Bytes by ncu scatter a little between invocations: they have changed when those of one run lie beyond all those
of the other, by more than the threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from nsight_suite.comparing.conditions import blocking
from nsight_suite.comparing.results import (
    CHANGED,
    IMPROVED,
    INCOMPARABLE,
    MISSING,
    NEW,
    REGRESSED,
    UNCHANGED,
    Doubt,
    Row,
)
from nsight_suite.comparing.sides import Side
from nsight_suite.reconciliation.findings import AGREE, EXPLAINED

_PROFILED = frozenset({"nsys", "ncu"})
_RESOURCES = {
    "registers": "register/thread",
    "static_shared_bytes": "byte/block",
    "dynamic_shared_bytes": "byte/block",
    "local_bytes": "byte/thread",
    "blocks": "1",
    "threads_per_block": "1",
    "resident_blocks_limit": "1",
}
# Whether a row is right is told also where its times must not be compared for being wrong.
_RIGHTNESS = frozenset({"failed-checks"})


@dataclass(frozen=True)
class Count:
    """A number, or a word, of a subject: a case, a kernel, a tool.

    passes           that it was told by
    lowest, highest  where it was counted several times, and scatters; None for what is exact
    scale            what a change of it is small against, beside its own size
    fewer_is_better  whether a change has a direction
    """

    quantity: str
    subject: str
    value: int | str
    unit: str
    query: str
    passes: frozenset[str] = frozenset()
    lowest: int | None = None
    highest: int | None = None
    scale: int = 0
    fewer_is_better: bool = False


def judge_counts(
    a: Side, b: Side, case_ids: Collection[str], doubts: Sequence[Doubt], threshold: float
) -> Iterator[Row]:
    """A row for every count that either run holds of these cases. What neither could tell is no count."""
    ours, theirs = ({(one.quantity, one.subject): one for one in counts_of(side, case_ids)} for side in (a, b))
    for key in dict.fromkeys([*ours, *theirs]):
        before, after = ours.get(key), theirs.get(key)
        known = before or after
        assert known is not None
        codes = blocking(doubts, known.passes, known.subject, exempt=_RIGHTNESS)
        yield Row(
            quantity=known.quantity,
            case_id=known.subject,
            verdict=_verdict(before, after, threshold, blocked=bool(codes)),
            before=before.value if before else None,
            after=after.value if after else None,
            unit=known.unit,
            how="counted" if known.lowest is None else "counted, lowest to highest",
            reasons=codes if before and after else "",
            queries=(known.query,),
        )


def counts_of(side: Side, case_ids: Collection[str]) -> Iterator[Count]:
    """Everything that a run counted of some cases, and of what belongs to none."""
    for one in (*_work(side), *_bytes(side), *_checks(side), *_verdicts(side)):
        if one.subject in case_ids:
            yield one
    yield from _resources(side, case_ids)
    yield from _sanitized(side)


def _verdicts(side: Side) -> Iterator[Count]:
    for (case_id, family), verdict in side.verdicts.items():
        # Which of the two it is depends on single microseconds; nothing is wrong in either.
        told = f"{AGREE} or {EXPLAINED}" if verdict in (AGREE, EXPLAINED) else verdict
        yield Count(f"verdict:{family}", case_id, told, "", "reconcile")


def _verdict(before: Count | None, after: Count | None, threshold: float, *, blocked: bool) -> str:
    if before is None or after is None:
        return NEW if before is None else MISSING
    if blocked:
        return INCOMPARABLE
    if not _differ(before, after, threshold):
        return UNCHANGED
    if before.fewer_is_better and isinstance(before.value, int) and isinstance(after.value, int):
        return REGRESSED if after.value > before.value else IMPROVED
    return CHANGED


def _differ(before: Count, after: Count, threshold: float) -> bool:
    if before.lowest is None or before.highest is None or after.lowest is None or after.highest is None:
        return before.value != after.value
    apart = max(after.lowest - before.highest, before.lowest - after.highest)
    return apart > threshold * max(before.highest, before.scale)


def _work(side: Side) -> Iterator[Count]:
    nsys = frozenset({"nsys"})
    for row in side.rows["kernel_counts"]:
        for quantity, column in (("kernels", "kernels_per_invocation"), ("memsets", "nsys_memsets_max")):
            if row[column] is not None:
                yield Count(quantity, row["case_id"], row[column], "1", "kernel_counts", nsys)
    for row in side.rows["graph_nodes"]:
        if row["nodes"] is not None:
            yield Count("graph_nodes", row["case_id"], row["nodes"], "1", "graph_nodes", nsys)


def _resources(side: Side, case_ids: Collection[str]) -> Iterator[Count]:
    there = {(side.cases[name]["variant"], side.cases[name]["shape"]) for name in case_ids}
    for row in side.rows["resources"]:
        if (row["variant"], row["shape"]) not in there:
            continue
        told = (row["nsys_registers"], row["ncu_registers"], row["build_registers"])
        values = {**row, "registers": next((value for value in told if value is not None), None)}
        subject = f"{row['variant']}:{row['shape']}:{row['kernel']}"
        for column, unit in _RESOURCES.items():
            if values[column] is not None:
                yield Count(column, subject, values[column], unit, "resources", _PROFILED)
    for row in side.rows["same_binary"]:
        if row["cubin_sha256"]:
            subject = f"{row['source']}:{row['kernel']}"
            yield Count("machine_code", subject, row["cubin_sha256"], "sha256", "same_binary")


def _bytes(side: Side) -> Iterator[Count]:
    for row in side.rows["dram_bytes"]:
        for what in ("read", "write"):
            if row[f"dram_{what}_bytes"] is not None:
                yield Count(
                    f"dram_{what}_bytes:{row['pass']}",
                    row["case_id"],
                    row[f"dram_{what}_bytes"],
                    "byte",
                    "dram_bytes",
                    frozenset({row["pass"]}),
                    row[f"dram_{what}_min_bytes"],
                    row[f"dram_{what}_max_bytes"],
                    (row["logical_read_bytes"] or 0) + (row["logical_write_bytes"] or 0),
                )


def _checks(side: Side) -> Iterator[Count]:
    checked: dict[tuple[str, str], tuple[int, int]] = {}
    for row in side.rows["validation"]:
        key = row["pass"], row["case_id"]
        done, failed = checked.get(key, (0, 0))
        checked[key] = done + row["fixtures"], failed + row["failed"]
    for (name, case_id), (done, failed) in checked.items():
        of_pass = frozenset({name})
        yield Count(f"checks:{name}", case_id, done, "1", "validation", of_pass)
        yield Count(f"failed_checks:{name}", case_id, failed, "1", "validation", of_pass, fewer_is_better=True)


def _sanitized(side: Side) -> Iterator[Count]:
    for row in side.rows["sanitizer"]:
        if row["errors"] is not None:
            of_pass = frozenset({row["pass"]})
            yield Count(
                "sanitizer_errors", row["tool"], row["errors"], "1", "sanitizer", of_pass, fewer_is_better=True
            )
