"""Reconciliation: do profilers, host timing and expectations agree?

Pure functions over the rows of named queries, one module per family: counts, completeness, order, time,
traffic, limits. Nothing is written.
"""

from __future__ import annotations

from nsight_suite.reconciliation.findings import Finding, Reconciliation
from nsight_suite.reconciliation.judging import reconcile, reconcile_run

__all__ = ["Finding", "Reconciliation", "reconcile", "reconcile_run"]
