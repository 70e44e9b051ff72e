"""One of two runs, as the rows of its named queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nsight_suite.comparing.results import Told
from nsight_suite.evidence.versions import of_one_version
from nsight_suite.querying import open_evidence, run_named, run_sql
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reconciliation.findings import DISAGREE
from nsight_suite.runfolder import RunFolder

QueryRow = Mapping[str, Any]

# Everything that a comparison reads of a run that was captured.
QUERIES = (
    *("device", "dram_bytes", "graph_nodes", "kernel_counts", "launch_split_invocations", "passes"),
    *("resources", "same_binary", "samples", "sanitizer", "tools", "validation"),
)
_CASES = "SELECT case_id, variant, submission, shape FROM variant_case ORDER BY case_order"


@dataclass(frozen=True)
class Side:
    """A captured run. `verdicts` are those of its reconciliation, by case and family; `contradictions` what it
    has against the run as a whole: reports that are not those of its passes, tools that differ …
    """

    info: Mapping[str, Any]
    cases: Mapping[str, QueryRow]
    rows: Mapping[str, Sequence[QueryRow]]
    verdicts: Mapping[tuple[str, str], str]
    contradictions: Sequence[str] = ()

    @cached_property
    def told(self) -> Told:
        """Who it is."""
        return told(self.info, self.rows["device"])

    def tools_of(self, name: str) -> dict[str, str]:
        """The tools and libraries of a pass, with their versions."""
        return {row["name"]: row["version"] for row in self.rows["tools"] if name in row["passes"].split(", ")}


def read_side(run: RunFolder, *, with_verdicts: bool = True) -> Side:
    """Ask a run all that a comparison needs.

    Raises CannotAnswer when it has no evidence, or when a table that must be read is lost or damaged.
    """
    return of_one_version(run.evidence, lambda: _read(run, with_verdicts))


def _read(run: RunFolder, with_verdicts: bool) -> Side:
    info = run.read_run()
    experiment = str(info["experiment"])
    store = open_evidence(run)
    try:
        cases = {row["case_id"]: row for row in run_sql(store, _CASES).records()}
        rows = {name: run_named(store, name, experiment).records() for name in QUERIES}
    finally:
        store.connection.close()
    if not with_verdicts:
        return Side(info, cases, rows, {})
    judged = reconcile_run(run)
    verdicts = {(case.case_id, family): word for case in judged.cases for family, word in case.verdicts.items()}
    against = [one for one in judged.findings if one.case_id is None and one.verdict == DISAGREE]
    return Side(info, cases, rows, verdicts, [f"{one.code}: {one.seen}" for one in against])


def told(info: Mapping[str, Any], devices: Sequence[QueryRow]) -> Told:
    """Who a run is, by its run.json and the rows of `device` or `gpus`."""
    return Told(
        run_id=str(info.get("run_id", "")),
        experiment=str(info.get("experiment", "")),
        created_utc=str(info.get("created_utc", "")),
        state=str(info.get("state", "")),
        protocol_sha256=info.get("protocol_sha256"),
        devices=tuple(sorted({row["name"] for row in devices if row["name"]})),
        drivers=tuple(sorted({row["driver_version"] for row in devices if row.get("driver_version")})),
    )
