"""How fast reports are read and asked, beside `nsys stats` on the same files in the same run.

python benchmarks/ingest.py --data FOLDER [--sizes 100000 1000000] [--rounds 3] [--nsys PATH] [--fast PYTHON]
    [--json FILE]

Exports that FOLDER lacks are made there (benchmarks/exports.py). Every measurement is a process of its own; the
tools take turns inside each round, and medians are printed. Two times are told of ours: `command` is the whole
process with Python's start, as of nsys; `work` is what it spends from opening the file to the last row of the
answer. The summary of kernels is asked for twice: in SQL that tells what nsys' own report tells, and by its
name, which tells more, and for which a large run keeps what must be put in order.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Run from the checkout, installed or not; so are the processes that it starts.
_ROOT = Path(__file__).resolve().parents[1]
_PATHS = (str(Path(__file__).parent), str(_ROOT))
sys.path[:0] = _PATHS

# What nsys' own cuda_gpu_kern_sum tells, with the exact median.
SUMMARY = """
SELECT
    name, count(*) AS kernels, CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
    avg(end_ns - start_ns) AS mean_ns, quantile_cont(end_ns - start_ns, 0.5) AS p50_ns,
    min(end_ns - start_ns) AS min_ns, max(end_ns - start_ns) AS max_ns,
    stddev_samp(end_ns - start_ns) AS stddev_ns
FROM kernel GROUP BY name ORDER BY total_ns DESC, name
"""
# What nsys' own nvtx_gpu_proj_sum tells: all ranges with all that was launched inside them, by name.
PROJECTION = """
SELECT
    domain, name, style, count(*) AS ranges,
    CAST(sum(projected_end_ns - projected_start_ns) AS BIGINT) AS total_ns,
    CAST(sum(end_ns - start_ns) AS BIGINT) AS host_ns, avg(projected_end_ns - projected_start_ns) AS mean_ns,
    quantile_cont(projected_end_ns - projected_start_ns, 0.5) AS p50_ns,
    CAST(sum(launches) AS BIGINT) AS launches
