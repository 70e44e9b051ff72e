"""What Python costs the host: the timing pass beside a C++ program, and the ways to call the driver compared.

On a machine with a GPU, in one session:

    nvcc -O3 -std=c++17 --fmad=false -arch=sm_90 -o host_floor benchmarks/host_floor.cu -ldl
    ./host_floor --cudnn "$(python -m nsight_suite.driving.libraries libcudnn.so.9)" > floor.jsonl
    python benchmarks/host_overhead.py compare floor.jsonl RUN/reports/timing.jsonl
    python benchmarks/host_overhead.py paths

`compare` prints a Markdown table and exits 1 when a ratio of medians is over its limit: 1.15 for the staged
stream at 32x1024, 1.10 for any graph replay. `paths` prints the median completion of each case by each way.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a bare checkout needs no installation

STREAM_LIMIT, GRAPH_LIMIT = 1.15, 1.10
LIMITED_STREAM = ("staged", "stream", "32x1024")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("compare", help="the timing pass beside the C++ program")
    compare.add_argument("floor", type=Path, help="what host_floor printed")
    compare.add_argument("timing", type=Path, help="records of the timing pass")
    paths = commands.add_parser("paths", help="the ways to call the driver, side by side")
    paths.add_argument("--shapes", nargs="+", default=["1x128", "32x1024"])
    paths.add_argument("--variants", nargs="+", default=["staged", "fused", "cudnn"])
    paths.add_argument("--repeats", type=int, default=5, help="interleaved repeats of 21 rounds")
    paths.add_argument("--device", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.command == "compare":
        return compare_with_floor(arguments.floor, arguments.timing)
    return compare_paths(row_plan(arguments), arguments.repeats)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def compare_with_floor(floor_path: Path, timing_path: Path) -> int:
    """Medians in µs of every case that both have, their ratio, and the limit where there is one."""
    durations: dict[tuple[str, str, str], list[int]] = {}
    for record in lines(timing_path):
        if record["table"] == "sample" and record["quantity"] == "completion":
            _, variant, submission, shape = record["case_id"].split(":")
            durations.setdefault((variant, submission, shape), []).append(record["duration_ns"])
    print("| variant | submission | shape | C++ µs | Python µs | ratio | limit |")
    print("|---|---|---|---:|---:|---:|---:|")
    over = 0
    for line in lines(floor_path):
        key = (line["variant"], line["submission"], line["shape"])
        if key not in durations:
            continue
        median_ns = statistics.median(durations[key])
        ratio = median_ns / line["median_ns"]
        limit = GRAPH_LIMIT if key[1] == "graph" else STREAM_LIMIT if key == LIMITED_STREAM else None
        over += limit is not None and ratio > limit
        told = "" if limit is None else f"{limit:.2f}{' over' if ratio > limit else ''}"
        microseconds = f"{line['median_ns'] / 1e3:.2f} | {median_ns / 1e3:.2f}"
        print(f"| {' | '.join(key)} | {microseconds} | {ratio:.3f} | {told} |")
    return 1 if over else 0


def compare_paths(plan: Any, repeats: int) -> int:
    """Median completion in µs of each case by each way to call, the ways taking turns."""
    from nsight_suite.driving import timing
    from nsight_suite.driving.device import open_device
    from nsight_suite.driving.records import Records
    from nsight_suite.driving.workload import prepared

    candidates = benches()
    experiment, opened = row_experiment(), open_device(plan.device)
    print(f"| case | {' | '.join(candidates)} |\n|---|{'---:|' * len(candidates)}")
    for shape in plan.shapes():
        found: dict[str, dict[str, list[int]]] = {}
        with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
            records = stack.enter_context(Records(Path(scratch) / "records.jsonl", "timing"))
            workloads = {
                name: stack.enter_context(
                    prepared(bench(plan, opened, records, Path(scratch)), experiment, shape)
                )
                for name, bench in candidates.items()
            }
            for workload in workloads.values():
                timing.warm_up(workload, plan.warmups)
            for _ in range(repeats):
                for name, workload in workloads.items():
                    for sample in timing.completions(workload, plan.rounds):
                        found.setdefault(sample.case_id, {}).setdefault(name, []).append(sample.duration_ns)
        for case_id, by_path in found.items():
            print(
                f"| {case_id} | {' | '.join(f'{statistics.median(v) / 1e3:.2f}' for v in by_path.values())} |"
            )
    return 0


def benches() -> dict[str, Any]:
    """A bench for each way to call the driver."""
    import cupy
    from cuda.bindings import driver

    from nsight_suite.driving.bench import Bench

    class BindingsAlone(Bench):
        def synchronize_call(self) -> Callable[[], Any]:
            return partial(driver.cuStreamSynchronize, self.device.stream)

    class CupyAlone(Bench):
        def kernel_call(self, function: Any, sizes: Sequence[int], parameters: int) -> Callable[[], Any]:
            stream = int(self.device.stream)
            return partial(cupy.cuda.driver.launchKernel, int(function), *sizes, stream, parameters, 0)

        def graph_call(self, executable: Any) -> Callable[[], Any]:
            return partial(cupy.cuda.runtime.graphLaunch, int(executable), int(self.device.stream))

    return {"as the suite does": Bench, "cuda.bindings alone": BindingsAlone, "CuPy alone": CupyAlone}


def row_plan(arguments: argparse.Namespace) -> Any:
    from nsight_suite.plan import Plan
    from nsight_suite.protocol import load

    path = ROOT / "capture" / "row" / "protocol.toml"
    protocol = load(path)
    return Plan(
        pass_name="timing",
        protocol=protocol,
        protocol_path=path,
        kernels=ROOT / "kernels" / "row",
        device=arguments.device,
        cases=tuple(
            case
            for case in protocol.cases()
            if case.shape.name in arguments.shapes and case.variant in arguments.variants
        ),
        rounds=protocol.timing["rounds"],
        invocations=1,
    )


def row_experiment() -> Any:
    path = ROOT / "capture" / "row" / "driver.py"
    spec = importlib.util.spec_from_file_location("row_driver", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ROW


if __name__ == "__main__":
    from nsight_suite.command import run_command

    sys.exit(run_command(main))
