"""Making a run of reports that were made elsewhere, by whatever program and version of the tools."""

from __future__ import annotations

from nsight_suite.ingesting.making import Options, ingest

__all__ = ["Options", "ingest"]
