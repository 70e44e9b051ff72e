"""The experiment `tiled`: layout, oracle, launches, expectations, figures, and a model of its schedulers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evidence_rows import columns, store_of
from python_files import module_of

from nsight_suite.driving.build import OPTIONS, Build, compile_source, write_build
from nsight_suite.driving.disassembly import disassemble
from nsight_suite.driving.tasks import TRACED
from nsight_suite.driving.validation import generator
from nsight_suite.errors import CannotAnswer, CannotMeasure
from nsight_suite.evidence.store import create_shared_views, empty_store, insert_rows
from nsight_suite.figurefiles import figure_sources
from nsight_suite.protocol import load
from nsight_suite.querying import run_named
from nsight_suite.sources import data_root, find_experiment

SOURCE = find_experiment("tiled")
KERNELS = {
    "separate.cu": ["combine_rows", "normalise_tiles", "tile_summary"],
    "persistent.cu": ["persistent", "queue_init"],
    "dataflow.cu": ["dataflow"],
}
# Two groups of eight rows: 20 + 28 tiles.
RAGGED = {"rows": 16, "tiles_long": 10, "tiles_short": 2, "layout_seed": 5, "multiprocessors": 4}


@pytest.fixture(scope="module")
def tiled() -> ModuleType:
    return module_of(SOURCE.driver)


# --- kernels


def build(file: str, traced: bool, architecture: str = "sm_90") -> Build:
    options = (*OPTIONS, TRACED) if traced else OPTIONS
    return compile_source(data_root() / "kernels" / "tiled" / file, architecture, options)


@pytest.mark.parametrize("traced", [False, True], ids=["measured", "traced"])
@pytest.mark.parametrize("file", KERNELS)
def test_both_builds_have_the_same_kernels_without_spills(file: str, traced: bool) -> None:
    made = build(file, traced)
    assert [kernel.name for kernel in made.kernels] == KERNELS[file]
    assert [kernel.name for kernel in made.kernels if kernel.local_bytes_per_thread] == []


@pytest.mark.parametrize("traced", [False, True], ids=["measured", "traced"])
def test_the_workers_fit_by_registers_in_both_builds(tiled: ModuleType, traced: bool) -> None:
    """A multiprocessor has 65,536 registers, handed out to warps in pieces of 256."""
    resident = {
        "persistent": tiled.WORKERS["persistent"] * tiled.WARPS,
        "dataflow": constants()["RESIDENT"] * tiled.GROUPS * tiled.WARPS,
    }
    for file in ("persistent.cu", "dataflow.cu"):
        for kernel in build(file, traced).kernels:
            if kernel.name in resident:
                per_warp = -(-kernel.registers_per_thread * 32 // 256) * 256
                assert resident[kernel.name] * per_warp <= 65_536


def constants() -> dict[str, int]:
    """The numbers at the top of dataflow.cu."""
    text = (data_root() / "kernels" / "tiled" / "dataflow.cu").read_text(encoding="utf-8")
    return {name: int(value) for name, value in re.findall(r"\b([A-Z]+) = (\d+)[,;]", text)}


def test_the_driver_plans_for_the_numbers_of_the_kernel(tiled: ModuleType) -> None:
    found = constants()
    assert {name: found.pop(name) for name in ("GROUPS", "DEPTH", "PIECES", "CLUSTER")} == {
        "GROUPS": tiled.GROUPS,
        "DEPTH": tiled.DEPTH,
        "PIECES": tiled.PIECES,
        "CLUSTER": tiled.CLUSTER,
    }


def test_dataflow_moves_tiles_in_128_bits_and_meets_as_its_head_says(tmp_path: Path) -> None:
    """Two loads and two stores for each tile of a group; a barrier of the cluster, before B and after it, that
    drops what the multiprocessor's own cache has."""
    made = build("dataflow.cu", traced=False)
    write_build(made, tmp_path)
    if reason := disassemble(made, tmp_path):
        pytest.skip(reason)
    sass = (tmp_path / "dataflow.sm_90.sass").read_text(encoding="utf-8")
    tile = 2 * constants()["DEPTH"]
    assert len(re.findall(r"LDG\.E\.128", sass)) >= tile
    assert len(re.findall(r"STG\.E\.128", sass)) == tile
    assert len(re.findall(r"UCGABAR_WAIT", sass)) == len(re.findall(r"CCTL\.IVALL", sass)) == 2
    assert not re.findall(r"\b(ATOM|ATOMG|RED)\b", sass)


