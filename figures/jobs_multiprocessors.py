"""Where and when each job's stages ran: tasks on multiprocessors, one invocation per variant and distribution.

From the instrumented pass `trace`, by the device's global timer. Each panel has its own time scale. The kernels
run under an artificial reservation that leaves one block to a multiprocessor.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, GREY, ORANGE, origin, titled

NAME = "jobs-multiprocessors"
EXPERIMENTS = ("jobs",)
QUERIES = {
    # The first traced invocation of each variant and distribution: of the graph where that was traced, else of
    # the stream.
    "tasks": """
        SELECT c.shape, c.variant, c.submission, t.stage, t.job, t.multiprocessor, t.start_ns, t.end_ns
        FROM task AS t
        JOIN variant_case AS c ON c.case_id = t.case_id
        QUALIFY dense_rank() OVER (
            PARTITION BY c.shape, c.variant ORDER BY c.submission = 'graph' DESC, t.invocation
        ) = 1
        ORDER BY c.case_order, t.start_ns, t.stage, t.job, t.multiprocessor""",
    "iterations": "iterations",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'trace' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

_VARIANTS = ("separate", "fused", "queue")
# Light and dark, so that the stages stay apart without colour.
_STAGES = {"A": ORANGE, "B": BLUE}


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    tasks = tables["tasks"].dropna(subset=["multiprocessor", "start_ns", "end_ns"])
    tasks = tasks[tasks["variant"].isin(_VARIANTS) & tasks["stage"].isin(_STAGES)]
    if tasks.empty:
        raise CannotAnswer("No tasks were traced.", "Run the `trace` pass.")
    ordered = tables["iterations"]["shape"]
    shapes = [shape for shape in dict.fromkeys(ordered) if shape in set(tasks["shape"])]
    figure = Figure(figsize=(2.0 + 5.2 * len(shapes), 2.2 + 2.5 * len(_VARIANTS)))
    grid = figure.subplots(len(_VARIANTS), len(shapes), squeeze=False)
    for row, variant in enumerate(_VARIANTS):
        for column, shape in enumerate(shapes):
            axes = grid[row, column]
            own = tasks[(tasks["variant"] == variant) & (tasks["shape"] == shape)]
            _panel(axes, own)
            axes.set_title(f"{shape}, {_title(variant, own)}")
            if column == 0:
                axes.set_ylabel("multiprocessor")
    titled(figure, "Two-stage jobs on multiprocessors", _caption(tables))
    handles = [Patch(label=f"stage {name}", facecolor=colour) for name, colour in _STAGES.items()]
    figure.legend(handles=handles, loc="upper right", ncols=len(handles), frameon=False)
    return figure


def _panel(axes: Axes, tasks: pd.DataFrame) -> None:
    """One invocation: a bar per task, at its multiprocessor; an upright line where the last A ended."""
    if tasks.empty:
        axes.text(0.5, 0.5, "not traced", transform=axes.transAxes, ha="center", color=GREY)
        return
    begin = tasks["start_ns"].min()
    for stage, colour in _STAGES.items():
        own = tasks[tasks["stage"] == stage]
        left, right = (own["start_ns"] - begin) / 1e3, (own["end_ns"] - begin) / 1e3
        boxes = [
            ((start, place), (end, place), (end, place + 1), (start, place + 1))
            for start, end, place in zip(left, right, own["multiprocessor"], strict=True)
        ]
        # Thousands of bars as shapes would make a drawing of megabytes; the axes and texts stay shapes.
        axes.add_collection(
            PolyCollection(boxes, facecolors=colour, edgecolors="white", linewidths=0.15, rasterized=True)
        )
    ends = tasks[tasks["stage"] == "A"]["end_ns"]
    if len(ends):
        axes.axvline((ends.max() - begin) / 1e3, color=BLACK, linewidth=1.2, linestyle="--")
    axes.set_xlim(0, (tasks["end_ns"].max() - begin) / 1e3 * 1.01)
    axes.set_ylim(0, int(tasks["multiprocessor"].max()) + 1)
    axes.set_xlabel("µs since the first task began; every panel has its own time scale")


def _title(variant: str, tasks: pd.DataFrame) -> str:
    """How many B began before the last A had ended."""
    first, second = (tasks[tasks["stage"] == stage] for stage in _STAGES)
    if first.empty or second.empty:
        return variant
    early = int((second["start_ns"] < first["end_ns"].max()).sum())
    return f"{variant}: {early} of {len(second)} B began early"


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    return (
        "One traced invocation per panel, by the device's global timer. Dashed: the end of the last stage A; a "
        "B that began before it began early, which is no speed-up by itself. Each panel has its own time "
        "scale: compare order and gaps, not lengths. An instrumented build, never timed: for durations see the "
        "figure of host completion. Every kernel runs under an artificial reservation of shared memory that "
        "leaves one block to a multiprocessor.\n"
        f"{origin(tables)}"
    )
