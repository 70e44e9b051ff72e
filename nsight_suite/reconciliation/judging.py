"""A run's evidence → its reconciliation."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from nsight_suite.errors import first_line
from nsight_suite.evidence.store import DatabaseError, Store
from nsight_suite.evidence.tables import tables
from nsight_suite.evidence.versions import of_one_version
from nsight_suite.protocol import load
from nsight_suite.querying import open_evidence, run_named, run_sql
from nsight_suite.reconciliation import completeness, counts, limits, order, time, traffic
from nsight_suite.reconciliation.asked import wanted_rows
from nsight_suite.reconciliation.bounds import BOUNDS, Bounds
from nsight_suite.reconciliation.findings import Reconciliation, tabulate_verdicts
from nsight_suite.reconciliation.gaps import find_gaps
from nsight_suite.reconciliation.inference import applied_rules
from nsight_suite.reconciliation.witnesses import CASES, PLAIN, QUERIES, Evidence
from nsight_suite.runfolder import RunFolder

# Shared views that several queries read, each behind those that it reads itself.
_HELD = ("invocation", "invocation_launch", "invocation_kernel", "workload", "split_of_invocation")


def reconcile_run(run: RunFolder, bounds: Bounds = BOUNDS) -> Reconciliation:
    """Judge a run folder. Raises SuiteError when it is no run, has no protocol, or holds no evidence at all."""
    return of_one_version(run.evidence, lambda: _judged(run, bounds))


def _judged(run: RunFolder, bounds: Bounds) -> Reconciliation:
    asked = run.read_run()
    evidence = gather(open_evidence(run, missing_as_empty=True), str(asked.get("experiment", "")))
    protocol = load(run.protocol)
    evidence = replace(
        evidence, wanted=tuple(wanted_rows(asked, protocol)), tolerances=dict(protocol.tolerances)
    )
    evidence = replace(evidence, gaps=tuple(find_gaps(evidence, run)))
    return reconcile(evidence, str(asked.get("run_id", "")), bounds)


def reconcile(evidence: Evidence, run_id: str = "", bounds: Bounds = BOUNDS) -> Reconciliation:
    """Judge the rows of named queries; a pure function."""
    found = [*completeness.judge(evidence), *counts.judge(evidence)]
    # The other families judge what is there; what is not there has been told.
    evidence = evidence.with_faults(found)
    findings = (
        *found,
        *order.judge(evidence, bounds),
        *time.judge(evidence, bounds),
        *traffic.judge(evidence, bounds),
        *limits.judge(evidence, bounds),
    )
    case_ids = [case["case_id"] for case in evidence.cases]
    return Reconciliation(run_id, findings, tabulate_verdicts(case_ids, findings), applied_rules(evidence))


def gather(store: Store, experiment: str) -> Evidence:
    """Run every query that the families read. A table that cannot be read to its end counts as missing."""
    missing = {**store.missing, **_damaged(store)}
    hold(store)
    rows = {name: run_named(store, name, experiment).records() for name in QUERIES}
    rows |= {name: run_sql(store, sql).records() for name, sql in PLAIN.items()}
    return Evidence(run_sql(store, CASES).records(), rows, missing)


def _damaged(store: Store) -> dict[str, str]:
    """Tables whose file opens but cannot be read; each is made empty, so that the other queries still run."""
    damaged = {}
    for name, table in tables().items():
        if name in store.missing:
            continue
        try:
            store.connection.execute(f'SELECT bit_xor(hash(COLUMNS(*))) FROM "{name}"').fetchall()
        except DatabaseError as error:
            damaged[name] = _without_folders(first_line(error))
            columns = ", ".join(f'CAST(NULL AS {column.type}) AS "{column.name}"' for column in table.columns)
            store.connection.execute(f'CREATE OR REPLACE VIEW "{name}" AS SELECT {columns} WHERE false')
    return damaged


def hold(store: Store) -> None:
    """Work out once what many queries read. A temporary table goes before the view of its name.

    A view that has no answer stays a view, and refuses whoever reads it.
    """
    for name in _HELD:
        with suppress(DatabaseError):
            store.connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS SELECT * FROM main."{name}"')


def _without_folders(message: str) -> str:
    """DuckDB names the file with its whole path, which does not belong into a report."""
    return re.sub(r'"[^"]*/([^"/]+)"', r'"\1"', message)
