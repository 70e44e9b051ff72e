"""The experiment `rms` without a GPU: kernels, driver, expectations, queries and figures."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evidence_rows import columns, store_of
from python_files import module_of

from nsight_suite.driving.build import Build, compile_source
from nsight_suite.driving.validation import generator
from nsight_suite.errors import CannotAnswer, CannotMeasure
from nsight_suite.evidence.store import create_shared_views, empty_store, insert_rows
from nsight_suite.figurefiles import FigureSource, figure_sources
from nsight_suite.protocol import load
from nsight_suite.querying import find_query, run_sql
from nsight_suite.sources import data_root, find_experiment

SOURCE = find_experiment("rms")
PROTOCOL = load(SOURCE.protocol)
KERNELS = data_root() / "kernels" / "rms"
WIDTH = 131072
H200 = {"multiprocessors": 132, "shared_bytes_per_block": 227 * 1024}
BASELINE = [
    *(
        "square",
        "mean_square",
        "inverse_rms",
        "row_max",
        "subtract",
        "scale",
        "exponential",
        "row_sum",
        "divide",
    ),
]
LOCAL = ["local_statistics", "local_sums", "local_normalise"]


@pytest.fixture(scope="module")
def rms() -> ModuleType:
    return module_of(SOURCE.driver)


@pytest.fixture(scope="module")
def mega() -> Build:
    return compile_source(KERNELS / "mega.cu", "sm_90")


# ---- kernels


@pytest.mark.parametrize(
    ("file", "names"), [("baseline", BASELINE), ("local", LOCAL), ("mega", ["mega_grid", "mega_row"])]
)
def test_sources_hold_their_kernels_and_none_spills(file: str, names: list[str]) -> None:
    build = compile_source(KERNELS / f"{file}.cu", "sm_90")
    assert [kernel.name for kernel in build.kernels] == sorted(names)
    assert not any(kernel.local_bytes_per_thread for kernel in build.kernels)


def test_a_tile_and_what_stands_beside_it_fit_a_block(rms: ModuleType, mega: Build) -> None:
    """1024 threads leave 64 registers for each; the driver sets aside what is static."""
    for kernel in mega.kernels:
        assert kernel.registers_per_thread <= 64
        assert 0 < kernel.static_shared_bytes <= rms.STATIC_SHARED


def test_blocks_meet_at_the_scope_of_the_device_and_order_what_they_must(mega: Build) -> None:
    """A barrier publishes other memory, so it releases and acquires; a message is all there is to know."""
    grid, row = (mega.ptx.decode().partition(f".entry {name}(")[2] for name in ("mega_grid", "mega_row"))
    grid, row = (body.partition(".entry")[0] for body in (grid, row))
    assert grid.count("atom.acq_rel.gpu.add.u32") == grid.count("ld.acquire.gpu.u32") == 2
    assert row.count("st.relaxed.gpu") == row.count("ld.relaxed.gpu") - 1 == 2
    assert not any(word in row for word in ("atom", "fence", "membar", "acquire", "release"))


# ---- driver


def x_of(rms: ModuleType, fixture: str, rows: int = 3, width: int = 4096) -> np.ndarray:
    parameters = {"rows": rows, "columns": width, "multiprocessors": 132}
    return rms.inputs(fixture, parameters, generator(1, fixture, "tiny"))["x"]


def test_the_reference_is_softmax_of_the_scaled_row(rms: ModuleType) -> None:
    # mean(x²) = 1 - 1e-5 makes r one: softmax(c, -c) is then 1 / (1 + exp(-2 c)) and the rest.
    c = math.sqrt(1 - 1e-5)
    x = np.array([[c, -c], [0, 0], [3000, -3000]])
    y = rms.reference({"rows": 3, "columns": 2}, {"x": x})
    assert y.dtype == np.float64
    first = 1 / (1 + math.exp(-2 * c))
    np.testing.assert_allclose(y, [[first, 1 - first], [0.5, 0.5], [0.880797, 0.119203]], atol=1e-6)
    assert x[2, 0] == 3000  # the input is left as it was


def test_it_is_not_ordinary_softmax(rms: ModuleType) -> None:
    x = np.array([[0.0, 8.0, 0.0, 0.0]])
    # r = 1 / sqrt(16 + 1e-5): r * 8 is two, where ordinary softmax has eight.
    two = math.exp(2) / (math.exp(2) + 3)
    np.testing.assert_allclose(rms.reference({"rows": 1, "columns": 4}, {"x": x})[0, 1], two, rtol=1e-5)


def test_fixtures_fit_the_declared_arrays_and_come_again(rms: ModuleType) -> None:
    parameters = {"rows": 3, "columns": 4096, "multiprocessors": 132}
    declared = rms.arrays(parameters)
    for fixture in (*PROTOCOL.fixtures, PROTOCOL.held_out):
        given = rms.inputs(fixture, parameters, generator(1, fixture, "tiny"))
        assert {name: (array.shape, array.dtype) for name, array in given.items()} == {
            name: (declared[name][0], np.dtype(declared[name][1])) for name in given
        }
        assert np.isfinite(given["x"]).all()
        assert (given["x"] == x_of(rms, fixture)).all()
        # Counters and messages begin as zeros; as inputs they are not overwritten before a check.
        assert set(given) - {"x"} == {"arrivals", "statistics_messages", "sum_messages"}
        assert not any(array.any() for name, array in given.items() if name != "x")
    with pytest.raises(ValueError, match="no fixture 'unheard'"):
        x_of(rms, "unheard")


def test_each_fixture_is_what_its_name_says(rms: ModuleType) -> None:
    wide, ties, shifted = (x_of(rms, name, 2, WIDTH) for name in ("wide", "ties", "shifted"))
    assert np.abs(wide).min() < 2e-3
    assert np.abs(wide).max() > 500
    assert ((ties == ties.max(axis=1, keepdims=True)).sum(axis=1) > 1000).all()
    assert ((shifted > 100).sum(axis=1) == 8).all()
    scaled = shifted / np.sqrt((shifted.astype(np.float64) ** 2).mean(axis=1, keepdims=True) + 1e-5)
    with np.errstate(over="ignore"):  # without subtracting the maximum, FP32 gives up
        assert not np.isfinite(np.exp(scaled.astype(np.float32)).sum(axis=1)).any()


def kernel_like(rms: ModuleType, x: np.ndarray, tiles: int, skip: int = 0) -> np.ndarray:
    """The algorithm of the kernels in FP32 by NumPy; the last `skip` elements are left out of the sums."""
    width = x.shape[1]
    seen = x[:, : width - skip]
    squares = np.array(
        [[part.astype(np.float32) @ part for part in np.array_split(row, tiles)] for row in seen]
    )
    r = 1 / np.sqrt(squares.sum(axis=1, keepdims=True, dtype=np.float32) / np.float32(width) + np.float32(1e-5))
    steepness = (r * np.float32(1.442695)).astype(np.float32)
    e = np.exp2((x - x.max(axis=1, keepdims=True)) * steepness)
    return e * (1 / e[:, : width - skip].sum(axis=1, keepdims=True))


@pytest.mark.parametrize("fixture", ["normal", "wide", "ties", "faint", "shifted"])
def test_tolerances_admit_the_algorithm_and_catch_a_skipped_piece(rms: ModuleType, fixture: str) -> None:
    allowed = PROTOCOL.tolerances
    x = x_of(rms, fixture, 2, WIDTH)
    right = rms.reference({}, {"x": x})
    limit = allowed["absolute"] + allowed["relative"] * right
    assert (np.abs(kernel_like(rms, x, 128) - right) <= limit).all()
    wrong = kernel_like(rms, x, 128, skip=1024)  # one tile of 128: shares are too large by about 0.8 %
    sums = np.abs(wrong.sum(axis=1) - 1)
    if fixture != "shifted":  # there all weight lies in eight elements
        assert (sums > allowed["row_sum"]).all()


def test_a_fixture_catches_who_forgets_the_epsilon(rms: ModuleType) -> None:
    x = x_of(rms, "faint", 2, WIDTH)
    assert (np.mean(x.astype(np.float64) ** 2, axis=1) < rms.EPSILON).all()
    right = rms.reference({}, {"x": x})
    scaled = x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=1, keepdims=True))
    forgetful = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    limit = PROTOCOL.tolerances["absolute"] + PROTOCOL.tolerances["relative"] * right
    assert (np.abs(forgetful - right) / limit).max() > 100


@pytest.mark.parametrize(
    ("rows", "tiles", "at_once", "launches"),
    [(1, 128, 1, 1), (8, 16, 8, 1), (32, 4, 32, 1), (33, 4, 33, 1), (34, 4, 17, 2), (64, 4, 32, 2)],
)
def test_rows_are_spread_by_multiprocessors_and_shared_memory(
    rms: ModuleType, rows: int, tiles: int, at_once: int, launches: int
) -> None:
    assert rms.spread(rows, WIDTH, 132, 226 * 1024) == rms.Spread(tiles, at_once, launches)


def test_a_device_with_less_shared_memory_takes_more_blocks_and_launches(rms: ModuleType) -> None:
    assert rms.spread(64, WIDTH, 132, 98 * 1024) == rms.Spread(8, 16, 4)
    assert rms.spread(1, WIDTH, 4, 226 * 1024) == rms.Spread(4, 1, 1)
    with pytest.raises(CannotMeasure, match="needs 4 blocks"):
        rms.spread(1, WIDTH, 3, 226 * 1024)


class FakeBench(SimpleNamespace):
    """Notes launches instead of preparing them."""

    def __init__(self, active: int = 1) -> None:
        super().__init__(**H200, asked=[])
        self.active = active
        self._kernels: dict[str, Any] = {}

    def kernels(self, file: str) -> Any:
        names = {"baseline.cu": BASELINE, "local.cu": LOCAL, "mega.cu": ["mega_grid", "mega_row"]}[file]
        return self._kernels.setdefault(file, {name: SimpleNamespace(name=name, source=file) for name in names})

    def active_blocks(self, kernel: Any, block: tuple[int, ...], shared_bytes: int = 0) -> int:
        self.asked.append((kernel.name, block, shared_bytes))
        return self.active

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any, **more: Any) -> Any:
        return SimpleNamespace(
            name=kernel.name, kernel=kernel, grid=grid, block=block, arguments=arguments, **more
        )


def planned(rms: ModuleType, variant: str, rows: int, bench: FakeBench | None = None) -> list[Any]:
    """The launches of a variant; device arrays are stood for by their names."""
    names = rms.arrays({"rows": rows, "columns": WIDTH, "multiprocessors": 132})
    return list(
        rms.launches(
            bench or FakeBench(), variant, {"rows": rows, "columns": WIDTH}, {name: name for name in names}
        )
    )


def test_controls_differ_from_mega_grid_by_one_argument_or_by_the_way_of_launching(rms: ModuleType) -> None:
    bench = FakeBench()
    for rows in (1, 64):
        form, recompute, reload, ordinary = (
            planned(rms, f"mega_grid{end}", rows, bench) for end in ("", "_recompute", "_reload", "_ordinary")
        )
        for others, retention, cooperative in ((recompute, 1, True), (reload, 2, True), (ordinary, 0, False)):
            for launch, other in zip(form, others, strict=True):
                assert (launch.cooperative, launch.arguments[-1]) == (True, 0)
                assert (other.cooperative, other.arguments[-1]) == (cooperative, retention)
                assert other.kernel is launch.kernel
                assert other.arguments[:-1] == launch.arguments[:-1]
                assert (other.grid, other.block, other.shared_bytes) == (
                    *(launch.grid, launch.block, launch.shared_bytes),
                )


def test_sixty_four_rows_take_two_launches_that_cover_every_row_once(rms: ModuleType) -> None:
    for variant in rms.MEGA:
        launches = planned(rms, variant, 64)
        position = -2 if variant in rms.RETENTION else -1
        assert [(int(launch.arguments[position]), launch.grid) for launch in launches] == [
            *((0, (4, 32)), (32, (4, 32))),
        ]
        assert {(launch.block, launch.shared_bytes) for launch in launches} == {((1024,), 131072)}


def test_blocks_that_would_not_be_resident_are_refused(rms: ModuleType) -> None:
    for variant in rms.MEGA:
        bench = FakeBench(active=0)
        with pytest.raises(CannotMeasure, match="128 blocks resident at once"):
            planned(rms, variant, 8, bench)
        kernel = "mega_grid" if variant in rms.RETENTION else "mega_row"
        assert bench.asked == [(kernel, (1024,), 32768)]


def test_every_block_has_a_thread_for_each_tile_of_its_row(rms: ModuleType) -> None:
    """of_tiles fetches one value per thread."""
    for rows in (1, 8, 32, 64):
        for variant in ("local", "mega_row"):
            for launch in planned(rms, variant, rows):
                assert launch.grid[0] <= min(rms.MOST_TILES, launch.block[0])
                assert launch.block[0] % 32 == 0
                assert WIDTH // launch.grid[0] <= 16 * launch.block[0] or variant != "local"


def test_odd_widths_and_unknown_variants_are_refused(rms: ModuleType) -> None:
    with pytest.raises(ValueError, match="multiples of 4096"):
        rms.launches(FakeBench(), "local", {"rows": 1, "columns": 1000}, {})
    with pytest.raises(ValueError, match="no variant 'other'"):
        planned(rms, "other", 1)


# ---- expectations


def cases() -> list[dict[str, Any]]:
    """Rows of variant_case as the protocol gives them."""
    return [
        {
            "case_id": case.case_id,
            "experiment": "rms",
            "variant": case.variant,
            "submission": case.submission,
            "shape": case.shape.name,
            "case_order": order,
            "parameters": f'{{"rows": {case.shape.parameters["rows"]}, "columns": {WIDTH}}}',
            "timed": True,
        }
        for order, case in enumerate(PROTOCOL.cases())
    ]


def expected(**tables: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """`expected` by case, over these tables and the protocol's cases."""
    with empty_store() as connection:
        for table, rows in {"variant_case": cases(), **tables}.items():
            insert_rows(connection, table, rows)
        create_shared_views(connection, SOURCE.expected)
        found = connection.execute("SELECT * FROM expected")
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return {row["case_id"]: row for row in rows}


