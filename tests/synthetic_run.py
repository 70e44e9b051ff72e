"""A small, complete and self-consistent run folder, made without a GPU.

`make_run(folder)` writes one run of `row` at three shapes with every pass. All numbers follow from the few
constants and formulas below, so a test can work out by hand what a query must say. They are of the size that a
real H200 shows. `make_run(folder, edit=fault)` hands the rows of every table to `fault` before writing:

    def fault(tables):
        tables["kernel"] = [row for row in tables["kernel"] if row["kernel_id"] != 7]
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nsight_suite import __version__, protocol
from nsight_suite.evidence import store
from nsight_suite.evidence.tables import tables as declared_tables
from nsight_suite.runfolder import RunFolder, sha256, write_json
from nsight_suite.sources import find_experiment

Rows = dict[str, list[dict[str, Any]]]

SHAPES = ("32x1024", "4096x4096", "7x781")
PASSES = ("validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize")
NSYS_INVOCATIONS = 5
NCU_INVOCATIONS = {"ncu": 2, "ncu-warm": 3}
ROUNDS = 21
GRAPH_SETUPS = 5
UUID = "GPU-5e0f0000-1111-2222-3333-444455556666"
STAGES = ("row_max", "row_exp", "row_sum", "row_divide")
CUDNN_KERNEL = "void softmax_fw_kernel<2, float, float, float, 256, 1, 0, 0, 4, 0>(cudnn::SoftmaxParams)"
KERNELS = {"staged": STAGES, "fused": ("row_softmax",), "cudnn": (CUDNN_KERNEL,)}

# Duration of each kernel in ns.
SMALL_KERNEL_NS = 2_000
LARGE_KERNEL_NS = {
    "row_max": 33_000,
    "row_exp": 43_000,
    "row_sum": 33_000,
    "row_divide": 43_000,
    "row_softmax": 70_000,
    CUDNN_KERNEL: 40_000,
}
REGISTERS = {"row_max": 16, "row_exp": 16, "row_sum": 16, "row_divide": 20, "row_softmax": 40, CUDNN_KERNEL: 32}

# An invocation on the host, in ns: enter, launch calls, device, return of the synchronisation, exit.
ENTRY_NS = 1_000
LAUNCH_NS = {"timing": 2_000, "nsys": 4_000}
BETWEEN_CALLS_NS = 500
QUEUE_NS = 1_500
STREAM_GAP_NS = 1_000
NODE_GAP_NS = 100
RETURN_NS = 3_000
EXIT_NS = 1_000
# The driver's clock starts after the range has opened and stops before it closes.
OUTSIDE_CLOCK_NS = 800
COPY_BYTES = 2 * 2**30
COPY_NS = 500_000


def make_run(folder: Path, *, edit: Callable[[Rows], None] | None = None) -> RunFolder:
    """Write the run into `folder` (made if need be) and return it; `edit` may change any row before."""
    run = RunFolder(folder)
    source = find_experiment("row")
    for path, target in ((source.protocol, run.protocol), (source.expected, run.expected)):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    cases = [case for case in protocol.load(run.protocol).cases() if case.shape.name in SHAPES]
    _write_reports(run)
    rows: Rows = {name: [] for name in declared_tables()}
    _run_rows(rows, run, cases)
    for name in PASSES:
        _pass_rows(rows, run, name, cases)
    _timing_rows(rows, [case for case in cases if case.shape.timed])
    _nsys_rows(rows, cases)
    for name in ("ncu", "ncu-warm"):
        _counter_rows(rows, name, cases)
    if edit is not None:
        edit(rows)
    connection = store.empty_store()
    for table, values in rows.items():
        store.insert_rows(connection, table, values)
    store.write_parquet(connection, run.evidence)
    connection.close()
    return run


def array_bytes(case: protocol.Case) -> int:
    return 4 * case.shape.parameters["rows"] * case.shape.parameters["columns"]


def kernel_ns(case: protocol.Case, kernel: str) -> int:
    return LARGE_KERNEL_NS[kernel] if case.shape.name == "4096x4096" else SMALL_KERNEL_NS


def timeline(case: protocol.Case, pass_name: str) -> dict[str, Any]:
    """One invocation from 0: calls [(start, end)], kernels [(name, start, end)], sync (start, end), end."""
    names = KERNELS[case.variant]
    launch_ns = LAUNCH_NS[pass_name]
    calls = 1 if case.submission == "graph" else len(names)
    starts = [ENTRY_NS + index * (launch_ns + BETWEEN_CALLS_NS) for index in range(calls)]
    gap = NODE_GAP_NS if case.submission == "graph" else STREAM_GAP_NS
    kernels: list[tuple[str, int, int]] = []
    for index, name in enumerate(names):
        ready = starts[min(index, calls - 1)] + launch_ns + QUEUE_NS
        start = ready if not kernels else max(ready if calls > 1 else 0, kernels[-1][2] + gap)
        kernels.append((name, start, start + kernel_ns(case, name)))
    sync = (starts[-1] + launch_ns + BETWEEN_CALLS_NS, kernels[-1][2] + RETURN_NS)
    return {
        "calls": [(start, start + launch_ns) for start in starts],
        "kernels": kernels,
        "sync": sync,
        "end": sync[1] + EXIT_NS,
    }


def completion_ns(case: protocol.Case, pass_name: str, repeat: int = 10) -> int:
    """What the driver's clock shows; over the 21 rounds the repeats are 0 to 20, so 10 gives the median."""
    return int(timeline(case, pass_name)["end"]) - OUTSIDE_CLOCK_NS + 10 * repeat


