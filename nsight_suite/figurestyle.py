"""How figures look: one palette, one typography, and the words that every figure needs.

Colours are the Okabe–Ito palette, whose members stay distinct under the common kinds of colour blindness; what
a colour says is always said a second time by hatch, marker or text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK = "#1a1a1a"
GREY = "#8a8a8a"
ORANGE = "#e69f00"
SKY = "#56b4e9"
GREEN = "#009e73"
YELLOW = "#f0e442"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
PURPLE = "#cc79a7"

VARIANT_COLOURS = (VERMILLION, BLUE, GREEN, ORANGE, PURPLE, SKY, YELLOW, GREY)
SUBMISSION_HATCHES = {"stream": "", "graph": "////"}

# Everything that matplotlib would otherwise take from the user's own settings, so that a figure is the same
# everywhere. The fonts come with matplotlib.
RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.8,
    "xtick.color": BLACK,
    "ytick.color": BLACK,
    "ytick.major.size": 0,
    "hatch.linewidth": 1.1,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "nsight_suite",
    "svg.fonttype": "path",
}


def variant_colours(variants: Sequence[str]) -> dict[str, str]:
    """A colour for each variant, in the order given; with more variants than colours they start over."""
    return {name: VARIANT_COLOURS[i % len(VARIANT_COLOURS)] for i, name in enumerate(variants)}


def microseconds(duration_ns: float) -> str:
    """A duration in ns as µs, with three significant digits or more: `7.61`, `48.0`, `170`."""
    value = duration_ns / 1e3
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def beside(axes: Axes, x: float, y: float, text: str) -> None:
    """Write a value just to the right of the end of its bar."""
    axes.annotate(text, (x, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=10)


def bar_with_span(
    axes: Axes,
    place: float,
    colour: str,
    hatch: str,
    *,
    value_ns: float,
    span_ns: Sequence[float],
    words: str = "",
) -> None:
    """A horizontal bar of a duration at `place`, its span (low, high) as a line over it, its value beside it.

    A hatched bar is hollow. `words` stand behind the value. Durations in ns are drawn in µs.
    """
    face = "white" if hatch else colour
    axes.barh(place, value_ns / 1e3, height=0.82, facecolor=face, edgecolor=colour, hatch=hatch, linewidth=1.2)
    span = [bound / 1e3 for bound in span_ns]
    for line, width in (("white", 3.4), (BLACK, 1.4)):  # white below, to stand out on a dark bar
        axes.plot(span, [place] * 2, "|-", color=line, markersize=7, markeredgewidth=width, linewidth=width)
    beside(axes, max(span_ns[1], value_ns) / 1e3, place, microseconds(value_ns) + words)


def told_range(counts: pd.Series[Any]) -> str:
    """The counts from the smallest to the largest: `21`, or `7 to 21`."""
    fewest, most = int(counts.min()), int(counts.max())
    return f"{most}" if fewest == most else f"{fewest} to {most}"


def origin(tables: Mapping[str, pd.DataFrame]) -> str:
    """Where a figure's numbers are from: of the tables `device` (name, driver_version) and `run` (run_id)."""
    devices = "; ".join(
        f"{row['name']}, driver {row['driver_version']}" for row in tables["device"].to_dict("records")
    )
    run = ", ".join(tables["run"]["run_id"].astype(str))
    return f"{devices or 'device not recorded'}. Run {run}."


def titled(figure: Figure, title: str, caption: str) -> None:
    """Put a title above and a caption below, both from the left edge; the caption is broken to the width."""
    width = int(figure.get_figwidth() * 13.2)
    broken = "\n".join(textwrap.fill(paragraph, width) for paragraph in caption.split("\n"))
    # Paddings in inches, spaces in parts of a panel.
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.04)
    figure.suptitle(title, x=0.008, ha="left", fontsize=14, fontweight="bold")
    figure.supxlabel(broken, x=0.008, ha="left", fontsize=9.5, color="#444444", linespacing=1.35)