GPU = [{"pass": "timing", "uuid": "GPU-1", "multiprocessors": 132, "compute_capability": "9.0"}]
ARRAY = 4 * WIDTH  # bytes of one row


@pytest.mark.parametrize(
    ("case", "names", "reads", "writes"),
    [
        ("baseline:stream:1x131072", BASELINE, 8 * ARRAY + 16, 5 * ARRAY + 16),
        ("baseline:graph:64x131072", BASELINE, 512 * ARRAY + 1024, 320 * ARRAY + 1024),
        ("local:graph:1x131072", LOCAL, 3 * ARRAY + 20 * 128, ARRAY + 12 * 128),
        ("local:graph:8x131072", LOCAL, 24 * ARRAY + 20 * 256, 8 * ARRAY + 12 * 256),
        ("mega_grid:graph:32x131072", ["mega_grid"], 32 * ARRAY, 32 * ARRAY),
        ("mega_grid_reload:graph:64x131072", ["mega_grid"] * 2, 64 * ARRAY, 64 * ARRAY),
        ("mega_row_ordinary:stream:64x131072", ["mega_row"] * 2, 64 * ARRAY, 64 * ARRAY),
    ],
)
def test_expectations_worked_by_hand(case: str, names: list[str], reads: int, writes: int) -> None:
    row = expected(device=GPU)[f"rms:{case}"]
    nodes = len(names) if "graph" in case else None
    assert (row["kernels"], row["graph_nodes"], row["kernel_names"]) == (len(names), nodes, names)
    assert (row["logical_read_bytes"], row["logical_write_bytes"]) == (reads, writes)


