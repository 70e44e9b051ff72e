"""What a report, a run or any folder would leak: found, located, counted, never repeated."""

from __future__ import annotations

from nsight_suite.scanning.findings import Kind, Leak, Scan
from nsight_suite.scanning.walking import scan

__all__ = ["Kind", "Leak", "Scan", "scan"]
