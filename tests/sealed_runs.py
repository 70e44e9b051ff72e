"""A sealed run to tamper with, and the forger's tools: who changes a file hashes the manifest again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nsight_suite.evidence.conditions import conditions
from nsight_suite.evidence.store import Store, bare_connection
from nsight_suite.manifest import Manifest, QueryEntry, assemble, files_of_run, read_manifest, write_manifest
from nsight_suite.querying import open_evidence, query_text, run_sql
from nsight_suite.querying.formats import as_text
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reconciliation.findings import as_data
from nsight_suite.runfolder import RunFolder, read_json, sha256, write_json
from nsight_suite.sealing import views_of_run

EXAMPLES = Path(__file__).parent.parent / "examples"
RECORDED = EXAMPLES / "jobs-h200"
# Enough of the run's queries to see what becomes of a changed one.
QUERIES = ("device", "host_completion", "session_completion", "task_coverage")
VERDICTS = "reconciliation.json"

Record = dict[str, Any]


def make_sealed(folder: Path) -> RunFolder:
    """A recorded run with traces, its verdicts, the summaries of a few queries and its manifest."""
    run = RunFolder(folder)
    shutil.copytree(RECORDED, folder)
    for made in (run.figures, run.summaries):
        shutil.rmtree(made, ignore_errors=True)
    write_json(folder / VERDICTS, as_data(reconcile_run(run)))
    run.summaries.mkdir()
    store = open_evidence(run)
    with store.connection:
        queries = [summarised(run, name, query_text(name, "jobs"), store) for name in QUERIES]
    manifest = assemble(run, conditions(run), queries=queries, views=views_of_run(), bundle=True)
    write_manifest(run, manifest)
    return run


def summarised(run: RunFolder, name: str, sql: str, store: Store) -> QueryEntry:
    """Write what a query gives to summaries/NAME.csv; returns its entry in the manifest."""
    answer = run_sql(store, sql)
    (run.summaries / f"{name}.csv").write_text(as_text(answer, "csv"))
    digest = hashlib.sha256(sql.encode()).hexdigest()
    return QueryEntry(name, digest, sql, f"summaries/{name}.csv", len(answer.rows))


def forge(run: RunFolder, change: Callable[[Manifest], Manifest] = lambda manifest: manifest) -> None:
    """Make the manifest, and what the passes recorded, tell the files as they are now; then `change` it."""
    for name in run.pass_records():
        record = read_json(run.passes / f"{name}.json")
        for entry in record["artifacts"]:
            path = run.path / entry["path"]
            if path.is_file():
                entry |= {"bytes": path.stat().st_size, "sha256": sha256(path)}
        write_json(run.passes / f"{name}.json", record)
    files = tuple(files_of_run(run, bundle=True))
    write_manifest(run, change(replace(read_manifest(run.manifest), files=files)))


def edit_records(path: Path, edit: Callable[[Record], Record | None]) -> None:
    """Change the lines of a file of records; None leaves one out."""
    lines = (edit(json.loads(line)) for line in path.read_text().splitlines())
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))


def edit_parquet(path: Path, statement: str) -> None:
    """Run `statement` over a file of evidence, as the table `t`."""
    with bare_connection() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{path}')")
        connection.execute(statement)
        path.unlink()
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
