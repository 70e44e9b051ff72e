"""A small, complete and self-consistent run folder, made without a GPU.

`make_run(folder)` writes one run of `row`, three variants at three shapes, with every pass. All numbers follow
from the few constants and formulas below, so a test can work out by hand what a query must say. They are of the
size that a real H200 shows. `make_run(folder, edit=fault)` hands the rows of every table to `fault` before
writing:

    def fault(tables):
        tables["kernel"] = [row for row in tables["kernel"] if row["kernel_id"] != 7]

`make_run(folder, whole=True)` has every pass that a protocol can ask for: a pilot, a second session on another
GPU, a trace; and each invocation of `staged` begins with a memset.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nsight_suite import __version__, protocol
from nsight_suite.evidence import store
from nsight_suite.evidence.tables import tables as declared_tables
from nsight_suite.protocol import SESSIONS
from nsight_suite.runfolder import RunFolder, sha256, write_json
from nsight_suite.sources import find_experiment

Rows = dict[str, list[dict[str, Any]]]

SHAPES = ("32x1024", "4096x4096", "7x781")
PASSES = ("validate", "timing", "nsys", "ncu", "ncu-warm", "sanitize")
ALL_PASSES = ("validate", "pilot", "timing", "timing-2", "trace", *PASSES[2:])
NSYS_INVOCATIONS = 5
NCU_INVOCATIONS = {"ncu": 2, "ncu-warm": 3}
ROUNDS = 21
GRAPH_SETUPS = 5
UUID = "GPU-5e0f0000-1111-2222-3333-444455556666"
SECOND_UUID = "GPU-5e0f0000-1111-2222-3333-777788889999"
PILOT = {"softmax": ("fused", "cudnn")}
PILOT_ROUNDS = 7
TRACED_SHAPE = "32x1024"
TRACE_INVOCATIONS = 2
MEMSET_NS = 1_000
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


def make_run(folder: Path, *, edit: Callable[[Rows], None] | None = None, whole: bool = False) -> RunFolder:
    """Write the run into `folder` (made if need be) and return it; `edit` may change any row before."""
    run = RunFolder(folder)
    _declare(run, whole)
    passes = ALL_PASSES if whole else PASSES
    every = protocol.load(run.protocol).cases()
    cases = [case for case in every if case.shape.name in SHAPES and case.variant in KERNELS]
    _write_reports(run, passes)
    rows: Rows = {name: [] for name in declared_tables()}
    _run_rows(rows, run, cases, passes)
    for name in passes:
        _pass_rows(rows, run, name, cases, whole)
    for name in SESSIONS if whole else SESSIONS[:1]:
        _timing_rows(rows, [case for case in cases if case.shape.timed], name, whole)
    if whole:
        _pilot_rows(rows, cases)
        _trace_rows(rows, cases)
    _nsys_rows(rows, cases, whole)
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


def _declare(run: RunFolder, whole: bool) -> None:
    """Protocol and expectations of `row`; of a whole run with what `row` itself does not have."""
    source = find_experiment("row")
    run.protocol.parent.mkdir(parents=True, exist_ok=True)
    if not whole:
        shutil.copyfile(source.protocol, run.protocol)
        shutil.copyfile(source.expected, run.expected)
        return
    text = source.protocol.read_text(encoding="utf-8")
    passes, more = f"passes = {json.dumps(list(PASSES))}", f"passes = {json.dumps(list(ALL_PASSES))}"
    assert text.count(passes) == 1
    groups = "".join(f"{name} = {json.dumps(list(variants))}\n" for name, variants in PILOT.items())
    run.protocol.write_text(
        f"{text.replace(passes, more)}\n[pilot]\n{groups}\n[passes.pilot]\ninvocations = {PILOT_ROUNDS}\n"
        f'\n[passes.trace]\ninvocations = {TRACE_INVOCATIONS}\nshapes = ["{TRACED_SHAPE}"]\n'
        'submissions = ["graph"]\n',
        encoding="utf-8",
    )
    expected = source.expected.read_text(encoding="utf-8").strip().rstrip(";")
    run.expected.write_text(
        "SELECT *, CASE WHEN case_id LIKE '%:staged:%' THEN 1 ELSE 0 END AS memset_nodes\n"
        f"FROM (\n{expected}\n)\n",
        encoding="utf-8",
    )


def work_of(case: protocol.Case, whole: bool) -> tuple[str, ...]:
    """What an invocation runs on the device, in order."""
    memset = ("memset",) if whole and case.variant == "staged" else ()
    return (*memset, *KERNELS[case.variant])


def array_bytes(case: protocol.Case) -> int:
    return 4 * case.shape.parameters["rows"] * case.shape.parameters["columns"]


def kernel_ns(case: protocol.Case, kernel: str) -> int:
    if kernel == "memset":
        return MEMSET_NS
    return LARGE_KERNEL_NS[kernel] if case.shape.name == "4096x4096" else SMALL_KERNEL_NS


def timeline(case: protocol.Case, pass_name: str, whole: bool = False) -> dict[str, Any]:
    """One invocation from 0: calls [(start, end)], kernels [(name, start, end)], sync (start, end), end."""
    names = work_of(case, whole)
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


def completion_ns(case: protocol.Case, pass_name: str, repeat: int = 10, whole: bool = False) -> int:
    """What the driver's clock shows; over the 21 rounds the repeats are 0 to 20, so 10 gives the median."""
    return int(timeline(case, pass_name, whole)["end"]) - OUTSIDE_CLOCK_NS + 10 * repeat


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