FROM "range" WHERE launches > 0 GROUP BY ALL ORDER BY total_ns DESC, name, domain, style
"""
BY_PATH = """
SELECT p.path, k.* FROM (
    SELECT pass, path_id, name, count(*) AS kernels, CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
        quantile_cont(end_ns - start_ns, 0.5) AS p50_ns
    FROM kernel GROUP BY ALL
) AS k LEFT JOIN path AS p ON p.pass = k.pass AND p.path_id = k.path_id ORDER BY k.total_ns DESC, p.path, k.name
"""


@dataclass(frozen=True)
class Cost:
    """Of one process: whole time and, where it tells, the work alone, in seconds; its largest memory in MB."""

    command_s: float
    work_s: float | None
    memory_mb: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of exports; missing ones are made there"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="kernels per export")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nsys", default=shutil.which("nsys"), help="default: the one on PATH")
    parser.add_argument(
        "--fast", help="the Python of an environment with the extra [fast]; default: not measured"
    )
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--asked", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.asked:
        return _ask(*arguments.asked)
    from exports import write_export  # beside this file

    if not arguments.nsys:
        print("nsys is not installed: its times are missing below.")
    arguments.data.mkdir(parents=True, exist_ok=True)
    figures = {}
    for size in arguments.sizes:
        export = arguments.data / f"k{size}.sqlite"
        if not export.exists():
            print(f"making {export.name}", flush=True)
            write_export(export, size)
        figures[size] = _measured(export, arguments.rounds, arguments.nsys, arguments.fast)
        _show(size, figures[size])
    _show_growth(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def _measured(
    export: Path, rounds: int, nsys: str | None, fast: str | None
) -> dict[str, dict[str, float | None]]:
    found: dict[str, list[Cost]] = {}
    if fast:  # the compiled loops onto the disk: that is no tool's work
        _process(_asked(export, PROJECTION, fast))
    with tempfile.TemporaryDirectory(prefix="ingest-benchmark-") as scratch:
        run = Path(scratch) / "run"
        for _ in range(rounds):
            for name, task in _tasks(export, run, nsys, fast).items():
                _into_cache(export)
                found.setdefault(name, []).append(task())
    return {
        name: {
            "command_s": statistics.median(cost.command_s for cost in costs),
            "work_s": _median([cost.work_s for cost in costs if cost.work_s is not None]),
            "memory_mb": max(cost.memory_mb for cost in costs),
        }
        for name, costs in found.items()
    }


def _into_cache(export: Path) -> None:
    """The file into the page cache, which a tool before may have taken for itself."""
    with export.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def _asked(where: Path, sql: str, python: str = sys.executable) -> list[str]:
    return [python, __file__, "--data", ".", "--asked", str(where), sql]


def _tasks(export: Path, run: Path, nsys: str | None, fast: str | None) -> Mapping[str, Callable[[], Cost]]:
    def ask(where: Path, sql: str, python: str = sys.executable) -> Callable[[], Cost]:
        return lambda: _process(_asked(where, sql, python))

    def stats(report: str) -> Callable[[], Cost]:
        command = [str(nsys), "stats", "-q", "-r", report, "-f", "csv", "-o", "-", str(export)]
        return lambda: _process(command)

    def ingest() -> Cost:
        shutil.rmtree(run, ignore_errors=True)
        command = [sys.executable, "-m", "nsight_suite.ingest", str(export), "--out", str(run), "--quiet"]
        return _process(command)

    tasks: dict[str, Callable[[], Cost]] = {}
    if nsys:
        tasks["nsys stats cuda_gpu_kern_sum"] = stats("cuda_gpu_kern_sum")
        tasks["nsys stats nvtx_gpu_proj_sum"] = stats("nvtx_gpu_proj_sum")
    if fast:
        tasks["projection, cold, [fast]"] = ask(export, PROJECTION, fast)
    named = (_ROOT / "queries" / "common" / "kernel_summary.sql").read_text(encoding="utf-8")
    return tasks | {
        "kernel summary, cold": ask(export, SUMMARY),
        "kernel summary (named), cold": ask(export, named),
        "projection, cold": ask(export, PROJECTION),
        "ingest": ingest,
        "kernel summary, cached": ask(run, SUMMARY),
        "kernel summary (named), cached": ask(run, named),
        "projection, cached": ask(run, PROJECTION),
        "range path x kernel, cached": ask(run, BY_PATH),
    }


def _process(command: Sequence[str]) -> Cost:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_PATHS)}
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        elapsed = time.perf_counter() - started
        output.seek(0)
        told = output.read().decode("utf-8", "replace")
    if process.returncode:
        raise SystemExit(f"exit status {process.returncode}: {' '.join(command[:6])}\n{told[-2000:]}")
    work = json.loads(told)["work_s"] if "--asked" in command else None
    return Cost(elapsed, work, usage.ru_maxrss / 1024)


def _ask(where: str, sql: str) -> int:
    """In a process of its own: ask a report or a run once, and tell how long that took without Python's
    start."""
    import duckdb  # noqa: F401
    import numpy  # noqa: F401

    from nsight_suite.evidence.direct import open_report
    from nsight_suite.ingesting.single import report_at
    from nsight_suite.querying import open_evidence, run_sql
    from nsight_suite.runfolder import RunFolder

    started = time.perf_counter()
    report = report_at(Path(where))
    store = open_report(report, sql) if report else open_evidence(RunFolder(Path(where)), sql=sql)
    rows = len(run_sql(store, sql).rows)
    work = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"work_s": work, "rows": rows, "memory_mb": memory}))
    return 0


def _show(size: int, found: Mapping[str, Mapping[str, float | None]]) -> None:
    print(f"\n{size:,} kernels")
    print(f"{'':34}{'command':>10}{'work':>10}{'memory':>10}{'times faster than nsys':>26}")
    for name, cost in found.items():
        peer = _peer(name)
        faster = ""
        if peer in found:
            by = [_ratio(found[peer]["command_s"], cost[kind]) for kind in ("command_s", "work_s")]
            faster = " / ".join("-" if value is None else f"{value:.1f}" for value in by)
        work = "" if cost["work_s"] is None else f"{cost['work_s']:.3f} s"
        print(
            f"{name:34}{cost['command_s']:8.2f} s{work:>10}{cost['memory_mb']:7.0f} MB{faster:>26}", flush=True
        )


def _peer(name: str) -> str:
    if name.startswith("kernel summary"):
        return "nsys stats cuda_gpu_kern_sum"
    return "nsys stats nvtx_gpu_proj_sum" if name.startswith("projection") else ""


def _show_growth(figures: Mapping[int, Mapping[str, Mapping[str, float | None]]]) -> None:
    sizes = sorted(figures)
    for smaller, larger in itertools.pairwise(sizes):
        print(f"\nfrom {smaller:,} to {larger:,} kernels, times longer (work where told, else command):")
        for name, cost in figures[larger].items():
            before = figures[smaller].get(name, {})
            kind = "work_s" if cost["work_s"] is not None else "command_s"
            growth = _ratio(cost[kind], before.get(kind))
            print(f"{name:34}{'-' if growth is None else f'{growth:.1f}':>8}")


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


if __name__ == "__main__":
    sys.exit(main())