def test_a_traced_dataflow_times_each_tile_by_itself_and_an_untraced_one_reads_no_clock(tmp_path: Path) -> None:
    """A group's first thread takes the clock before and after each A, B and C of the group."""
    clocks = {}
    for traced in (False, True):
        folder = tmp_path / str(traced)
        write_build(build("dataflow.cu", traced), folder)
        clocks[traced] = (folder / "dataflow.sm_90.ptx").read_text(encoding="utf-8").count("%globaltimer")
    assert clocks == {False: 0, True: 2 * (2 * constants()["DEPTH"] + 1)}


# --- layout and oracle


def test_the_protocol_s_shapes_have_equal_rows_tiles_and_elements(tiled: ModuleType) -> None:
    protocol = load(SOURCE.protocol)
    shapes = {shape.name: shape for shape in protocol.shapes}
    for rows in (128, 512, 2048):
        counted = []
        for distribution in ("balanced", "ragged"):
            parameters = shapes[f"{distribution}-{rows}"].parameters
            assert parameters["layout_seed"] == protocol.seed
            counts = tiled.tiles_of_rows(parameters)
            counted.append((len(counts), int(counts.sum()), tiled.tile_count(parameters)))
        assert counted == [(rows, 8 * rows, 8 * rows)] * 2
        assert sorted(np.unique(counts, return_counts=True)[1].tolist()) == [rows // 8, rows * 7 // 8]
        assert set(counts.tolist()) == {4, 36}


def test_the_layout_is_drawn_from_its_seed_and_the_same_for_every_fixture(tiled: ModuleType) -> None:
    placed = tiled.layout(RAGGED)
    assert placed["row_tile"][0] == 0
    assert placed["row_tile"][-1] == len(placed["tile_row"]) == tiled.tile_count(RAGGED) == 48
    for row, (first, last) in enumerate(zip(placed["row_tile"], placed["row_tile"][1:], strict=False)):
        assert (placed["tile_row"][first:last] == row).all()
    other = tiled.layout({**RAGGED, "layout_seed": 6})["row_tile"]
    assert (other != placed["row_tile"]).any()
    protocol = load(SOURCE.protocol)
    for fixture in (*protocol.fixtures, protocol.held_out):
        given = tiled.inputs(fixture, RAGGED, generator(1, fixture, "shape"))
        assert all((given[name] == placed[name]).all() for name in placed)
        declared = tiled.arrays(RAGGED)
        assert {name: (array.shape, array.dtype) for name, array in given.items()} == {
            name: (declared[name][0], np.dtype(declared[name][1])) for name in given
        }
        assert not given["generation"].any()
        assert (given["pieces"] == tiled.pieces(RAGGED)).all()
    with pytest.raises(ValueError, match="no fixture 'unheard'"):
        tiled.inputs("unheard", RAGGED, generator(1, "unheard", "shape"))


def test_rows_that_are_no_multiple_of_eight_are_refused(tiled: ModuleType) -> None:
    with pytest.raises(CannotMeasure, match="cannot take 12 rows"):
        tiled.layout({**RAGGED, "rows": 12})


def test_the_reference_is_softmax_of_each_row_with_its_summaries(tiled: ModuleType) -> None:
    given = tiled.inputs("shifted", RAGGED, generator(1, "shifted", "shape"))
    right = tiled.reference(RAGGED, given)
    assert right["tile_max"].dtype == right["row_max"].dtype == np.float32
    for row in range(16):
        first, last = given["row_tile"][row : row + 2]
        x = given["x"][first:last].astype(np.float64)
        e = np.exp(x - x.max())
        np.testing.assert_allclose(right["y"][first:last], e / e.sum(), rtol=1e-12)
        assert right["row_max"][row] == x.max()
        np.testing.assert_allclose(right["row_sum"][row], e.sum(), rtol=1e-12)
        for tile in range(first, last):
            own = given["x"][tile].astype(np.float64)
            assert right["tile_max"][tile] == own.max()
            np.testing.assert_allclose(right["tile_sum"][tile], np.exp(own - own.max()).sum(), rtol=1e-12)
        # What B computes: the sums of the tiles, each brought to the maximum of the row.
        weights = np.exp(right["tile_max"][first:last].astype(np.float64) - x.max())
        np.testing.assert_allclose((right["tile_sum"][first:last] * weights).sum(), e.sum(), rtol=1e-12)


class OnDevice:
    """A host array that answers as a CuPy array does."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.size = values, values.size

    def get(self) -> np.ndarray:
        return self.values


def test_a_tile_s_total_is_held_to_its_part_of_the_row(tiled: ModuleType) -> None:
    tolerances = load(SOURCE.protocol).tolerances
    y = tiled.reference(RAGGED, tiled.inputs("normal", RAGGED, generator(1, "normal", "shape")))["y"]

    def check(output: np.ndarray) -> Any:
        return tiled.tile_total(OnDevice(output.astype(np.float32)), OnDevice(y), tolerances)

    assert check(y).passed
    assert check(y).elements == 48 * 1024
    longer, absent = y.copy(), y.copy()
    longer[7] *= 1 + 3e-5  # far below what `error` sees in one element
    absent[3, 5] = np.nan
    assert not check(longer).passed
    assert not check(absent).passed


# --- what dataflow plans


@pytest.mark.parametrize(("long", "short"), [(8, 8), (36, 4), (10, 2), (11, 8), (40, 10), (1, 1)])
def test_every_tile_is_in_one_piece_and_a_spread_row_has_a_cluster_of_its_own(
    tiled: ModuleType, long: int, short: int
) -> None:
    parameters = {**RAGGED, "rows": 24, "tiles_long": long, "tiles_short": short}
    placed, planned = tiled.layout(parameters), tiled.pieces(parameters)
    assert len(planned) % tiled.CLUSTER == 0
    assert (planned[:, :, 1].sum(axis=1) <= tiled.SLOTS).all()
    assert not (planned[:, 0, 1] == 0)[: -tiled.CLUSTER].any()
    seen: list[int] = []
    for first, tiles, row, whole in planned.reshape(-1, 4).tolist():
        if tiles:
            assert placed["row_tile"][row] <= first <= first + tiles <= placed["row_tile"][row + 1]
            assert whole == placed["row_tile"][row + 1] - placed["row_tile"][row]
            seen += range(first, first + tiles)
    assert sorted(seen) == list(range(tiled.tile_count(parameters)))
    for cluster in planned.reshape(-1, tiled.CLUSTER, tiled.PIECES, 4):
        spread = cluster[..., 3] > tiled.SLOTS
        if spread.any():
            assert spread[:, 0].all()
            assert (cluster[:, 1, 1] == 0).all()
            assert len(set(cluster[:, 0, 2].tolist())) == 1
            assert cluster[0, 0, 0] == placed["row_tile"][cluster[0, 0, 2]]  # B is given the row's first tile
            assert (cluster[:, 0, 1] > 0).all()
        else:
            assert (cluster[..., 1] == cluster[..., 3]).all()


def test_two_short_rows_share_a_block_and_a_long_one_is_spread_evenly(tiled: ModuleType) -> None:
    shapes = {shape.name: shape.parameters for shape in load(SOURCE.protocol).shapes}
    ragged, balanced = (tiled.pieces(shapes[f"{name}-512"])[:, :, 1] for name in ("ragged", "balanced"))
    assert ragged[:256].tolist() == [[9, 0]] * 4 * 64
    assert ragged[256:].tolist() == [[4, 4]] * 224
    assert balanced.tolist() == [[8, 0]] * 512


# --- launches


class FakeBench:
    """Says what would be launched."""

    task_log = np.uint64(0)

    def __init__(self, fitting: int = 16, clusters: int = 1) -> None:
        self.fitting = fitting
        self.device = SimpleNamespace(attribute={"CLUSTER_LAUNCH": clusters}.__getitem__)

    def kernels(self, file: str) -> dict[str, SimpleNamespace]:
        return {name: SimpleNamespace(name=name) for name in KERNELS[file]}

    def active_blocks(self, kernel: SimpleNamespace, block: tuple[int, ...]) -> int:
        return self.fitting

    def launch(
        self,
        kernel: SimpleNamespace,
        grid: tuple[int],
        block: tuple[int],
        *arguments: object,
        cooperative: bool = False,
    ) -> tuple[str, int, int, bool]:
        return kernel.name, grid[0], block[0], cooperative


def launched(tiled: ModuleType, variant: str, parameters: dict[str, int], bench: Any = None) -> list[Any]:
    on = dict.fromkeys(tiled.arrays(parameters), "array")
    return list(tiled.launches(bench or FakeBench(), variant, parameters, on))


def test_each_variant_launches_what_it_says(tiled: ModuleType) -> None:
    many = {**RAGGED, "rows": 2048, "tiles_long": 12}  # 6,656 tiles
    assert launched(tiled, "separate", many) == [
        ("tile_summary", 6656, 128, False),
        ("combine_rows", 512, 128, False),
        ("normalise_tiles", 6656, 128, False),
    ]
    assert launched(tiled, "phased", many) == [("persistent", 24, 128, True)]
    assert launched(tiled, "queue", many) == [("queue_init", 34, 256, False), ("persistent", 24, 128, True)]
    # 256 rows of twelve tiles are spread over four blocks each; the others go two by two.
    assert launched(tiled, "dataflow", many) == [("dataflow", 256 * 4 + 1792 // 2, 256, False)]
    with pytest.raises(ValueError, match="no variant 'unheard'"):
        launched(tiled, "unheard", many)


def test_workers_that_do_not_fit_are_refused(tiled: ModuleType) -> None:
    with pytest.raises(CannotMeasure, match="needs 6 resident blocks on each multiprocessor, and 5 fit"):
        launched(tiled, "queue", RAGGED, FakeBench(5))


def test_rows_that_no_cluster_holds_are_refused_by_dataflow_alone(tiled: ModuleType) -> None:
    longer = {**RAGGED, "tiles_long": 41}
    with pytest.raises(CannotMeasure, match="at most 40 tiles, and a row has 41"):
        launched(tiled, "dataflow", longer)
    assert launched(tiled, "separate", longer)
    spread, before_hopper = {**RAGGED, "tiles_long": 36}, FakeBench(clusters=0)
    with pytest.raises(CannotMeasure, match="a cluster, which this device lacks"):
        launched(tiled, "dataflow", spread, before_hopper)
    assert launched(tiled, "dataflow", {**RAGGED, "tiles_long": 8}, before_hopper)


def test_the_plan_of_a_trace_names_every_task(tiled: ModuleType) -> None:
    given = tiled.layout(RAGGED)
    for variant, after in (("separate", "stage"), ("phased", "stage"), ("queue", "job"), ("dataflow", "job")):
        a, b, c = tiled.tasks(variant, RAGGED, given)
        assert [stage.after for stage in (a, b, c)] == ["nothing", after, after]
        assert sum(tasks for _, tasks in a.jobs()) == sum(tasks for _, tasks in c.jobs()) == 48
        assert list(b.jobs()) == [(row, 1) for row in range(16)]


# --- what must show


def cases(shapes: dict[str, dict[str, int]], submissions: tuple[str, ...] = ("graph",)) -> list[dict[str, Any]]:
    found = []
    for shape, parameters in shapes.items():
        for variant in ("separate", "phased", "queue", "dataflow"):
            for submission in submissions:
                found.append(
                    {
                        "case_id": f"tiled:{variant}:{submission}:{shape}",
                        "experiment": "tiled",
                        "variant": variant,
                        "submission": submission,
                        "shape": shape,
                        "case_order": len(found),
                        "parameters": json.dumps(parameters),
                        "timed": True,
                    }
                )
    return found


def test_expected_counts_and_bytes() -> None:
    with empty_store() as connection:
        insert_rows(connection, "variant_case", cases({"ragged": RAGGED}, ("stream", "graph")))
        create_shared_views(connection, SOURCE.expected)
        found = connection.execute(
            "SELECT case_id, kernels, graph_nodes, kernel_names, logical_read_bytes, logical_write_bytes, "
            "memset_nodes FROM expected ORDER BY case_id"
        ).fetchall()
    x, tiles, rows = 48 * 4096, 48 * 8, 16 * 8  # bytes
    names = {
        "dataflow": ["dataflow"],
        "phased": ["persistent"],
        "queue": ["queue_init", "persistent"],
        "separate": ["tile_summary", "combine_rows", "normalise_tiles"],
    }
    assert found == [
        (
            f"tiled:{variant}:{submission}:ragged",
            len(kernels),
            len(kernels) if submission == "graph" else None,
            kernels,
            2 * x + tiles + rows if variant == "separate" else x,
            x + tiles + rows,
            0,
        )
        for variant, kernels in names.items()
        for submission in ("graph", "stream")
    ]


def task(case_id: str, stage: str, job: int, start_ns: int, end_ns: int) -> dict[str, Any]:
    return {
        "pass": "trace",
        "case_id": case_id,
        "invocation": 0,
        "stage": stage,
        "job": job,
        "tile": None if stage == "B" else 0,
        "worker": job,
        "multiprocessor": 0,
        "start_ns": start_ns,
        "end_ns": end_ns,
    }


def trace(case_id: str, second_a_ns: int) -> list[dict[str, Any]]:
    """Two rows of one tile each; row 0 takes 30 ns for its stages, the A of row 1 ends at `second_a_ns`."""
    return [
        task(case_id, "A", 0, 1000, 1010),
        task(case_id, "B", 0, 1010, 1020),
        task(case_id, "C", 0, 1020, 1030),
        task(case_id, "A", 1, 1000, second_a_ns),
        task(case_id, "B", 1, second_a_ns, second_a_ns + 10),
        task(case_id, "C", 1, second_a_ns + 10, second_a_ns + 20),
    ]


def test_consumers_before_the_last_summary_are_counted() -> None:
    known = cases({"ragged": RAGGED})
    tasks = trace("tiled:queue:graph:ragged", 1050) + trace("tiled:phased:graph:ragged", 1010)
    with store_of({"variant_case": known, "task": tasks}) as store:
        found = run_named(store, "before_last_summary", "tiled").records()
    assert columns(found, "variant workers a b b_early c c_early last_a_end_ns last_end_ns") == [
        ("phased", 2, 2, 2, 0, 2, 0, 10, 30),
        ("queue", 2, 2, 2, 1, 2, 1, 50, 70),
    ]


# --- figures


def draw(name: str, experiment: str, **tables: list[dict[str, Any]]) -> Any:
    source = next(source for source in figure_sources(experiment) if source.name == name)
    common = {
        "device": [{"name": "NVIDIA H200", "driver_version": "580"}],
        "run": [{"run_id": f"{experiment}-test"}],
    }
    given = {**common, **tables}
    assert given.keys() == source.queries.keys()
    return source.draw({key: pd.DataFrame(rows) for key, rows in given.items()})


def texts(figure: Any) -> str:
    return "\n".join(
        text.get_text() for axes in figure.axes for text in (axes.title, *axes.texts, axes._left_title)
    )


SHAPES = [
    {"shape": f"{distribution}-{rows}", "rows": rows, "distribution": distribution}
    for distribution in ("balanced", "ragged")
    for rows in (128, 512)
]


def completion(queue_ns: int) -> list[dict[str, Any]]:
    return [
        {
            "case_id": f"tiled:{variant}:{submission}:{row['shape']}",
            "variant": variant,
            "submission": submission,
            "shape": row["shape"],
            "samples": 21,
            "median_ns": median,
            "p10_ns": median - 500,
            "p90_ns": median + 900,
        }
        for row in SHAPES
        for variant, median in (
            ("separate", 16_000),
            ("phased", 20_000),
            ("queue", queue_ns),
            ("dataflow", 12_000),
        )
        for submission in ("stream", "graph")
    ]


def test_a_slow_queue_stands_apart_and_the_caption_says_so() -> None:
    apart = draw("tiled-completion", "tiled", completion=completion(900_000), shapes=SHAPES)
    beside = draw("tiled-completion", "tiled", completion=completion(50_000), shapes=SHAPES)
    assert len(apart.axes) == 2 * 3
    assert len(beside.axes) == 2 * 2
    assert "ragged, queue alone" in texts(apart)
    assert "on scales of its own" in apart.get_supxlabel().replace("\n", " ")
    assert "on scales of its own" not in beside.get_supxlabel().replace("\n", " ")
    empty = [{**row, "median_ns": None} for row in completion(1)]
    with pytest.raises(CannotAnswer, match="No host completion"):
        draw("tiled-completion", "tiled", completion=empty, shapes=SHAPES)


def test_the_order_of_tasks_tells_early_starts_in_each_title() -> None:
    rows = [
        {**one, "variant": variant, "shape": shape}
        for shape in ("balanced-128", "ragged-128")
        for variant, second in (("phased", 1010), ("queue", 1050))
        for one in trace("any", second)
    ]
    figure = draw("tiled-order", "tiled", tasks=rows)
    assert "queue: 1 of 2 B and 1 of 2 C early" in texts(figure)
    assert "phased: 0 of 2 B and 0 of 2 C early" in texts(figure)
    assert figure.get_suptitle() == "Order of tasks at ragged-128"
    assert "its own time scale" in figure.get_supxlabel().replace("\n", " ")
    with pytest.raises(CannotAnswer, match="No task was traced"):
        draw("tiled-order", "tiled", tasks=[])


FOUR = {
    "row": ("row-fourway", ("staged:stream", "staged:graph", "fused:stream", "fused:graph"), "32x1024"),
    "tiled": (
        "tiled-fourway",
        ("separate:stream", "separate:graph", "phased:graph", "queue:graph"),
        "ragged-128",
    ),
}


TOLD = {
    "row": ["40.0   ", "20.0   2.00× faster", "13.4   3.00× faster", "10.0   3.99× faster"],
    "tiled": ["40.0 µs   ", "20.0 µs   2.00× faster", "13.4 µs   3.00× faster", "10.0 µs   3.99× faster"],
}


@pytest.mark.parametrize("experiment", FOUR)
def test_four_ways_are_told_against_ordinary_launches(experiment: str) -> None:
    name, ways, shape = FOUR[experiment]
    places = [
        {
            "place": place,
            "label": way,
            "shape": shape,
            "case_order": place,
            "case_id": f"{experiment}:{way}:{shape}",
        }
        for place, way in enumerate(ways)
    ]
    samples = [
        {"case_id": row["case_id"], "round": turn, "duration_ns": 40_000 // (row["place"] + 1) + 10 * turn}
        for row in places
        for turn in range(5)
    ]
    figure = draw(name, experiment, ways=places, samples=samples)
    # 40, 20, 13.3 and 10 µs, and every round 10 ns slower than the one before.
    assert [text.get_text() for text in figure.axes[0].texts] == TOLD[experiment]
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "complementary, not successive guaranteed gains" in caption
    assert ("not a model-scale megakernel" in caption) == (experiment == "tiled")
    with pytest.raises(CannotAnswer, match="At no shape are all four ways timed"):
        draw(
            name,
            experiment,
            ways=places,
            samples=[row for row in samples if row["case_id"] != places[2]["case_id"]],
        )


@pytest.mark.parametrize("experiment", FOUR)
def test_the_ways_stand_for_the_cases_that_their_query_says(experiment: str) -> None:
    """The SQL is part of the provenance, and with it the case behind each label."""
    name, ways, shape = FOUR[experiment]
    known = [
        {
            "case_id": case.case_id,
            "variant": case.variant,
            "submission": case.submission,
            "shape": case.shape.name,
        }
        | {"case_order": place, "timed": True}
        for place, case in enumerate(load(find_experiment(experiment).protocol).cases())
        if case.shape.name == shape
    ]
    source = next(source for source in figure_sources(experiment) if source.name == name)
    with store_of({"variant_case": known}) as store:
        found = columns(store.rows(source.queries["ways"]), "place case_id")
    assert sorted(found) == [(place, f"{experiment}:{way}:{shape}") for place, way in enumerate(ways)]


# --- the schedulers, step by step
#
# Blocks are generators that give way before each access to a shared word, and a seeded scheduler picks who goes
# on: any order in which the device may run resident blocks is one that it may pick. It is the logic of the .cu
# files that is looked at here, not the memory model, for which their heads argue.

Block = Iterator[None]


def run_blocks(blocks: list[Block], seed: int, most_steps: int = 200_000) -> None:
    """Run resident blocks to their end in a random order. A block that waits forever exhausts the steps."""
    picks, alive = random.Random(seed), list(blocks)
    for _ in range(most_steps):
        if not alive:
            return
        block = picks.choice(alive)
        try:
            next(block)
        except StopIteration:
            alive.remove(block)
    raise TimeoutError(f"{len(alive)} blocks wait forever")


class Work:
    """What has been done, and that nothing is done too early or twice."""

    def __init__(self, counts: list[int]) -> None:
        self.row_tile = np.concatenate([[0], np.cumsum(counts)]).tolist()
        self.tile_row = np.repeat(np.arange(len(counts)), counts).tolist()
        self.a: set[int] = set()
        self.b: set[int] = set()
        self.c: set[int] = set()

    def tiles(self, row: int) -> range:
        return range(self.row_tile[row], self.row_tile[row + 1])

    def summarise(self, tile: int) -> None:
        assert tile not in self.a
        self.a.add(tile)

    def combine(self, row: int) -> None:
        assert row not in self.b
        assert self.a.issuperset(self.tiles(row))
        self.b.add(row)

    def normalise(self, tile: int) -> None:
        assert tile not in self.c
        assert self.tile_row[tile] in self.b
        self.c.add(tile)

    def all_done(self) -> bool:
        return len(self.a) == len(self.c) == len(self.tile_row) and len(self.b) == len(self.row_tile) - 1


class Meeting:
    """A barrier of so many, which can be used again."""

    def __init__(self, blocks: int) -> None:
        self.blocks, self.arrived = blocks, 0

    def wait(self) -> Block:
        yield
        turn = self.arrived // self.blocks
        self.arrived += 1
        while self.arrived // self.blocks == turn:
            yield


def dataflow_block(
    work: Work, pieces: list[list[int]], slots: int, rank: int, meeting: Meeting | None
) -> Block:
    """The block's own barrier needs no step: a block is one generator. Without a meeting B waits for no one."""
    own = [piece for piece in pieces if piece[1]]
    if not own:
        return
    spread = own[0][3] > slots
    for first, tiles, _, _ in own:
        for tile in range(first, first + tiles):
            yield
            work.summarise(tile)
    if spread and meeting:
        yield from meeting.wait()
    for _, _, row, _ in own:
        if not spread or rank == 0:
            yield
            work.combine(row)
    if spread and meeting:
        yield from meeting.wait()
    for first, tiles, _, _ in own:
        for tile in range(first, first + tiles):
            yield
            work.normalise(tile)


def run_dataflow(tiled: ModuleType, seed: int, resident: int, waits: bool = True) -> Work:
    """One invocation with so many clusters resident at a time; one leaves when all its blocks have ended."""
    parameters = {**RAGGED, "tiles_long": 11 + seed % 26, "tiles_short": 1 + seed % 10, "layout_seed": seed}
    work = Work(tiled.tiles_of_rows(parameters).tolist())
    planned = tiled.pieces(parameters).tolist()
    clusters = []
    for start in range(0, len(planned), tiled.CLUSTER):
        meeting = Meeting(tiled.CLUSTER) if waits else None
        members = enumerate(planned[start : start + tiled.CLUSTER])
        clusters.append([dataflow_block(work, own, tiled.SLOTS, rank, meeting) for rank, own in members])
    chance = random.Random(seed)
    chance.shuffle(clusters)  # no order of the clusters is promised
    for start in range(0, len(clusters), resident):
        run_blocks([block for cluster in clusters[start : start + resident] for block in cluster], seed)
    return work


COUNTS = [2, 5, 1, 4, 4, 1, 5, 2]


def test_dataflow_ends_with_every_task_done_once_however_few_clusters_are_resident(tiled: ModuleType) -> None:
    for seed in range(30):
        assert run_dataflow(tiled, seed, resident=1 + seed % 5).all_done()


def test_a_row_that_is_combined_without_meeting_its_other_blocks_is_caught(tiled: ModuleType) -> None:
    def planted(seed: int) -> None:
        run_dataflow(tiled, seed, resident=2, waits=False)

    assert outcomes(planted) & {AssertionError}


def outcomes(attempt: Callable[[int], None]) -> set[type[BaseException] | None]:
    found: set[type[BaseException] | None] = set()
    for seed in range(20):
        try:
            attempt(seed)
            found.add(None)
        except (AssertionError, TimeoutError) as error:
            found.add(type(error))
    return found


class QueueWords:
    def __init__(self, work: Work) -> None:
        rows, tiles = len(work.row_tile) - 1, len(work.tile_row)
        self.next_tile = self.head = self.tail = self.ended = 0
        self.entries: list[tuple[str, int] | None] = [None] * (rows + tiles)
        self.pending = [len(work.tiles(row)) for row in range(rows)]
        self.tasks = rows + 2 * tiles


Claim = Generator[None, None, tuple[str, int] | None]


def claim_ready(queue: QueueWords) -> Claim:
    yield
    place = queue.head
    while True:
        yield
        if place >= queue.tail:
            return None
        yield
        seen = queue.head
        if seen == place:
            queue.head = place + 1
            yield
            while (task := queue.entries[place]) is None:
                yield
            return task
        place = seen


def claim(queue: QueueWords, tiles: int) -> Claim:
    """A ready task, else a tile for A; None when all has ended."""
    while True:
        if (task := (yield from claim_ready(queue))) is not None:
            return task
        yield
        if queue.next_tile < tiles:
            yield
            tile = queue.next_tile
            queue.next_tile += 1
            if tile < tiles:
                return "A", tile
        yield
        if queue.ended == queue.tasks:
            return None


def push(queue: QueueWords, tasks: list[tuple[str, int]]) -> Block:
    yield
    place = queue.tail
    queue.tail += len(tasks)
    for offset, task in enumerate(tasks):
        yield
        queue.entries[place + offset] = task


def queue_worker(work: Work, queue: QueueWords, publish_first: bool = False) -> Block:
    while (task := (yield from claim(queue, len(work.tile_row)))) is not None:
        stage, which = task
        yield
        if stage == "A":
            if not publish_first:
                work.summarise(which)
            yield
            row = work.tile_row[which]
            queue.pending[row] -= 1
            if queue.pending[row] == 0:
                yield from push(queue, [("B", row)])
            if publish_first:
                yield
                work.summarise(which)
        elif stage == "B":
            work.combine(which)
            yield from push(queue, [("C", tile) for tile in work.tiles(which)])
        else:
            work.normalise(which)
        yield
        queue.ended += 1


def test_the_queue_ends_in_any_order_with_every_task_done_once() -> None:
    for seed in range(40):
        work = Work(COUNTS)
        queue = QueueWords(work)
        run_blocks([queue_worker(work, queue) for _ in range(1 + seed % 12)], seed)
        assert work.all_done()
        assert queue.head == queue.tail == len(queue.entries)
        assert queue.pending == [0] * len(COUNTS)


def test_a_task_that_is_published_before_it_is_done_is_caught() -> None:
    def planted(seed: int) -> None:
        work = Work(COUNTS)
        queue = QueueWords(work)
        run_blocks([queue_worker(work, queue, publish_first=True) for _ in range(6)], seed, 5_000)

    assert outcomes(planted) & {AssertionError}


def phased_block(work: Work, word: list[int], block: int, blocks: int) -> Block:
    rows = range(block, len(work.row_tile) - 1, blocks)
    stages: list[tuple[range, Callable[[int], None]]] = [
        (range(block, len(work.tile_row), blocks), work.summarise),
        (rows, work.combine),
        (range(block, len(work.tile_row), blocks), work.normalise),
    ]
    for place, (own, do) in enumerate(stages):
        if place:
            yield
            before = word[0]
            word[0] = (before + (2**31 - (blocks - 1) if block == 0 else 1)) % 2**32
            yield
            while not (before ^ word[0]) & 2**31:
                yield
        for one in own:
            yield
            do(one)


def test_the_grid_barrier_needs_no_reset_and_any_number_of_blocks() -> None:
    word = [0]
    for seed in range(40):
        blocks = 1 + seed % 11
        work = Work(COUNTS)
        run_blocks([phased_block(work, word, block, blocks) for block in range(blocks)], seed)
        assert work.all_done()
        assert word[0] in (0, 2**31)
