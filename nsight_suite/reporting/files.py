"""The files of a run's evidence, with their hashes: what every number of the report was read from."""

from __future__ import annotations

from nsight_suite.evidence.store import Store
from nsight_suite.evidence.tables import tables
from nsight_suite.reporting.tables import TextTable, text_table
from nsight_suite.runfolder import RunFolder, sha256


def evidence_files(run: RunFolder, store: Store) -> TextTable:
    """One row per Parquet file of the evidence. One that cannot be read has a reason in place of its rows."""
    rows = []
    for path in sorted(run.evidence.glob("*.parquet")):
        lost = store.missing.get(path.stem) if path.stem in tables() else "no table of the evidence: not read"
        rows.append(
            {
                "file": f"evidence/{path.name}",
                "rows": lost or store.rows(f'SELECT count(*) AS n FROM "{path.stem}"')[0]["n"],
                "size": path.stat().st_size,
                "sha256": sha256(path),
            }
        )
    about = "One row per table of the evidence; every number of this report was read from these files."
    return text_table(
        "Files of the evidence",
        "",
        about,
        rows,
        {"file": "file", "rows": "rows", "size": "bytes", "sha256": "SHA-256"},
    )