def _write_reports(run: RunFolder, passes: Sequence[str]) -> None:
    """Stand-ins for the reports: what matters here is that their size and hash are those in `artifact`."""
    run.reports.mkdir(parents=True, exist_ok=True)
    for name in passes:
        (run.reports / f"{name}.jsonl").write_text('{"table": "_end", "state": "ok"}\n')
    for name in ("ncu.csv", "ncu-warm.csv"):
        (run.reports / name).write_text('"ID","Kernel Name"\n"",""\n"0","row_max"\n"1","row_exp"\n')
    (run.reports / "nsys.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4080))


def _run_rows(rows: Rows, run: RunFolder, cases: list[protocol.Case], passes: Sequence[str]) -> None:
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
            "passes": list(passes),
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


def _pass_rows(rows: Rows, run: RunFolder, name: str, cases: list[protocol.Case], whole: bool) -> None:
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
            "uuid": SECOND_UUID if name == SESSIONS[1] else UUID,
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
            "cubin_sha256": _cubin(variant, name),
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
    if name in (*SESSIONS, "pilot"):
        cases = [case for case in cases if case.shape.timed]
    if name == "pilot":
        cases = [case for case in cases if case.variant in PILOT["softmax"]]
    if name == "trace":
        cases = _traced(cases)
    invocations = {**dict.fromkeys(SESSIONS, ROUNDS), "nsys": NSYS_INVOCATIONS, **NCU_INVOCATIONS}
    invocations |= {"pilot": PILOT_ROUNDS, "trace": TRACE_INVOCATIONS}
    everywhere = name in ("validate", "sanitize")
    fixtures = ["normal", "wide", "ties", "shifted"] if everywhere else ["normal"]
    fixtures += ["shifted"] if name in SESSIONS else []
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
                "array": "y",
                "check": check,
                "worst": worst,
                "limit": limit,
                "passed": True,
                "elements": array_bytes(case) // 4,
            }
            for fixture in fixtures
            for check, worst, limit in _checks(case)
        ]
        rows["planned_launch"] += [
            {"pass": name, "case_id": case.case_id, "ordinal": ordinal, **_planned(case, work, name)}
            for ordinal, work in enumerate(work_of(case, whole))
        ]
        if case.submission == "graph":
            kinds = ["memset" if work == "memset" else "kernel" for work in work_of(case, whole)]
            rows["graph_node"] += [
                {"pass": name, "case_id": case.case_id, "ordinal": ordinal, "kind": kind}
                | {"name": work if kind == "kernel" else None}
                for ordinal, (kind, work) in enumerate(zip(kinds, work_of(case, whole), strict=True))
            ]
            if name == "validate":
                rows["graph_dot"] += [
                    {"pass": name, "case_id": case.case_id, "kind": kind, "nodes": kinds.count(kind)}
                    for kind in dict.fromkeys(kinds)
                ]