def traffic(case: protocol.Case, kernel: str) -> tuple[int, int]:
    """Bytes that a kernel must read and write."""
    size, row = array_bytes(case), 4 * case.shape.parameters["rows"]
    stages = {
        "row_max": (size, row),
        "row_exp": (size + row, size),
        "row_sum": (size, row),
        "row_divide": (size + row, size),
    }
    return stages.get(kernel, (size, size))


def dram(case: protocol.Case, kernel: str, pass_name: str) -> tuple[int, int]:
    """DRAM bytes (read, written) as ncu would show them: flushed writes stay in part in the cache."""
    read, write = traffic(case, kernel)
    large = case.shape.name == "4096x4096"
    if pass_name == "ncu":
        return read + 4096, (write // 3 * 2 if write > 2**20 else 0)
    return (read + 4096, write) if large else (0, 0)


def _write_reports(run: RunFolder) -> None:
    """Stand-ins for the reports: what matters here is that their size and hash are those in `artifact`."""
    run.reports.mkdir(parents=True, exist_ok=True)
    for name in PASSES:
        (run.reports / f"{name}.jsonl").write_text('{"table": "_end", "state": "ok"}\n')
    for name in ("ncu.csv", "ncu-warm.csv"):
        (run.reports / name).write_text('"ID","Kernel Name"\n"",""\n"0","row_max"\n"1","row_exp"\n')
    (run.reports / "nsys.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4080))


def _run_rows(rows: Rows, run: RunFolder, cases: list[protocol.Case]) -> None:
    head = {
        "run_id": "row-synthetic",
        "experiment": "row",
        "created_utc": "2026-01-02T03:04:05Z",
        "suite_version": __version__,
        "protocol_sha256": sha256(run.protocol),
        "source": "capture",
        "quick": False,
    }
    rows["run"].append({**head, "complete": True})
    write_json(
        run.run_json,
        {
            "format": 1,
            **head,
            "state": "complete",
            "device": 0,
            "argv": ["capture", "row"],
            "passes": list(PASSES),
            "cases": [case.case_id for case in cases],
        },
    )
    rows["variant_case"] += [
        {
            "case_id": case.case_id,
            "experiment": "row",
            "variant": case.variant,
            "submission": case.submission,
            "shape": case.shape.name,
            "case_order": position,
            "parameters": json.dumps(dict(case.shape.parameters)),
            "timed": case.shape.timed,
        }
        for position, case in enumerate(cases)
    ]
    rows["artifact"] += [
        {
            "path": f"reports/{path.name}",
            "role": "records" if path.suffix == ".jsonl" else "report",
            "bytes": path.stat().st_size,
            "sha256": sha256(path),
            "private": False,
        }
        for path in sorted(run.reports.iterdir())
    ]


def _pass_rows(rows: Rows, run: RunFolder, name: str, cases: list[protocol.Case]) -> None:
    """What every pass records: itself, its tools, the device, the checks and what it drove."""
    options = {
        "cache_control": {"ncu": "all", "ncu-warm": "none"}.get(name),
        "clock_control": "none" if name.startswith("ncu") else None,
        "graph_trace": "node" if name == "nsys" else None,
        "graph_profiling": {"ncu": "node", "ncu-warm": "graph"}.get(name),
    }
    tools = {"python": "3.12.3", "cupy": "14.2.0", "nvtx": "0.2.11"}
    tools |= {"nsys": "2023.4.4"} if name == "nsys" else {"ncu": "2025.3.1"} if name.startswith("ncu") else {}
    argv = ["python", "driver.py", "--plan", "plan.json", "--records", "records.jsonl"]
    files = [path for path in sorted(run.reports.iterdir()) if path.stem == name]
    begun = {"started_utc": "2026-01-02T03:04:06Z", "duration_ns": 9_000_000_000}
    write_json(
        run.passes / f"{name}.json",
        {
            "pass": name,
            "state": "ok",
            "reason": None,
            "exit_status": 0,
            **begun,
            "steps": [{"argv": argv, "exit_status": 0, "duration_ns": 9_000_000_000, "timed_out": False}],
            "tools": tools,
            "options": options,
            "artifacts": [
                {
                    "path": f"reports/{path.name}",
                    "bytes": path.stat().st_size,
                    "sha256": sha256(path),
                    "private": False,
                }
                for path in files
            ],
        },
    )
    rows["pass"].append(
        {"pass": name, "state": "ok", "exit_status": 0, **begun, "argv": json.dumps(argv), **options}
    )
    rows["tool"] += [{"pass": name, "name": tool, "version": version} for tool, version in tools.items()]
    formats = {".jsonl": "driver-records", ".csv": "ncu-csv", ".sqlite": "nsys-sqlite"}
    rows["report"] += [
        {
            "pass": name,
            "file": path.name,
            "format": formats[path.suffix],
            "tool_version": tools.get("nsys") if path.suffix == ".sqlite" else tools.get("ncu"),
            "schema_version": "3.7.2" if path.suffix == ".sqlite" else None,
            "graph_trace": "node" if path.suffix == ".sqlite" else None,
            "rows": 1,
            "complete": True,
            "sha256": sha256(path),
        }
        for path in files
    ]
    rows["device"].append(
        {
            "pass": name,
            "ordinal": 0,
            "uuid": UUID,
            "name": "NVIDIA H200",
            "compute_capability": "9.0",
            "multiprocessors": 132,
            "l2_bytes": 62_914_560,
            "memory_bytes": 150_109_880_320,
            "driver_version": "580.159.03",
            "cuda_driver_version": 13_000,
        }
    )
    rows["device_state"] += [
        {
            "pass": name,
            "moment": moment,
            "sm_clock_mhz": 1_980,
            "memory_clock_mhz": 3_201,
            "power_mw": 120_000 if moment == "before" else 310_000,
            "temperature_c": 33 if moment == "before" else 41,
            "throttle_reasons": "none",
            "ecc": "on",
        }
        for moment in ("before", "after")
    ]
    rows["build"] += [
        {
            "pass": name,
            "variant": variant,
            "kernel": kernel,
            "architecture": "sm_90",
            "registers_per_thread": REGISTERS[kernel],
            "static_shared_bytes": 1_024,
            "local_bytes_per_thread": 0,
            "source_sha256": _digest(variant),
            "cubin_sha256": _digest(variant + "cubin"),
            "options": json.dumps(["--fmad=false", "-std=c++17"]),
        }
        for variant in ("staged", "fused")
        for kernel in KERNELS[variant]
    ]
    if name == "sanitize":
        cases = [case for case in cases if case.shape.name != "4096x4096"]
        rows["sanitizer"] += [
            {"pass": name, "tool": tool, "errors": 0, "summary": "ERROR SUMMARY: 0 errors"}
            for tool in ("memcheck", "synccheck")
        ]
    if name == "timing":
        cases = [case for case in cases if case.shape.timed]
    invocations = {"timing": ROUNDS, "nsys": NSYS_INVOCATIONS, **NCU_INVOCATIONS}
    everywhere = name in ("validate", "sanitize")
    fixtures = ["normal", "wide", "ties", "shifted"] if everywhere else ["normal"]
    fixtures += ["shifted"] if name == "timing" else []
    for case in cases:
        rows["driven"].append(
            {
                "pass": name,
                "case_id": case.case_id,
                "invocations": invocations.get(name, 1),
                # Stream and graph give the same bits, and so does every pass.
                "output_sha256": _digest(case.variant + case.shape.name),
            }
        )
        rows["validation"] += [
            {
                "pass": name,
                "case_id": case.case_id,
                "fixture": fixture,
                "held_out": fixture == "shifted",
                "check": check,
                "worst": worst,
                "limit": limit,
                "passed": True,
                "elements": array_bytes(case) // 4,
            }
            for fixture in fixtures
            for check, worst, limit in _checks(case)
        ]
        if case.submission == "graph":
            rows["graph_node"] += [
                {"pass": name, "case_id": case.case_id, "ordinal": ordinal, "kind": "kernel", "name": kernel}
                for ordinal, kernel in enumerate(KERNELS[case.variant])
            ]


def _checks(case: protocol.Case) -> Iterator[tuple[str, float, float]]:
    yield from (("finite", 0.0, 0.0), ("nonnegative", 0.0, 0.0), ("error", 0.25, 1.0), ("row_sum", 1e-6, 2e-5))
    if case.submission == "graph":
        yield ("same_as_stream", 0.0, 0.0)


def _timing_rows(rows: Rows, cases: list[protocol.Case]) -> None:
    def sample(quantity: str, case_id: str | None, duration_ns: int, **more: object) -> None:
        row = {
            "pass": "timing",
            "case_id": case_id,
            "quantity": quantity,
            "invocations": 1,
            "round": 0,
            "position": 0,
        }
        rows["sample"].append({**row, "duration_ns": duration_ns, **more})

    for shape in dict.fromkeys(case.shape.name for case in cases):
        of_shape = [case for case in cases if case.shape.name == shape]
        for turn in range(ROUNDS):
            for index, case in enumerate(of_shape):
                value = completion_ns(case, "timing", turn * 8 % ROUNDS)
                sample("completion", case.case_id, value, round=turn, position=(index + turn) % len(of_shape))
    for case in cases:
        line, count = timeline(case, "timing"), case.shape.batch
        busy = sum(end - start for _, start, end in line["kernels"])
        calls = sum(end - start + BETWEEN_CALLS_NS for start, end in line["calls"])
        for turn in range(ROUNDS):
            for quantity, each in (
                ("batch_enqueue", calls),
                ("batch_completion", max(calls, busy) + 100),
                ("batch_event_interval", max(calls, busy)),
            ):
                sample(quantity, case.case_id, each * count, round=turn, invocations=count)
            sample("empty_sync", case.case_id, 700 + 10 * (turn % 5), round=turn)
        if case.submission == "graph":
            for repeat in range(GRAPH_SETUPS):
                sample("first_replay", case.case_id, completion_ns(case, "timing") + 20_000, round=repeat)
            rows["graph_setup"] += [
                {
                    "pass": "timing",
                    "case_id": case.case_id,
                    "step": step,
                    "repeat": repeat,
                    "duration_ns": base + 100 * repeat,
                }
                for step, base in (("capture", 60_000), ("instantiate", 40_000), ("upload", 9_000))
                for repeat in range(GRAPH_SETUPS)
            ]
    for turn in range(ROUNDS):
        sample("device_copy", None, COPY_NS + 1_000 * (turn % 5), round=turn, bytes=COPY_BYTES)


def _nsys_rows(rows: Rows, cases: list[protocol.Case]) -> None:
    """Invocations one after the other, after a `setup` range; one kernel and one copy outside every range."""
    common = {"pass": "nsys", "process": 0, "thread": 0}
    clock = 1_000_000
    setup = {"range_id": 1, "domain": "nsight_suite", "name": "setup", "payload": None, "style": "push_pop"}
    rows["range"].append({**common, **setup, "start_ns": clock, "end_ns": clock + 400_000})
    for index, (name, captured) in enumerate((("row_max", False), ("row_max", True), ("row_softmax", False))):
        start = clock + 10_000 * index
        _launch(rows, (start, start + 4_000), 1, "cuLaunchKernel", captured=captured)
        if not captured:
            _kernel(rows, name, (start + 5_000, start + 7_000), 1)
    clock += 500_000
    _launch(rows, (clock, clock + 4_000), None, "cuLaunchKernel")
    _kernel(rows, "cupy_fill", (clock + 5_000, clock + 7_000), None)
    rows["memory_operation"].append(
        {"pass": "nsys", "process": 0, "kind": "memcpy", "bytes": 4_096, "stream": 7}
        | {"start_ns": clock + 8_000, "end_ns": clock + 9_000}
    )
    for ordinal in range(NSYS_INVOCATIONS):
        for position, case in enumerate(cases):
            clock += 100_000
            line = timeline(case, "nsys")
            range_id = len(rows["range"]) + 1
            rows["range"].append(
                {**common, "range_id": range_id, "domain": "nsight_suite", "name": case.case_id}
                | {"payload": ordinal, "style": "push_pop", "start_ns": clock, "end_ns": clock + line["end"]}
            )
            graph = case.submission == "graph"
            for start, end in line["calls"]:
                name = "cuGraphLaunch" if graph else "cuLaunchKernel"
                _launch(rows, (clock + start, clock + end), range_id, name)
            first = len(rows["launch"]) - len(line["calls"]) + 1
            for index, (kernel, start, end) in enumerate(line["kernels"]):
                node = ((position + 1) << 33) + index if graph else None
                launch_id = first if graph else first + index
                span = (clock + start, clock + end)
                _kernel(rows, kernel, span, range_id, node=node, launch_id=launch_id)
            start, end = line["sync"]
            correlation = len(rows["launch"]) + 100_000 + len(rows["sync"])
            rows["sync"].append(
                {**common, "range_id": range_id, "name": "cuStreamSynchronize", "correlation_id": correlation}
                | {"start_ns": clock + start, "end_ns": clock + end}
            )
            clock += line["end"]
            if case.shape.timed:
                rows["sample"].append(
                    {"pass": "nsys", "case_id": case.case_id, "quantity": "completion", "round": ordinal}
                    | {"position": position, "invocations": 1, "duration_ns": line["end"] - OUTSIDE_CLOCK_NS}
                )


def _launch(
    rows: Rows, span: tuple[int, int], range_id: int | None, name: str, *, captured: bool = False
) -> None:
    launch_id = len(rows["launch"]) + 1
    rows["launch"].append(
        {"pass": "nsys", "launch_id": launch_id, "process": 0, "thread": 0, "range_id": range_id, "name": name}
        | {"kind": "graph" if "Graph" in name else "kernel", "correlation_id": 1_000 + launch_id}
        | {"captured": captured, "start_ns": span[0], "end_ns": span[1]}
    )


def _kernel(
    rows: Rows,
    name: str,
    span: tuple[int, int],
    range_id: int | None,
    *,
    node: int | None = None,
    launch_id: int | None = None,
) -> None:
    kernel_id = len(rows["kernel"]) + 1
    launch_id = launch_id or len(rows["launch"])
    rows["kernel"].append(
        {"pass": "nsys", "kernel_id": kernel_id, "process": 0, "launch_id": launch_id, "range_id": range_id}
        | {"name": name, "device": 0, "context": 1, "stream": 13, "correlation_id": 1_000 + launch_id}
        | {"graph_node_id": node, "start_ns": span[0], "end_ns": span[1]}
        | {"registers_per_thread": REGISTERS.get(name, 16), "static_shared_bytes": 1_024}
        | {"dynamic_shared_bytes": 0, "local_bytes_per_thread": 0}
        | {"grid_x": 32, "grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1}
    )


def _counter_rows(rows: Rows, pass_name: str, cases: list[protocol.Case]) -> None:
    workload_id = 0
    for ordinal in range(NCU_INVOCATIONS[pass_name]):
        for case in cases:
            kernels = KERNELS[case.variant]
            whole = pass_name == "ncu-warm" and case.submission == "graph"
            for position, workload in enumerate((kernels,) if whole else [(kernel,) for kernel in kernels]):
                pairs = [dram(case, kernel, pass_name) for kernel in workload]
                read, write = (sum(values) for values in zip(*pairs, strict=True))
                metrics = {
                    "dram__bytes_read.sum": (read, "byte"),
                    "dram__bytes_write.sum": (write, "byte"),
                    "lts__t_bytes.sum": (
                        3 * sum(sum(traffic(case, kernel)) for kernel in workload) // 2,
                        "byte",
                    ),
                    "gpu__time_duration.sum": (sum(kernel_ns(case, k) for k in workload) + 500, "ns"),
                    "launch__registers_per_thread": (max(REGISTERS[k] for k in workload), "register/thread"),
                    "profiler__replayer_passes": (1, "pass"),
                }
                if not whole:
                    metrics |= {
                        "launch__occupancy_limit_blocks": (32, "block"),
                        "launch__occupancy_limit_registers": (16, "block"),
                        "launch__occupancy_limit_shared_mem": (16, "block"),
                        "launch__occupancy_limit_warps": (8, "block"),
                        "launch__shared_mem_per_block_static": (1_024, "byte/block"),
                        "launch__shared_mem_per_block_dynamic": (0, "byte/block"),
                    }
                rows["counter"] += [
                    {"pass": pass_name, "workload_id": workload_id, "workload": "graph" if whole else "kernel"}
                    | {"name": "graph" if whole else workload[0], "range_name": case.case_id}
                    | {"invocation": ordinal, "ordinal": position, "metric": metric, "value": float(value)}
                    | {"unit": unit, "original": str(value), "original_unit": unit}
                    for metric, (value, unit) in metrics.items()
                ]
                workload_id += 1


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
