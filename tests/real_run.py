"""A run folder made of real reports (tests/data) and hand-written driver records, with private things in it.

What stands here as secret must never leave the folder: the tests of sharing look for each word of SECRETS.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from nsight_suite.protocol import load
from nsight_suite.runfolder import RunFolder, sha256, write_json
from nsight_suite.sources import find_experiment

DATA = Path(__file__).parent / "data"
PASSES = ("validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize")
REPORTS = {
    "nsys.sqlite": "nsys_node.sqlite",
    "ncu.csv": "ncu_kernel_raw.csv",
    "ncu-warm.csv": "ncu_graph_whole_raw.csv",
}
TOKEN = "hf_planted0123456789"
HOME = "/home/planted-user"
SECRETS = (TOKEN, HOME, "planted-host", "planted-user", "planted-call-stack")
SHAPE = {"nsys": "4096x1024"}
# What ncu was asked for when the reports in tests/data were made.
METRICS = (
    *("dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "gpu__time_duration.sum"),
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)
INVOCATIONS = {"nsys": 5, "ncu": 2, "ncu-warm": 2}


def make_real_run(folder: Path) -> RunFolder:
    """Write a complete run, as `capture` would leave it."""
    run = RunFolder(folder)
    source = find_experiment("row")
    run.protocol.parent.mkdir(parents=True)
    run.protocol.write_text(_asking_for(source.protocol.read_text(encoding="utf-8"), METRICS), encoding="utf-8")
    shutil.copyfile(source.expected, run.expected)
    protocol = load(run.protocol)
    run.reports.mkdir()
    for name, original in REPORTS.items():
        shutil.copyfile(DATA / original, run.reports / name)
    _plant_secrets(run)
    for name in PASSES:
        write_records(run.reports / f"{name}.jsonl", _records(name))
        _write_pass(run, name)
    write_json(
        run.run_json,
        {
            "format": 1,
            "run_id": "row-real",
            "experiment": "row",
            "created_utc": "2026-01-02T03:04:05+00:00",
            "suite_version": "0.1.0",
            "source": "capture",
            "quick": False,
            "state": "complete",
            "device": 0,
            "protocol_sha256": protocol.sha256,
            "argv": [f"{HOME}/venv/bin/nsight-suite", "capture", "row"],
            "passes": list(PASSES),
            "cases": [case.case_id for case in protocol.cases()],
        },
    )
    return run


def _asking_for(protocol: str, metrics: Sequence[str]) -> str:
    """The protocol's text with other metrics."""
    asked = re.compile(r"^\[metrics\]\nnames = \[.*?\]$", re.DOTALL | re.MULTILINE)
    text, found = asked.subn(f"[metrics]\nnames = {json.dumps(list(metrics))}", protocol)
    assert found == 1
    return text


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def refresh_artifacts(run: RunFolder) -> None:
    """Record the files as they are now, after a test has changed them on purpose."""
    for name in run.pass_records():
        _write_pass(run, name)


def _records(name: str) -> list[dict[str, Any]]:
    cases = [
        f"row:{variant}:{submission}:{SHAPE.get(name, '4096x4096')}"
        for variant in ("staged", "fused")
        for submission in ("stream", "graph")
    ]
    options = json.dumps([f"-I{HOME}/suite/kernels", "--fmad=false"])
    built = {"variant": "fused", "kernel": "row_fused", "architecture": "sm_90", "registers_per_thread": 20}
    return [
        {"table": "_progress", "done": 0, "total": 4, "what": cases[0]},
        {"table": "tool", "pass": name, "name": "cupy", "version": "14.2.0"},
        {"table": "device", "pass": name, "ordinal": 0, "uuid": "GPU-0001", "name": "NVIDIA H200"},
        {"table": "build", "pass": name, **built, "options": options},
        *(
            {"table": "driven", "pass": name, "case_id": case, "invocations": INVOCATIONS.get(name, 1)}
            for case in cases
        ),
        {"table": "_end", "state": "ok"},
    ]


def _write_pass(run: RunFolder, name: str) -> None:
    files = [
        *sorted(path for path in run.reports.glob(f"{name}.*")),
        *([run.logs / f"{name}.log"] if (run.logs / f"{name}.log").is_file() else []),
    ]
    argv = [f"{HOME}/bin/python", f"{HOME}/suite/driver.py", "--plan", "plan.json"]
    write_json(
        run.passes / f"{name}.json",
        {
            "pass": name,
            "state": "ok",
            "reason": None,
            "exit_status": 0,
            "started_utc": "2026-01-02T03:04:06+00:00",
            "duration_ns": 9_000_000_000,
            "steps": [{"argv": argv, "exit_status": 0, "duration_ns": 9_000_000_000, "timed_out": False}],
            "tools": {"python": "3.12.3"},
            "options": {
                "cache_control": {"ncu": "all", "ncu-warm": "none"}.get(name),
                "clock_control": "none" if name.startswith("ncu") else None,
                "graph_trace": "node" if name == "nsys" else None,
                "graph_profiling": {"ncu": "node", "ncu-warm": "graph"}.get(name),
            },
            "artifacts": [
                {
                    "path": path.relative_to(run.path).as_posix(),
                    "bytes": path.stat().st_size,
                    "sha256": sha256(path),
                    "private": path.suffix != ".jsonl",
                }
                for path in files
            ],
        },
    )


def _plant_secrets(run: RunFolder) -> None:
    """What a real capture holds beside its measurements: environment, host, user, paths, call stacks."""
    with closing(sqlite3.connect(run.reports / "nsys.sqlite")) as database:
        database.executemany(
            "INSERT INTO META_DATA_CAPTURE VALUES (?, ?)",
            [
                ("PROCESS_0:ENVIRONMENT_VARIABLE", f'HF_TOKEN="{TOKEN}"'),
                ("PROCESS_0:ARGUMENT_0", f"--password={TOKEN}"),
                ("PROCESS_0:WORKING_DIR", f"{HOME}/work"),
            ],
        )
        database.executemany(
            "INSERT INTO META_DATA_EXPORT VALUES (?, ?)",
            [("EXPORT_HOST", "planted-host"), ("EXPORT_USER", "planted-user")],
        )
        database.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
        database.execute(
            "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', ?)",
            (f"HF_TOKEN={TOKEN};PWD={HOME}",),
        )
        database.execute(
            "INSERT INTO StringIds VALUES (999999, ?)", (f"HF_TOKEN={TOKEN}" + chr(0) + f"HOME={HOME}",)
        )
        database.execute(
            "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid) "
            "SELECT min(start), 34, ?, min(globalTid) FROM NVTX_EVENTS",
            (f"a mark with {TOKEN}",),
        )
        database.commit()
    pages = [run.reports / "ncu.csv", run.reports / "ncu-warm.csv"]
    for page in pages:
        page.write_text(
            page.read_text().replace("127.0.0.1", "planted-host").replace("python3.12", f"{HOME}/python")
        )
    pages[0].write_text(f"==PROF== Connected to process 1 ({HOME}/python)\n" + pages[0].read_text())
    (run.reports / "nsys.nsys-rep").write_bytes(b"the whole report: " + TOKEN.encode())
    (run.reports / "sanitize.memcheck.log").write_text(
        f"========= COMPUTE-SANITIZER\n=========     Host Frame: planted-call-stack in {HOME}/driver.py\n"
        "========= ERROR SUMMARY: 0 errors\n"
    )
    run.logs.mkdir()
    (run.logs / "nsys.log").write_text(f"{TOKEN}\n")
