"""In which order the tasks of `tiled` ran: one invocation of each variant, by row and time.

From the pass `trace`, whose build is instrumented: the order is evidence, the durations are not timings. Each
panel has its own time scale.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, ORANGE, VERMILLION, origin, titled

NAME = "tiled-order"
EXPERIMENTS = ("tiled",)
QUERIES = {
    # The first traced replay of each variant at each shape.
    "tasks": """
        SELECT c.variant, c.shape, t.stage, t.job, t.worker, t.start_ns, t.end_ns
        FROM task AS t JOIN variant_case AS c ON c.case_id = t.case_id
        WHERE c.submission = 'graph'
            AND t.invocation = (SELECT min(other.invocation) FROM task AS other WHERE other.case_id = t.case_id)
        ORDER BY c.case_order, t.start_ns, t.end_ns, t.stage, t.job, t.tile""",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'trace' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

# By stage: colour, where it lies within its row's line, and what it does.
_LOOKS = {
    "A": (BLUE, -0.28, "A: summary of a tile"),
    "B": (VERMILLION, 0.0, "B: combination of a row"),
    "C": (ORANGE, 0.28, "C: normalisation of a tile"),
}


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    tasks = tables["tasks"]
    if tasks.empty:
        raise CannotAnswer("No task was traced.", "Run the `trace` pass.")
    shape = _shape(tasks)
    tasks = tasks[tasks["shape"] == shape]
    variants = list(dict.fromkeys(tasks["variant"]))
    lines = -(-len(variants) // 2)
    figure = Figure(figsize=(12.4, 2.0 + 4.0 * lines))
    grid = figure.subplots(lines, 2, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place < len(variants):
            own = tasks[tasks["variant"] == variants[place]]
            _panel(axes, own)
            axes.set_title(f"{variants[place]}: {early(own)}")
        else:
            axes.set_visible(False)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=len(labels), frameon=False, handlelength=1.2
    )
    titled(figure, f"Order of tasks at {shape}", _caption(tables))
    return figure


def _shape(tasks: pd.DataFrame) -> str:
    """A ragged shape before a balanced one, and the one with the most tasks."""
    counts = tasks.groupby("shape").size()
    return str(max(counts.index, key=lambda shape: (shape.startswith("ragged"), counts[shape], shape)))


def early(tasks: pd.DataFrame) -> str:
    """How many B and C of an invocation began before its last A ended."""
    last = tasks[tasks["stage"] == "A"]["end_ns"].max()
    told = []
    for stage in ("B", "C"):
        starts = tasks[tasks["stage"] == stage]["start_ns"]
        told.append(f"{int((starts < last).sum()):,} of {len(starts):,} {stage}")
    return f"{' and '.join(told)} early"


def _panel(axes: Axes, tasks: pd.DataFrame) -> None:
    zero = tasks["start_ns"].min()
    for stage, (colour, offset, label) in _LOOKS.items():
        own = tasks[tasks["stage"] == stage]
        # One line with gaps, a piece per task, which keeps the SVG small.
        gaps = np.full(len(own), np.nan)
        times = np.column_stack([(own["start_ns"] - zero) / 1e3, (own["end_ns"] - zero) / 1e3, gaps])
        places = np.column_stack([own["job"] + offset, own["job"] + offset, gaps])
        axes.plot(
            times.ravel(), places.ravel(), color=colour, linewidth=1.1, solid_capstyle="butt", label=label
        )
    last = (tasks[tasks["stage"] == "A"]["end_ns"].max() - zero) / 1e3
    axes.axvline(last, color=BLACK, linewidth=1.0, linestyle="--", label="end of the last A")
    axes.set_xlim(left=0)
    axes.set_ylim(tasks["job"].max() + 1, -1)
    axes.set_xlabel("µs since the first task began, a scale of its own")
    axes.set_ylabel("row")


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    return (
        "One replay of each variant's graph by an instrumented build; a piece per task, from its start to its "
        "end by the device's global timer. Early: begun before the last A of the invocation had ended. Every "
        "panel has its own time scale, and the times are those of the instrumented build: compare orders, not "
        "lengths. An earlier start of consumers is not a speed-up.\n"
        f"{origin(tables)}"
    )
