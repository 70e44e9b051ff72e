"""A run folder's reports → its evidence. The same files give the same rows in the same order."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nsight_suite import __version__
from nsight_suite.errors import BadReport
from nsight_suite.evidence.clocks import clock_doubts
from nsight_suite.evidence.files import PassRecord, artifacts, note_changed_files, note_missing_report
from nsight_suite.evidence.notes import note_doubts
from nsight_suite.evidence.paths import argument_without_path, without_paths
from nsight_suite.evidence.readers import driver_records, ncu_csv, ncu_rep, nsys, sanitizer_log
from nsight_suite.evidence.sqlite import replacing_sqlite
from nsight_suite.evidence.store import Connection, empty_store, insert_rows, write_duckdb, write_parquet
from nsight_suite.protocol import Protocol, load
from nsight_suite.runfolder import RunFolder

Reader = Callable[[Connection, Path, str], None]


def build(run: RunFolder) -> None:
    """Write evidence/*.parquet, evidence.duckdb and evidence.sqlite from run.json, passes/ and reports/.

    A report that cannot be read becomes a row of `finding`; nothing else is lost by it. Raises SuiteError when
    run.json or the protocol cannot be read, or the folder cannot be written.
    """
    with collect(run) as connection:
        write(connection, run)


def write(connection: Connection, run: RunFolder) -> None:
    """Write an open store as the evidence of a run, in all three forms.

    Where there is no room for the rows, all three stay as they were. evidence.duckdb holds views alone, which
    follow the files.
    """
    with replacing_sqlite(connection, run):
        write_parquet(connection, run.evidence)
    write_duckdb(run)


def collect(run: RunFolder) -> Connection:
    """The evidence of a run in an open store; nothing is written. The caller closes it."""
    asked = run.read_run()
    protocol = load(run.protocol)
    records = run.pass_records()
    connection = empty_store()
    insert_rows(connection, "run", [_run(asked)])
    insert_rows(connection, "variant_case", _cases(asked, protocol))
    for name in dict.fromkeys([*asked.get("passes", []), *records]):
        _insert_pass(connection, name, records.get(name))
        for readers in _reports(run, name, protocol):
            _read(connection, name, readers)
        note_missing_report(connection, run, name, records.get(name))
    for name, doubt in clock_doubts(records):
        note_doubts(connection, name, [doubt])
    insert_rows(connection, "artifact", artifacts(run, records))
    note_changed_files(connection, run, records)
    _keep_first_version(connection)
    return connection


def _run(asked: Mapping[str, Any]) -> dict[str, object]:
    columns = ("run_id", "experiment", "created_utc", "protocol_sha256", "source", "quick")
    return {
        **{column: asked.get(column) for column in columns},
        "suite_version": __version__,
        "complete": asked.get("state") == "complete",
    }


def _cases(asked: Mapping[str, Any], protocol: Protocol) -> Iterator[dict[str, object]]:
    wanted = set(asked.get("cases", []))
    for position, case in enumerate(protocol.cases()):
        if case.case_id in wanted:
            yield {
                "case_id": case.case_id,
                "experiment": case.experiment,
                "variant": case.variant,
                "submission": case.submission,
                "shape": case.shape.name,
                "case_order": position,
                "parameters": json.dumps(dict(case.shape.parameters)),
                "timed": case.shape.timed,
            }


def _insert_pass(connection: Connection, name: str, record: PassRecord | None) -> None:
    if record is None:
        reason = f"The pass {name} was asked for and never finished. Continue the run with --resume."
        insert_rows(connection, "pass", [{"pass": name, "state": "absent", "reason": reason}])
        note_doubts(connection, name, [("absent-pass", name, reason)])
        return
    steps = record.get("steps") or []
    options = record.get("options") or {}
    told = without_paths(str(record["reason"])) if record.get("reason") else None
    known = ("cache_control", "clock_control", "graph_trace", "graph_profiling")
    insert_rows(
        connection,
        "pass",
        [
            {
                "pass": name,
                **{key: record.get(key) for key in ("state", "exit_status", "started_utc", "duration_ns")},
                "reason": told,
                # The first step is the measurement; the others convert its report.
                "argv": json.dumps([argument_without_path(part) for part in steps[0]["argv"]])
                if steps
                else None,
                **{key: options.get(key) for key in known},
            }
        ],
    )
    tools = record.get("tools") or {}
    insert_rows(
        connection,
        "tool",
        ({"pass": name, "name": tool, "version": version} for tool, version in sorted(tools.items())),
    )
    if record.get("state") != "ok":
        note_doubts(connection, name, [("failed-pass", name, told or "No reason was recorded.")])


def _reports(run: RunFolder, name: str, protocol: Protocol) -> Iterator[list[tuple[Path, Reader]]]:
    """The reports of a pass that are there, each with its readers in order of preference.

    The driver's records come first: they tell how many invocations were made.
    """
    ncu = partial(ncu_csv.read, requested=protocol.metrics)
    ncu_report = partial(ncu_rep.read, requested=protocol.metrics)
    known: list[list[tuple[str, Reader]]] = [
        [(f"{name}.jsonl", driver_records.read)],
        [(f"{name}.sqlite", nsys.read)],
        [(f"{name}.csv", ncu), (f"{name}.ncu-rep", ncu_report)],
    ]
    for forms in known:
        if there := [
            (run.reports / file, reader) for file, reader in forms if os.path.lexists(run.reports / file)
        ]:
            yield there
    for log in sorted(run.reports.glob(f"{name}.*.log")):
        yield [(log, sanitizer_log.read)]


def _read(connection: Connection, name: str, readers: list[tuple[Path, Reader]]) -> None:
    """Read one report by the first reader that can."""
    for path, reader in readers:
        try:
            reader(connection, path, name)
        except BadReport as error:
            _note_unreadable(connection, name, path, f"{error.what} {error.way_out}")
        except OSError as error:
            _note_unreadable(connection, name, path, f"{path.name} cannot be read: {error.strerror}.")
        else:
            return


def _note_unreadable(connection: Connection, name: str, path: Path, reason: str) -> None:
    note_doubts(connection, name, [("unreadable-report", path.name, reason.strip())])


def _keep_first_version(connection: Connection) -> None:
    """A tool's version may be told by the suite, the driver and the report; the suite asked the tool itself."""
    connection.execute("DELETE FROM tool WHERE rowid NOT IN (SELECT min(rowid) FROM tool GROUP BY pass, name)")
