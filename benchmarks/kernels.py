"""The suite's kernels beside their floors and their peers: one table, made in one session on a GPU.

    python benchmarks/kernels.py --json kernels.json
    python benchmarks/kernels.py --only row --sweep          # and every candidate of kernels/row/tuned.py

Everything is a replay of a CUDA graph, captured on the suite's stream and launched by the same call, peers
included. In each round every variant of a shape runs once, in shuffled order, on the same arrays. Before that
each is checked against FP64: on every fixture, or where the arrays are large on the first.

    host      completion: from just before the replay to the return of the synchronisation; median, p10, p90
    device    CUDA events around a batch of replays in a row, divided by their number; for the smallest kernels
              that is the pace of replays, not the duration of a kernel
    floor     x read once and y written once at the bandwidth of a large copy in this very run; for jobs the
              multiply-adds at 64 per clock and multiprocessor, at the highest clock. Arrays that stay in the L2
              cache can be faster than the floor
    / NAME    host completion over that of NAME, paired by round: median of the ratios; below one is faster

Exit status 1 when an output of the suite's own kernels is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]  # a bare checkout needs no installation

EXPERIMENTS = ("row", "tiled", "rms", "jobs", "pointwise")
TUNED = "tuned"
# Columns of ratios; `row` alone has the peers that are not the suite's own.
RATIOS = {
    "row": ("cudnn", "torch.softmax", "torch.compile", "triton", "copy kernel", "copy"),
    "tiled": ("separate",),
    "rms": ("local",),
    "jobs": ("separate",),
    "pointwise": ("separate",),
}
# The goals of row/tuned: no slower than the fastest of these, within so much.
WITHIN = 1.03
LONGEST_BATCHES_S = 2.0  # per shape, unless two rounds of batches take longer
# Up to so many every fixture is checked, beyond only the first: FP64 on the host takes long.
FEW_ELEMENTS = 1 << 23


@dataclasses.dataclass
class Line:
    """One line of the table; times in µs."""

    experiment: str
    shape: str
    variant: str
    why_not: str | None = None
    nodes: str = ""
    host_us: float | None = None
    p10_us: float | None = None
    p90_us: float | None = None
    device_us: float | None = None
    floor_us: float | None = None
    device_to_floor: float | None = None
    ratios: dict[str, float] = dataclasses.field(default_factory=dict)
    wrong: bool = False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"experiments, by comma; default: {','.join(EXPERIMENTS)}")
    parser.add_argument("--shapes", help="shapes, by comma; default: all that are timed")
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--batch-rounds", type=int, default=11, help="batches for the device's duration")
    parser.add_argument("--sweep", action="store_true", help="row: every candidate beside the rule's choice")
    parser.add_argument("--without", default="", help="row: variants and peers to leave out, by comma")
    parser.add_argument("--compile-mode", default="default", help="mode of torch.compile")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write everything here as well")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else EXPERIMENTS
    if unknown := sorted(set(names) - set(EXPERIMENTS)):
        parser.error(f"no experiment {', '.join(unknown)}; there are: {', '.join(EXPERIMENTS)}")

    from nsight_suite.driving.bench import Bench
    from nsight_suite.driving.device import copy_samples, describe, open_device
    from nsight_suite.driving.records import Records
    from nsight_suite.driving.state import read_state

    device = open_device(arguments.device)
    told = describe(device)
    say(f"{told['name']}, {told['multiprocessors']} multiprocessors, L2 {told['l2_bytes'] / 1e6:.0f} MB")
    copies = copy_samples(device, rounds=5)
    bandwidth = statistics.median(sample.bytes / sample.duration_ns * 1e9 for sample in copies)
    say(f"a copy of 512 MiB moves {bandwidth / 1e12:.3f} TB/s, read and write together")
    lines: list[Line] = []
    notes: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            folder = Path(scratch) / name
            folder.mkdir()
            with Records(folder / "records.jsonl", "timing") as records:
                bench = Bench(plan_of(name, arguments), device, records, folder / "build")
                session = Session(bench, bandwidth, arguments)
                lines += session.run()
                notes |= session.notes()
    notes["state"] = str(read_state(told["uuid"]).columns)
    for key, value in sorted(notes.items()):
        say(f"{key}: {value}")
    show_all(lines)
    if arguments.json:
        document = {
            "device": told,
            "copy_bytes_per_s": bandwidth,
            "rounds": arguments.rounds,
            "notes": notes,
            "lines": [dataclasses.asdict(line) for line in lines],
        }
        arguments.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return 1 if any(line.wrong for line in lines) else 0


def say(text: str) -> None:
    print(text, flush=True)


class Session:
    """One experiment: its own driver, with `row` joined by the peers."""

    def __init__(self, bench: Any, bandwidth: float, options: argparse.Namespace) -> None:
        self.bench, self.bandwidth, self.options = bench, bandwidth, options
        self.protocol = bench.plan.protocol
        self.name = self.protocol.name
        self.driver = imported(bench.plan.protocol_path.with_name("driver.py"))
        self.experiment = experiment_of(self.driver)
        self.own_launches = self.experiment.launches
        self.peers: Any = None
        if self.name == "row":
            make = importlib.import_module("peers").Peers
            self.peers = make(bench, str(ROOT / "benchmarks" / "copy.cu"), options.compile_mode)
            self.experiment = dataclasses.replace(self.experiment, launches=self._row_launches)

    def notes(self) -> dict[str, str]:
        """What the peers told of themselves."""
        return dict(self.peers.notes) if self.peers else {}

    def run(self) -> list[Line]:
        wanted = self.options.shapes.split(",") if self.options.shapes else None
        lines = []
        for shape in self.protocol.shapes:
            if wanted is None or shape.name in wanted:
                started = time.monotonic()
                found = self._shape(shape)
                say(f"{self.name} {shape.name}: {time.monotonic() - started:.1f} s")
                say(table(found))
                lines += found
        return lines

    def _variants(self, shape: Any) -> list[str]:
        variants = list(self.protocol.variants)
        if self.peers:
            if self.options.sweep:
                rows, columns = shape.parameters["rows"], shape.parameters["columns"]
                choices = self.bench.module("tuned.py").candidates(rows, columns)
                after = variants.index(TUNED) + 1
                variants[after:after] = [f"{TUNED}/{choice.name}" for choice in choices]
            if shape.timed:
                variants += self.peers.makers
        return [variant for variant in variants if variant not in self.options.without.split(",")]

    def _row_launches(self, bench: Any, variant: str, parameters: Any, on: Any) -> Sequence[Any]:
        if variant in self.peers.makers:
            return [self.peers.launch(variant, on)]
        if variant == "cudnn":
            self.peers.notes["cudnn"] = bench.module("cudnn.py").version()
        _, _, candidate = variant.partition("/")
        if not candidate:
            return list(self.own_launches(bench, variant, parameters, on))
        choices = bench.module("tuned.py").candidates(parameters["rows"], parameters["columns"])
        choice = next(choice for choice in choices if choice.name == candidate)
        return [self.driver.tuned_launch(bench, choice, parameters, on)]

    def _shape(self, shape: Any) -> list[Line]:
        """Every variant at one shape: tried alone, checked, and those that passed timed."""
        from nsight_suite.driving import graph, timing
        from nsight_suite.driving.workload import prepared
        from nsight_suite.protocol import Case

        lines = {variant: Line(self.name, shape.name, variant) for variant in self._variants(shape)}
        on, given = self._arrays(shape)
        for variant, line in lines.items():
            if reason := self._attempt(shape, variant, on, given):
                line.why_not = reason
                say(f"  {self.name} {shape.name} {variant} not measured: {reason}")
        on.clear()
        working = [variant for variant, line in lines.items() if line.why_not is None]
        if not working:
            return list(lines.values())
        cases = tuple(Case(self.name, variant, "graph", shape) for variant in working)
        self.bench.plan = dataclasses.replace(self.bench.plan, cases=cases)
        with prepared(self.bench, self.experiment, shape) as workload:
            passed = self._check(workload, lines)
            timed = dataclasses.replace(workload, subjects=tuple(passed))
            if not passed or not shape.timed:
                return [line for line in lines.values() if shape.timed or line.why_not]
            for subject in passed:
                nodes = graph.nodes(subject.graph.captured)
                lines[subject.case.variant].nodes = ", ".join((node.name or node.kind)[:40] for node in nodes)
            timing.warm_up(timed, self.protocol.timing["warmups"])
            host = timing.completions(timed, self.options.rounds)
            in_a_round = sum(sample.duration_ns for sample in host) / self.options.rounds * shape.batch
            most = max(2, int(LONGEST_BATCHES_S * 1e9 / in_a_round))
            device = timing.batches(timed, min(self.options.batch_rounds, most))
            self._fill(lines, host, device, self._floor_us(workload))
        return list(lines.values())

    def _arrays(self, shape: Any) -> tuple[dict[str, Any], Any]:
        """Arrays to try variants on, and the first fixture."""
        import cupy

        from nsight_suite.driving.workload import inputs_of

        parameters = {**shape.parameters, "multiprocessors": self.bench.multiprocessors}
        with self.bench.device.cupy_stream:
            declared = self.experiment.arrays(parameters).items()
            on = {name: cupy.zeros(size, kind) for name, (size, kind) in declared}
        return on, inputs_of(self.bench, self.experiment, shape, parameters, self.protocol.fixtures[0])

    def _attempt(self, shape: Any, variant: str, on: dict[str, Any], given: Any) -> str | None:
        """Why a variant cannot be measured; None when it can."""
        from nsight_suite.driving import graph
        from nsight_suite.driving.launch import submission_of
        from nsight_suite.driving.workload import put

        bench = self.bench
        parameters = {**shape.parameters, "multiprocessors": bench.multiprocessors}
        try:
            put(bench, given, on)
            bench.wait()
            launches = self.experiment.launches(bench, variant, parameters, on)
            for launch in launches:
                launch.checked()
            bench.wait()
            graph.make_graph(bench.device.stream, submission_of(launches)).destroy()
        except Exception as error:  # whatever a peer that is absent or broken may raise
            return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return None

    def _check(self, workload: Any, lines: dict[str, Line]) -> list[Any]:
        """The subjects whose outputs are right, and the copies, which are not softmax."""
        from nsight_suite.driving import checking

        first, *others = self.protocol.fixtures
        fixtures = [first]
        if workload.output.size <= FEW_ELEMENTS:
            fixtures = [*others, self.protocol.held_out, first]  # the first one stays in the arrays
        copies = [subject for subject in workload.subjects if subject.case.variant.startswith("copy")]
        right = [subject for subject in workload.subjects if subject not in copies]
        for fixture in fixtures:
            loaded = checking.load(workload, fixture)
            for subject in list(right):
                try:
                    checking.check(workload, subject, loaded)
                except Exception as error:
                    line = lines[subject.case.variant]
                    line.wrong = not self.peers or line.variant not in self.peers.makers
                    line.why_not = f"wrong: {' '.join(str(error).split())[:200]}"
                    say(f"  {self.name} {line.shape} {line.variant} {line.why_not}")
                    right.remove(subject)
        return [subject for subject in workload.subjects if subject in right or subject in copies]

    def _floor_us(self, workload: Any) -> float:
        if self.name != "jobs":
            moved = workload.arrays["x"].nbytes + workload.arrays["y"].nbytes
            return float(moved / self.bandwidth * 1e6)
        jobs, values = workload.arrays["x"].shape
        iterations = int(workload.arrays["iterations"].sum()) + jobs * workload.parameters["second"]
        per_clock = 64 * self.bench.multiprocessors
        return float(iterations * values / per_clock / (self.bench.device.attribute("CLOCK_RATE") * 1e3) * 1e6)

    def _fill(self, lines: dict[str, Line], host: Iterable[Any], device: Iterable[Any], floor: float) -> None:
        rounds: dict[str, dict[int, float]] = {}
        for sample in host:
            rounds.setdefault(sample.case_id.split(":")[1], {})[sample.round] = sample.duration_ns / 1e3
        batches: dict[str, list[float]] = {}
        for sample in device:
            if sample.quantity == "batch_event_interval":
                each = sample.duration_ns / 1e3 / sample.invocations
                batches.setdefault(sample.case_id.split(":")[1], []).append(each)
        for variant, found in rounds.items():
            line, times = lines[variant], list(found.values())
            line.host_us = statistics.median(times)
            line.p10_us, line.p90_us = (float(value) for value in np.quantile(times, (0.1, 0.9)))
            line.device_us = statistics.median(batches[variant])
            line.floor_us = floor
            line.device_to_floor = line.device_us / floor
            for peer in RATIOS[self.name]:
                if peer in rounds:
                    line.ratios[peer] = statistics.median(found[at] / rounds[peer][at] for at in found)


def plan_of(name: str, options: argparse.Namespace) -> Any:
    """A plan of the pass `timing` without cases: they are put in shape by shape."""
    from nsight_suite.plan import Plan
    from nsight_suite.protocol import load
    from nsight_suite.sources import find_experiment

    path = find_experiment(name).protocol
    return Plan(
        pass_name="timing",
        protocol=load(path),
        protocol_path=path,
        kernels=ROOT / "kernels" / name,
        device=options.device,
        cases=(),
        rounds=options.rounds,
        invocations=1,
    )


def imported(path: Path) -> Any:
    """The driver at this path as a module."""
    spec = importlib.util.spec_from_file_location(f"driver_of_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def experiment_of(module: Any) -> Any:
    """What a driver declares."""
    from nsight_suite.driving.experiment import Experiment

    return next(value for value in vars(module).values() if isinstance(value, Experiment))


def show_all(lines: Sequence[Line]) -> None:
    for name in EXPERIMENTS:
        if found := [line for line in lines if line.experiment == name]:
            say(f"\n## {name}\n\n{table(found)}\n")
            for text in goals(found):
                say(text)


def table(lines: Sequence[Line]) -> str:
    """The lines of one experiment as a table in Markdown, times in µs."""
    ratios = RATIOS[lines[0].experiment]
    heads = ["shape", "variant", "host", "p10", "p90", "device", "floor", "device / floor"]
    heads += [*(f"/ {name}" for name in ratios), "graph"]
    rows = [heads, ["---"] * 2 + ["---:"] * (len(heads) - 3) + ["---"]]
    for line in lines:
        if line.host_us is None:
            rows.append([line.shape, line.variant, f"not measured: {line.why_not}", *[""] * (len(heads) - 3)])
            continue
        times = (line.host_us, line.p10_us, line.p90_us, line.device_us)
        cells = [line.shape, line.variant, *(f"{value:.2f}" for value in times if value is not None)]
        cells += [_digits(line.floor_us), _digits(line.device_to_floor)]
        cells += [f"{line.ratios[name]:.3f}" if name in line.ratios else "-" for name in ratios]
        rows.append([*cells, line.nodes])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _digits(value: float | None) -> str:
    """Three digits or all before the point: floors lie between a quarter of a nanosecond and 32 µs."""
    return "-" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def goals(lines: Sequence[Line]) -> list[str]:
    """row/tuned against the fastest peer of each shape; of a sweep the candidates too, from best to worst."""
    told = []
    for shape in dict.fromkeys(line.shape for line in lines):
        here = {line.variant: line for line in lines if line.shape == shape and line.host_us is not None}
        tuned = here.get(TUNED)
        peers = [here[name] for name in RATIOS["row"] if name in here]
        if tuned and peers:
            fastest = min(peers, key=lambda line: line.host_us or 0)
            ratio = tuned.ratios[fastest.variant]
            verdict = "reached" if ratio <= WITHIN else "MISSED"
            cudnn = f"; cuDNN / tuned {1 / tuned.ratios['cudnn']:.2f}" if "cudnn" in tuned.ratios else ""
            told.append(
                f"{shape}: tuned / fastest ({fastest.variant}) {ratio:.3f}, goal {WITHIN} {verdict}{cudnn}"
            )
        swept = [line for name, line in here.items() if name.startswith(f"{TUNED}/")]
        for line in sorted(swept, key=lambda line: line.host_us or 0):
            told.append(f"    {line.variant:28} host {line.host_us:8.2f}   device {line.device_us:8.2f}")
    return told


if __name__ == "__main__":
    from nsight_suite.command import run_command

    sys.exit(run_command(main))