def _planned(case: protocol.Case, work: str, pass_name: str) -> dict[str, object]:
    """What the driver prepared for one piece of work: launches of one shape, a fill, a call of cuDNN."""
    if work == "memset":
        return {"kind": "memset", "name": "memset", "bytes": 4 * case.shape.parameters["rows"]}
    if case.variant == "cudnn":
        return {"kind": "library", "name": "cudnnSoftmaxForward"}
    return (
        {"kind": "kernel", "name": work, "source": f"{case.variant}.cu", "cooperative": False}
        | {"cubin_sha256": _cubin(case.variant, pass_name), "dynamic_shared_bytes": 0}
        | {"grid_x": 32, "grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1}
    )


def _cubin(variant: str, pass_name: str) -> str:
    return _digest(variant + ("traced" if pass_name == "trace" else "cubin"))


def _checks(case: protocol.Case) -> Iterator[tuple[str, float, float]]:
    yield from (("finite", 0.0, 0.0), ("nonnegative", 0.0, 0.0), ("error", 0.25, 1.0), ("row_sum", 1e-6, 2e-5))
    if case.submission == "graph":
        yield ("same_as_stream", 0.0, 0.0)


def _timing_rows(rows: Rows, cases: list[protocol.Case], pass_name: str, whole: bool) -> None:
    """A session. The second one takes 200 ns longer for each invocation."""
    slower_ns = 200 if pass_name == SESSIONS[1] else 0

    def sample(quantity: str, case_id: str | None, duration_ns: int, **more: object) -> None:
        row = {
            "pass": pass_name,
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
                value = completion_ns(case, "timing", turn * 8 % ROUNDS, whole) + slower_ns
                sample("completion", case.case_id, value, round=turn, position=(index + turn) % len(of_shape))
    for case in cases:
        line, count = timeline(case, "timing", whole), case.shape.batch
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
                first_ns = completion_ns(case, "timing", whole=whole) + 20_000
                sample("first_replay", case.case_id, first_ns, round=repeat)
            rows["graph_setup"] += [
                {
                    "pass": pass_name,
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


def _pilot_rows(rows: Rows, cases: list[protocol.Case]) -> None:
    """Samples of the candidates around their completion in the sessions, and the choice by their medians."""
    of_pilot = [row for row in rows["driven"] if row["pass"] == "pilot"]
    by_id = {case.case_id: case for case in cases}
    medians: dict[tuple[str, str], dict[str, float]] = {}
    for row in of_pilot:
        case = by_id[row["case_id"]]
        for turn in range(PILOT_ROUNDS):
            duration_ns = completion_ns(case, "timing", turn)
            rows["sample"].append(
                {"pass": "pilot", "case_id": case.case_id, "quantity": "completion", "round": turn}
                | {"position": 0, "invocations": 1, "duration_ns": duration_ns}
            )
        group = medians.setdefault((case.shape.name, case.submission), {})
        group[case.variant] = float(completion_ns(case, "timing", PILOT_ROUNDS // 2))
    rows["choice"] += [
        {"pass": "pilot", "group_name": "softmax", "shape": shape, "submission": submission, "variant": variant}
        | {
            "rounds": PILOT_ROUNDS,
            "median_ns": median_ns,
            "chosen": variant == min(group, key=group.__getitem__),
        }
        for (shape, submission), group in medians.items()
        for variant, median_ns in group.items()
    ]


def _traced(cases: list[protocol.Case]) -> list[protocol.Case]:
    return [case for case in cases if (case.shape.name, case.submission) == (TRACED_SHAPE, "graph")]


def _trace_rows(rows: Rows, cases: list[protocol.Case]) -> None:
    """Three stages of 32 rows: A and C of two tiles each, B of one task.

    `staged` waits for the whole stage before, all others for their own row. In ns from the first start: A of
    row r and tile t runs from 20 r + 10 t for 1000. In `staged` B runs from 2000 + 10 r for 500 and C from
    3000 + 20 r + 10 t for 800. In the others B begins 50 after its A has ended, and C 20 + 10 t after its B.
    """
    begun = 5_000_000
    for case in _traced(cases):
        after = "stage" if case.variant == "staged" else "job"
        for position, (stage, tiles) in enumerate((("A", 2), ("B", None), ("C", 2))):
            rows["task_plan"] += [
                {"pass": "trace", "case_id": case.case_id, "stage": stage, "position": position, "job": row}
                | {"tasks": tiles or 1, "tiled": tiles is not None, "after": after if position else "nothing"}
                for row in range(32)
            ]
        for invocation in range(TRACE_INVOCATIONS):
            for row in range(32):
                own_b = 20 * row + 10 + 1_000 + 50
                b = 2_000 + 10 * row if after == "stage" else own_b
                tasks: list[tuple[str, int | None, int, int]] = []
                tasks += [("A", tile, 20 * row + 10 * tile, 1_000) for tile in (0, 1)]
                tasks.append(("B", None, b, 500))
                c = 3_000 + 20 * row if after == "stage" else own_b + 500 + 20
                tasks += [("C", tile, c + 10 * tile, 800) for tile in (0, 1)]
                rows["task"] += [
                    {"pass": "trace", "case_id": case.case_id, "invocation": invocation, "stage": stage}
                    | {"job": row, "tile": tile, "worker": 2 * row + (tile or 0), "multiprocessor": row % 8}
                    | {"start_ns": begun + start, "end_ns": begun + start + duration}
                    for stage, tile, start, duration in tasks
                ]


def _nsys_rows(rows: Rows, cases: list[protocol.Case], whole: bool) -> None:
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
            line = timeline(case, "nsys", whole)
            range_id = len(rows["range"]) + 1
            rows["range"].append(
                {**common, "range_id": range_id, "domain": "nsight_suite", "name": case.case_id}
                | {"payload": ordinal, "style": "push_pop", "start_ns": clock, "end_ns": clock + line["end"]}
            )
            graph = case.submission == "graph"
            for (start, end), work in zip(line["calls"], work_of(case, whole), strict=False):
                call = "cuMemsetD8Async" if work == "memset" else "cuLaunchKernel"
                _launch(rows, (clock + start, clock + end), range_id, "cuGraphLaunch" if graph else call)
            first = len(rows["launch"]) - len(line["calls"]) + 1
            for index, (kernel, start, end) in enumerate(line["kernels"]):
                node = ((position + 1) << 33) + index if graph else None
                launch_id = first if graph else first + index
                span = (clock + start, clock + end)
                if kernel == "memset":
                    rows["memory_operation"].append(
                        {
                            "pass": "nsys",
                            "process": 0,
                            "launch_id": launch_id,
                            "range_id": range_id,
                            "stream": 13,
                        }
                        | {"kind": "memset", "bytes": 4 * case.shape.parameters["rows"], "graph_node_id": node}
                        | {"start_ns": span[0], "end_ns": span[1]}
                    )
                else:
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
    kinds = {"cuGraphLaunch": "graph", "cuLaunchKernel": "kernel", "cuMemsetD8Async": "memset"}
    rows["launch"].append(
        {"pass": "nsys", "launch_id": launch_id, "process": 0, "thread": 0, "range_id": range_id, "name": name}
        | {"kind": kinds[name], "correlation_id": 1_000 + launch_id}
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