def test_what_is_expected_is_what_the_driver_launches(rms: ModuleType) -> None:
    declared = expected(device=GPU)
    assert len(declared) == 8 * 2 * 4
    for case in cases():
        rows = int(case["shape"].partition("x")[0])
        launched = [launch.name for launch in planned(rms, case["variant"], rows)]
        assert declared[case["case_id"]]["kernel_names"] == launched
        assert declared[case["case_id"]]["kernels"] == len(launched)


def test_smaller_devices_need_more_launches(rms: ModuleType) -> None:
    small = [{"pass": "timing", "multiprocessors": 128, "compute_capability": "8.9"}]
    assert expected(device=small)["rms:mega_row:graph:64x131072"]["kernels"] == 4
    assert rms.spread(64, WIDTH, 128, 98 * 1024).launches == 4


def test_an_unknown_device_is_answered_from_the_plan_or_not_at_all() -> None:
    case = "rms:mega_row:graph:64x131072"
    plan = [{"pass": name, "case_id": case, "ordinal": i} for name in ("validate", "nsys") for i in (0, 1)]
    assert expected(planned_launch=plan)[case]["kernels"] == 2
    assert expected()[case]["kernels"] is None
    assert expected()[case]["kernel_names"] is None
    assert expected()["rms:local:graph:64x131072"]["kernels"] == 3


