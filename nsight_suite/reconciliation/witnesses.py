"""The rows that a reconciliation judges, and what of them is out of reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from nsight_suite.errors import ForbiddenInference
from nsight_suite.reconciliation.findings import CANNOT_ANSWER, DISAGREE, MISSING_EVIDENCE, Finding

Row = Mapping[str, Any]

# Everything that the families read; each is a named query.
QUERIES = (
    "altered_counters",
    "artifacts",
    "builds",
    "completeness",
    "copy_bandwidth",
    "device",
    "dram_bytes",
    "early_starts",
    "evidence_rows",
    "findings",
    "gpus",
    "graph_nodes",
    "invocations",
    "kernel_build_agreement",
    "kernel_counts",
    "kernel_order",
    "launch_split_invocations",
    "launches_as_planned",
    "limits",
    "lost_records",
    "outputs",
    "passes",
    "pilot_choices",
    "planned_launches",
    "profiler_overhead",
    "sanitizer",
    "same_binary",
    "samples",
    "sources",
    "task_coverage",
    "task_doubts",
    "task_violations",
    "tools",
    "unknown_ranges",
    "validation",
)
CASES = "SELECT case_id, variant, submission, shape, timed FROM variant_case ORDER BY case_order"

# Rows that no named query shows one by one.
PLAIN = {
    "declared": "SELECT case_id FROM expected ORDER BY ALL",
    "checks": (
        'SELECT pass, case_id, fixture, "array", "check", min("limit") AS least, max("limit") AS most, '
        'count(*) - count("limit") AS unlimited FROM validation GROUP BY ALL ORDER BY ALL'
    ),
}


@dataclass(frozen=True)
class Gap:
    """Evidence that is out of reach. Whatever needs it cannot be answered, for this one reason.

    `subject` is the file, table or pass that it is about; one subject has one gap. `tables` and `passes` are
    what it blocks; `graph_only` limits that to graph submissions. A gap that blocks nothing is just told.
    """

    code: str
    subject: str
    seen: str
    means: str = ""
    next_step: str = ""
    verdict: str = CANNOT_ANSWER
    tables: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()
    graph_only: bool = False
    sources: Sequence[str] = ()

    def finding(self, family: str = "completeness", case_id: str | None = None) -> Finding:
        """The gap itself, or (with a case) what it does to a verdict."""
        verdict = CANNOT_ANSWER if case_id else self.verdict
        return Finding(
            self.code, family, verdict, case_id, self.seen, {}, self.means, self.next_step, self.sources
        )


@dataclass(frozen=True)
class Evidence:
    """Rows of every query in QUERIES and PLAIN, the cases in order, and what is known of them.

    `wanted` is what the run asked for (see `asked`), `tolerances` are those of its protocol, `faults` is what
    was told so far, by case.
    """

    cases: Sequence[Row]
    rows: Mapping[str, Sequence[Row]]
    missing: Mapping[str, str] = field(default_factory=dict)
    wanted: Sequence[Row] = ()
    tolerances: Mapping[str, float] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    faults: Mapping[str, Finding] = field(default_factory=dict)

    def with_faults(self, findings: Sequence[Finding]) -> Evidence:
        """The same, knowing what disagrees or is missing: what follows from a fault is told as that fault."""
        grave = [one for one in findings if one.verdict == DISAGREE or one.code == MISSING_EVIDENCE]
        faults = {one.case_id: one for one in reversed(grave) if one.case_id}
        return replace(self, faults=faults)

    @cached_property
    def _by_case(self) -> Mapping[tuple[str, str | None], list[Row]]:
        found: dict[tuple[str, str | None], list[Row]] = {}
        for query, rows in self.rows.items():
            for row in rows:
                found.setdefault((query, row.get("case_id")), []).append(row)
        return found

    @cached_property
    def _cases(self) -> Mapping[str, Row]:
        return {case["case_id"]: case for case in self.cases}

    def case(self, case_id: str | None) -> Row:
        """The case of that id; empty when there is none."""
        return self._cases.get(case_id or "", {})

    def of(self, query: str, case_id: str | None) -> list[Row]:
        """The rows of a query for one case, in the query's order."""
        return self._by_case.get((query, case_id), [])

    def one(self, query: str, case_id: str) -> Row:
        """The row of a query with one row per case; empty when there is none."""
        rows = self.of(query, case_id)
        return rows[0] if rows else {}

    def asked(self, name: str) -> bool:
        """Whether a pass was asked for. Without the table of passes every pass counts as asked for."""
        return "pass" in self.missing or any(row["pass"] == name for row in self.rows["passes"])

    def device(self, name: str) -> str:
        """UUID of the GPU that a pass ran on; empty when it is not told."""
        return next((row["uuid"] for row in self.rows["device"] if row["pass"] == name and row["uuid"]), "")

    def gap(self, case: Row, tables: Sequence[str] = (), passes: Sequence[str] = ()) -> Gap | None:
        """The first gap that keeps these tables or passes from speaking about a case."""
        for gap in self.gaps:
            if gap.graph_only and case.get("submission") != "graph":
                continue
            if gap.tables.intersection(tables) or gap.passes.intersection(passes):
                return gap
        return None

    def refused(self, family: str, case_id: str, error: ForbiddenInference) -> Finding:
        """What this evidence must not be used to say."""
        return Finding(
            error.code, family, CANNOT_ANSWER, case_id, error.what, means="", next_step=error.way_out
        )

    def unanswered(self, finding: Finding) -> Finding:
        """A finding that cannot be answered, or the known fault of its case as the reason for it."""
        fault = self.faults.get(finding.case_id or "")
        if fault is None:
            return finding
        return replace(fault, family=finding.family, verdict=CANNOT_ANSWER, numbers={})
