"""The computational graph of the RMS-scaled softmax: whole-row operations and the values between them.

It is not a launch graph: how many kernels do this work is a variant's own affair, and stands below the drawing.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, ORANGE, SKY, VERMILLION, titled

NAME = "rms-graph"
EXPERIMENTS = ("rms",)
QUERIES = {
    "kernels": """
        SELECT c.variant, min(e.kernels) AS fewest, max(e.kernels) AS most
        FROM expected AS e JOIN variant_case AS c ON c.case_id = e.case_id
        GROUP BY c.variant ORDER BY min(c.case_order)""",
    "run": "SELECT run_id FROM run",
}

# Place (x, y), what is computed there, and what kind of node it is.
Node = tuple[float, float, str, str]
NODES: Mapping[str, Node] = {
    "x": (0.0, 1.0, "input\nx", "array"),
    "mean": (2.1, 2.0, "mean of squares\nq = mean(x²)", "row"),
    "rms": (4.5, 2.0, "inverse RMS\nr = 1 / √(q + 1e-5)", "number"),
    "max": (3.5, 0.0, "maximum\nm = max(x)", "row"),
    "exp": (8.1, 1.0, "exponentiation\ne = exp(r · (x − m))", "elements"),
    "sum": (10.6, 0.0, "sum\nz = Σ e", "row"),
    "normalise": (13.1, 1.0, "normalisation\ny = e / z", "elements"),
    "y": (15.1, 1.0, "output\ny", "array"),
}
# Each edge: from, to, the value that flows, and whether it is a direct one past a whole-row operation: a value
# that is kept, read again or computed again.
EDGES = (
    ("x", "mean", "x", False),
    ("x", "max", "x", False),
    ("x", "exp", "x, directly to the exponentiation", True),
    ("mean", "rms", "q", False),
    ("rms", "exp", "r", False),
    ("max", "exp", "m", False),
    ("exp", "sum", "e", False),
    ("exp", "normalise", "e, directly to the normalisation", True),
    ("sum", "normalise", "z", False),
    ("normalise", "y", "y", False),
)
LOOKS = {
    "array": ("white", "an array of the whole row"),
    "row": (ORANGE, "reads the whole row, gives one number"),
    "number": ("#f3e3bd", "one number per row"),
    "elements": (SKY, "element by element"),
}
_HALF_HEIGHT = 0.3


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    kernels = tables["kernels"]
    if kernels.empty:
        raise CannotAnswer("The run declares no kernels.", "It needs protocol/expected.sql and its cases.")
    figure = Figure(figsize=(13.6, 5.2))
    axes = figure.subplots()
    for begin, end, label, direct in EDGES:
        _edge(axes, begin, end, label, direct)
    for node in NODES.values():
        _node(axes, node)
    for place, (colour, meaning) in enumerate(LOOKS.values()):
        _box(axes, (4.3 * place, -1.05), (0.2, 0.11), colour)
        axes.text(4.3 * place + 0.35, -1.05, meaning, va="center", fontsize=10)
    axes.set_xlim(-0.8, 15.8)
    axes.set_ylim(-1.3, 2.5)
    axes.axis("off")
    titled(figure, "RMS-scaled softmax: computational graph of one row", _caption(tables))
    return figure


def _half_width(text: str) -> float:
    return 0.2 + 0.054 * max(len(line) for line in text.split("\n"))


def _node(axes: Axes, node: Node) -> None:
    x, y, text, kind = node
    _box(axes, (x, y), (_half_width(text), _HALF_HEIGHT), LOOKS[kind][0])
    axes.text(x, y, text, ha="center", va="center", fontsize=10, linespacing=1.4)


def _box(axes: Axes, middle: tuple[float, float], half: tuple[float, float], colour: str) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (middle[0] - half[0], middle[1] - half[1]),
            2 * half[0],
            2 * half[1],
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=colour,
            edgecolor=BLACK,
            linewidth=1.2,
        )
    )


def _edge(axes: Axes, begin: str, end: str, label: str, direct: bool) -> None:
    (x0, y0, text0, _), (x1, y1, text1, _) = NODES[begin], NODES[end]
    colour = VERMILLION if direct else BLUE
    start, stop = (x0 + _half_width(text0), y0), (x1 - _half_width(text1), y1)
    axes.add_patch(
        FancyArrowPatch(
            start,
            stop,
            arrowstyle="-|>",
            mutation_scale=14,
            shrinkA=0,
            shrinkB=0,
            color=colour,
            linewidth=2.4 if direct else 1.4,
        )
    )
    middle = ((start[0] + stop[0]) / 2, (start[1] + stop[1]) / 2)
    axes.annotate(
        label, middle, xytext=(0, 5), textcoords="offset points", ha="center", fontsize=9.5, color=colour
    )


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    counts = ", ".join(
        f"{row['variant']} {_from_to(row['fewest'], row['most'])}"
        for row in tables["kernels"].to_dict("records")
    )
    return (
        "An edge is a value that one operation needs of another; this is not a launch graph. The thick edges "
        "reach past a whole-row operation: x must be there again once r and m are known, and e once z is. Each "
        "variant keeps these values, writes and reads them, or computes them again.\n"
        f"Kernels per invocation, as declared: {counts}. Run {', '.join(tables['run']['run_id'].astype(str))}."
    )


def _from_to(fewest: float, most: float) -> str:
    if pd.isna(fewest):
        return "unknown"
    return f"{int(fewest)}" if fewest == most else f"{int(fewest)} or {int(most)}"
