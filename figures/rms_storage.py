"""Where the values of the RMS-scaled softmax live, in `local` and in the megakernel.

Registers, shared memory and global memory, step by step. Tiles, shared memory and registers in the caption are
those of the run, from what the driver planned and the assembler said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, GREEN, SKY, VERMILLION, titled

NAME = "rms-storage"
EXPERIMENTS = ("rms",)
QUERIES = {
    "launches": """
        SELECT DISTINCT c.shape, c.case_order, p.ordinal, p.name, p.grid_x, p.grid_y, p.dynamic_shared_bytes
        FROM planned_launch AS p JOIN variant_case AS c ON c.case_id = p.case_id
        WHERE c.variant IN ('local', 'mega_row', 'mega_grid') ORDER BY ALL""",
    "builds": """
        SELECT DISTINCT kernel, registers_per_thread, static_shared_bytes FROM build
        WHERE kernel LIKE 'local%' OR kernel LIKE 'mega%' ORDER BY ALL""",
    "run": "SELECT run_id FROM run",
}

LANES = ("registers", "shared memory", "global memory")  # from top to bottom
_LANE_COLOURS = ("#eef7ee", "#fdf3e1", "#eaf1f8")

# Each step of a variant: its name, and per lane what lives there meanwhile. Arrows: step, from lane, to lane.
Step = tuple[str, tuple[str, str, str]]
Arrow = tuple[int, int, int]
LOCAL: Sequence[Step] = (
    ("local_statistics", ("x of the tile", "one pair per warp", "x → tiles' max, Σx²")),
    ("local_sums", ("x of the tile, e", "row's r, m; one sum per warp", "x, statistics → tiles' Σe")),
    ("local_normalise", ("x of the tile, e again", "row's r, m, z", "x, statistics, sums → y")),
)
LOCAL_ARROWS: Sequence[Arrow] = ((0, 2, 0), (0, 0, 2), (1, 2, 0), (1, 0, 2), (2, 2, 0), (2, 0, 2))
MEGA: Sequence[Step] = (
    ("load", ("max, Σx² per thread", "x of the tile", "x")),
    ("meet", ("r, m", "x of the tile", "tiles' max, Σx²")),
    ("exponent", ("Σe per thread", "x becomes e", "—")),
    ("meet", ("1 / z", "e of the tile", "tiles' Σe")),
    ("store", ("e / z, passing", "e of the tile", "y")),
)
MEGA_ARROWS: Sequence[Arrow] = (
    *((0, 2, 0), (0, 0, 1), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1), (3, 0, 2), (3, 2, 0), (4, 1, 0)),
    (4, 0, 2),
)


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    launches, builds = tables["launches"], tables["builds"]
    if launches.empty or builds.empty:
        raise CannotAnswer("No launch was planned or no kernel built.", "Run the pass `validate`.")
    figure = Figure(figsize=(12.4, 8.6))
    above, below = figure.subplots(2, 1)
    _panel(above, LOCAL, LOCAL_ARROWS, "local: three kernels; nothing but global memory outlives a kernel")
    _panel(below, MEGA, MEGA_ARROWS, "mega: one kernel; the tile stays in shared memory from load to store")
    titled(figure, "RMS-scaled softmax: where its values live", _caption(tables))
    return figure


def _panel(axes: Axes, steps: Sequence[Step], arrows: Sequence[Arrow], title: str) -> None:
    axes.set_title(title)
    axes.axis("off")
    count = len(steps)
    axes.set_xlim(-0.42, count)
    axes.set_ylim(3.0, -0.45)
    for lane, (name, colour) in enumerate(zip(LANES, _LANE_COLOURS, strict=True)):
        axes.add_patch(
            Rectangle((-0.42 * count / 5, lane), 1.5 * count, 1, facecolor=colour, edgecolor="white")
        )
        axes.text(
            -0.4 * count / 5, lane + 0.5, name.replace(" ", "\n"), va="center", fontsize=10, weight="bold"
        )
    for step, (name, cells) in enumerate(steps):
        axes.text(step + 0.5, -0.2, name, ha="center", va="center", fontsize=10.5, weight="bold")
        for lane, text in enumerate(cells):
            _cell(axes, step, lane, text, kept=lane == 1 and text.endswith("of the tile"))
    for step, begin, end in arrows:
        down = end > begin
        x = step + (0.87 if down else 0.13)  # beside the text of the boxes
        axes.add_patch(
            FancyArrowPatch(
                (x, begin + (0.74 if down else 0.26)),
                (x, end + (0.26 if down else 0.74)),
                arrowstyle="-|>",
                mutation_scale=13,
                shrinkA=0,
                shrinkB=0,
                color=VERMILLION if down else BLUE,
                linewidth=1.6,
                zorder=3,
            )
        )
    for step in range(1, count):
        axes.plot([step, step], [-0.4, 3.0], color=BLACK, linewidth=0.8, linestyle=":")


def _cell(axes: Axes, step: int, lane: int, text: str, kept: bool) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (step + 0.08, lane + 0.28),
            0.84,
            0.44,
            boxstyle="round,pad=0,rounding_size=0.05",
            facecolor=SKY if kept else "white",
            edgecolor=GREEN if kept else BLACK,
            linewidth=1.6 if kept else 0.9,
            zorder=2,
        )
    )
    axes.text(step + 0.5, lane + 0.5, text, ha="center", va="center", fontsize=9.5, zorder=4)


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    registers = ", ".join(
        f"{row['kernel']} {int(row['registers_per_thread'])}" for row in tables["builds"].to_dict("records")
    )
    return (
        "Blue arrows: read into faster memory; red arrows: written. Filled boxes: what the megakernel keeps "
        "while its blocks wait for one another. Reductions also pass a few numbers per warp through shared "
        "memory.\n"
        f"Megakernel's tiles: {_tiles(tables['launches'])}. Registers per thread: {registers}. "
        f"Run {', '.join(tables['run']['run_id'].astype(str))}."
    )


def _tiles(launches: pd.DataFrame) -> str:
    """Per shape: launches, blocks and the shared memory of a tile."""
    mega = launches[launches["name"].str.startswith("mega")]
    told = []
    for shape in dict.fromkeys(mega["shape"]):
        rows = mega[mega["shape"] == shape]
        first = rows.iloc[0]
        blocks, number = int(first["grid_x"] * first["grid_y"]), int(rows["ordinal"].max()) + 1
        size = first["dynamic_shared_bytes"] / 1024
        times = f"{number} launches of " if number > 1 else ""
        told.append(f"{shape.replace('x', ' × ')}: {times}{blocks} blocks of {size:g} KiB")
    return "; ".join(told) or "not planned"