# ---- queries


def ask(query: str, **tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    with store_of({"variant_case": cases(), **tables}) as store:
        return run_sql(store, find_query(query, "rms").sql).records()


def samples(times: dict[tuple[str, str], list[int]], shape: str = "8x131072", how: str = "graph") -> list[Any]:
    """Completions in ns by (session, variant), one per round."""
    return [
        {
            "pass": session,
            "case_id": f"rms:{variant}:{how}:{shape}",
            "quantity": "completion",
            "round": round_,
            "duration_ns": duration,
        }
        for (session, variant), durations in times.items()
        for round_, duration in enumerate(durations)
    ]


def chosen(variant: str, shape: str = "8x131072", how: str = "graph") -> list[dict[str, Any]]:
    return [
        {
            **{"pass": "pilot", "group_name": "mega", "shape": shape, "submission": how, "variant": candidate},
            **{"rounds": 21, "median_ns": 1.0, "chosen": candidate == variant},
        }
        for candidate in ("mega_grid", "mega_row")
    ]


TWO_GPUS = [{"pass": "timing", "uuid": "GPU-1"}, {"pass": "timing-2", "uuid": "GPU-2"}]
TIMES = {
    ("timing", "baseline"): [40_000, 40_000, 41_000],
    ("timing-2", "baseline"): [44_000, 44_000, 44_000],
    ("timing", "local"): [12_000, 11_000, 13_000],  # median 12,000
    ("timing-2", "local"): [14_000, 14_000, 99_000],  # median 14,000
    ("timing", "mega_row"): [10_000, 10_000, 10_000],
    ("timing-2", "mega_row"): [10_000, 30_000, 10_000],
    ("timing", "mega_grid"): [9_000, 9_000, 9_000],
    ("pilot", "mega_row"): [1, 1, 1],
}


def test_the_headline_averages_session_medians_and_takes_what_the_pilot_chose() -> None:
    found = ask("headline", sample=samples(TIMES), choice=chosen("mega_row"), device=TWO_GPUS)
    (row,) = [row for row in found if (row["shape"], row["submission"]) == ("8x131072", "graph")]
    names = (
        "row_count mega sessions devices baseline_ns local_ns local_low_ns local_high_ns mega_ns ratio faster"
    )
    assert columns([row], names) == [
        (8, "mega_row", 2, 2, 42_000, 13_000, 12_000, 14_000, 10_000, 1.3, "mega"),
    ]


def test_a_slower_megakernel_is_shown_as_openly() -> None:
    slower = {**TIMES, ("timing", "mega_row"): [20_000] * 3, ("timing-2", "mega_row"): [32_000] * 3}
    found = ask("headline", sample=samples(slower), choice=chosen("mega_row"), device=TWO_GPUS[:1])
    (row,) = [row for row in found if row["mega"]]
    assert columns([row], "devices mega_ns mega_low_ns mega_high_ns ratio faster") == [
        (1, 26_000, 20_000, 32_000, 0.5, "local"),
    ]


def test_without_a_pilot_no_form_is_taken() -> None:
    found = ask("headline", sample=samples(TIMES))
    assert len(found) == 8
    assert {(row["mega"], row["mega_ns"], row["ratio"], row["faster"]) for row in found} == {(None,) * 4}


def test_controls_are_paired_by_round_inside_a_session() -> None:
    times = {
        # Each round has its own drift, which the pairing takes out: the last one is far off for both.
        ("timing", "mega_grid"): [9_000, 10_000, 12_000],
        ("timing", "mega_grid_reload"): [9_500, 10_500, 12_500],
        ("timing-2", "mega_grid"): [10_000, 11_000, 90_000],
        ("timing-2", "mega_grid_reload"): [
            12_000,
            11_700,
            90_700,
        ],  # + 2,000, 700, 700: medians differ by 1,000
        ("timing", "mega_row"): [8_000, 8_000, 8_000],
        ("timing", "mega_row_ordinary"): [7_900, 7_900, 7_900],
    }
    found = ask("controls", sample=samples(times))
    names = "kind control against sessions rounds delta_ns delta_low_ns delta_high_ns relative"
    assert columns(found, names) == [
        ("retention", "mega_grid_reload", "mega_grid", 2, 6, 600, 500, 700, round(600 / 10_500, 4)),
        ("launch", "mega_row_ordinary", "mega_row", 1, 3, -100, -100, -100, -0.0125),
    ]
    assert {(row["shape"], row["row_count"], row["submission"]) for row in found} == {("8x131072", 8, "graph")}


def test_session_means_span_the_sessions_medians() -> None:
    found = ask("session_means", sample=samples(TIMES), choice=chosen("mega_row"))
    assert columns(found, "variant row_count sessions samples mean_ns low_ns high_ns chosen") == [
        ("baseline", 8, 2, 3, 42_000, 40_000, 44_000, None),
        ("local", 8, 2, 3, 13_000, 12_000, 14_000, None),
        ("mega_grid", 8, 1, 3, 9_000, 9_000, 9_000, False),
        ("mega_row", 8, 2, 3, 10_000, 10_000, 10_000, True),
    ]


# ---- figures


def source(name: str) -> FigureSource:
    return next(source for source in figure_sources("rms") if source.name == name)


RUN = pd.DataFrame({"run_id": ["rms-tiny"]})
DEVICE = pd.DataFrame(
    {"pass": ["timing", "timing-2"], "name": "NVIDIA H200", "uuid": ["GPU-1", "GPU-2"], "driver_version": "580"}
)


def texts(figure: Any) -> str:
    """Everything that is written on a figure, panels included."""
    found = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return "\n".join([*(text.get_text() for text in found), *(axes.get_title("left") for axes in figure.axes)])


def test_completion_bars_start_at_zero_and_fill_their_axes() -> None:
    rows = [
        (
            shape,
            variant,
            submission,
            base * slow,
            variant == "mega_row" or (None if "mega" not in variant else False),
        )
        for shape, base in (("1x131072", 10_000), ("64x131072", 200_000))
        for variant, slow in (("baseline", 9), ("local", 2), ("mega_grid", 1.2), ("mega_row", 1))
        for submission in ("stream", "graph")
    ]
    means = pd.DataFrame(rows, columns=["shape", "variant", "submission", "mean_ns", "chosen"])
    means = means.assign(
        low_ns=means["mean_ns"] * 0.99, high_ns=means["mean_ns"] * 1.01, sessions=2, samples=21
    )
    means["chosen"] = means["chosen"].where(means["variant"].str.startswith("mega"))
    figure = source("rms-completion").draw({"means": means, "device": DEVICE, "run": RUN})
    for axes in figure.axes:
        low, high = axes.get_xlim()
        longest = max(bar.get_width() for bar in axes.patches)
        assert low == 0
        assert 0.75 <= longest / high < 0.9
    figure.draw_without_rendering()
    written = texts(figure) + figure._suptitle.get_text()
    assert "axes of the panels differ" in written
    assert written.count("pilot") - written.count("the pilot") == 4
    assert "GPU-1" in written
    with pytest.raises(CannotAnswer, match="No host completion"):
        source("rms-completion").draw({"means": means[:0], "device": DEVICE, "run": RUN})


def test_controls_have_a_value_beside_every_dot() -> None:
    controls = pd.DataFrame(
        [
            ("1x131072", "graph", "retention", "mega_grid_reload", "mega_grid", 600, 500, 700, 0.06, 2),
            ("1x131072", "stream", "retention", "mega_grid_recompute", "mega_grid", -250, -300, -200, -0.02, 2),
            ("64x131072", "graph", "launch", "mega_row_ordinary", "mega_row", 40, 30, 50, 0.004, 2),
        ],
        columns=[
            *("shape", "submission", "kind", "control", "against", "delta_ns", "delta_low_ns", "delta_high_ns"),
            *("relative", "sessions"),
        ],
    )
    figure = source("rms-controls").draw({"controls": controls, "device": DEVICE, "run": RUN})
    figure.draw_without_rendering()
    written = texts(figure)
    for value in ("+0.60 (+6.0 %)", "-0.25 (-2.0 %)", "+0.04 (+0.4 %)"):
        assert value in written
    low, high = figure.axes[0].get_xlim()
    assert low < -0.3 < 0.7 < high
    with pytest.raises(CannotAnswer, match="No control"):
        source("rms-controls").draw({"controls": controls[:0], "device": DEVICE, "run": RUN})


def test_the_graph_has_the_direct_edges_and_is_no_launch_graph() -> None:
    kernels = pd.DataFrame(
        {"variant": ["baseline", "local", "mega_row"], "fewest": [9, 3, 1], "most": [9, 3, 2]}
    )
    figure = source("rms-graph").draw({"kernels": kernels, "run": RUN})
    figure.draw_without_rendering()
    written = texts(figure).replace("\n", " ")
    assert "directly to the exponentiation" in written
    assert "directly to the normalisation" in written
    assert "not a launch graph" in figure._supxlabel.get_text().replace("\n", " ")
    assert "mega_row 1 or 2" in figure._supxlabel.get_text().replace("\n", " ")
    with pytest.raises(CannotAnswer, match="declares no kernels"):
        source("rms-graph").draw({"kernels": kernels[:0], "run": RUN})


def test_the_nodes_of_the_graph_need_each_other_as_the_operator_says() -> None:
    graph = module_of(data_root() / "figures" / "rms_graph.py")
    needs = defaultdict(set)
    for begin, end, _, _ in graph.EDGES:
        needs[end].add(begin)
    assert needs == {
        "mean": {"x"},
        "rms": {"mean"},
        "max": {"x"},
        "exp": {"x", "rms", "max"},
        "sum": {"exp"},
        "normalise": {"exp", "sum"},
        "y": {"normalise"},
    }
    assert {(begin, end) for begin, end, _, direct in graph.EDGES if direct} == {
        *(("x", "exp"), ("exp", "normalise")),
    }


def test_the_storage_diagram_tells_the_tiles_of_the_run() -> None:
    launches = pd.DataFrame(
        [
            ("1x131072", 0, 0, "mega_row", 128, 1, 4096),
            ("64x131072", 1, 0, "mega_row", 4, 32, 131072),
            ("64x131072", 1, 1, "mega_row", 4, 32, 131072),
            ("64x131072", 2, 0, "local_sums", 32, 64, 0),
        ],
        columns=[
            "shape",
            "case_order",
            "ordinal",
            "name",
            "grid_x",
            "grid_y",
            "dynamic_shared_bytes",
        ],
    )
    builds = pd.DataFrame(
        {
            "kernel": ["local_sums", "mega_row"],
            "registers_per_thread": [32, 56],
            "static_shared_bytes": [300, 400],
        }
    )
    figure = source("rms-storage").draw({"launches": launches, "builds": builds, "run": RUN})
    figure.draw_without_rendering()
    told = figure._supxlabel.get_text().replace("\n", " ")
    assert "1 × 131072: 128 blocks of 4 KiB" in told
    assert "64 × 131072: 2 launches of 128 blocks of 128 KiB" in told
    assert "local_sums 32, mega_row 56" in told
    for place in ("registers", "shared\nmemory", "global\nmemory"):
        assert texts(figure).count(place) >= 2
    with pytest.raises(CannotAnswer, match="No launch was planned"):
        source("rms-storage").draw({"launches": launches[:0], "builds": builds, "run": RUN})


def test_queries_of_the_figures_are_found_and_run() -> None:
    for figure in figure_sources("rms"):
        if not figure.name.startswith("rms-"):
            continue
        for query in figure.queries.values():
            text = query if " " in query else find_query(query, "rms").sql
            with store_of({}) as store:
                assert run_sql(store, text).records() == []


@pytest.mark.parametrize("name", ["headline", "controls", "session_means"])
def test_queries_document_their_columns(name: str) -> None:
    query = find_query(name, "rms")
    with store_of({"variant_case": cases()}) as store:
        found = run_sql(store, query.sql)
    assert list(found.frame().columns) == list(query.columns)


def test_every_file_opens_with_its_story() -> None:
    files = [*sorted(KERNELS.glob("*.cu")), KERNELS / "rms.cuh"]
    assert len(files) == 4
    for path in files:
        assert path.read_text().startswith("// "), Path(path).name
