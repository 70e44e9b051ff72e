"""Softmax over tiles four ways: from ordinary launches over graph replay to one kernel and to a queue.

The same raw samples as everywhere, each way with its ratio to the ordinary launches of three kernels, paired by
round. The queue is a deliberately small runtime, not a model-scale megakernel.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, GREEN, VERMILLION, microseconds, origin, titled

NAME = "tiled-fourway"
EXPERIMENTS = ("tiled",)
QUERIES = {
    # From label to case: `place` is the order, and place 0 the baseline.
    "ways": """
        SELECT w.place, w.label, c.shape, c.case_order, c.case_id
        FROM (VALUES
            (0, 'three kernels, launched', 'separate', 'stream'),
            (1, 'three kernels, graph', 'separate', 'graph'),
            (2, 'one phased kernel, graph', 'phased', 'graph'),
            (3, 'queue, graph', 'queue', 'graph')
        ) AS w(place, label, variant, submission)
        JOIN variant_case AS c ON c.variant = w.variant AND c.submission = w.submission
        WHERE c.timed
        ORDER BY c.case_order""",
    "samples": """
        SELECT case_id, round, duration_ns FROM sample
        WHERE pass = 'timing' AND quantity = 'completion' ORDER BY ALL""",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'timing' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

_COLUMNS = 2
# By place: colour and marker of the median.
_LOOKS = ((VERMILLION, "o"), (VERMILLION, "s"), (BLUE, "D"), (GREEN, "^"))


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    samples = tables["ways"].merge(tables["samples"], on="case_id")
    whole = [shape for shape, rows in samples.groupby("shape", sort=False) if rows["place"].nunique() == 4]
    if not whole:
        raise CannotAnswer("At no shape are all four ways timed.", "Run the `timing` pass with the variants.")
    lines = -(-len(whole) // _COLUMNS)
    figure = Figure(figsize=(12.0, 2.1 + 1.8 * lines))
    grid = figure.subplots(lines, _COLUMNS, squeeze=False, sharex=True)
    for place, axes in enumerate(grid.flat):
        if place < len(whole):
            _panel(axes, samples[samples["shape"] == whole[place]], labelled=place % _COLUMNS == 0)
            axes.set_title(str(whole[place]).replace("-", ", ") + " rows")
        else:
            axes.set_visible(False)
    shown = samples[samples["shape"].isin(whole)]["duration_ns"]
    grid[0, 0].set_xlim(shown.min() / 1e3 * 0.8, shown.max() / 1e3 * 9)
    titled(figure, "Softmax over tiles four ways", _caption(tables))
    return figure


def _panel(axes: Axes, samples: pd.DataFrame, labelled: bool) -> None:
    """One shape: a mark per way at its median, the raw samples behind it, and its ratio to the first."""
    by_round = samples.pivot(index="round", columns="place", values="duration_ns")
    labels = samples.drop_duplicates("place").sort_values("place")["label"]
    axes.set_xscale("log")
    for place, (colour, marker) in enumerate(_LOOKS):
        own = by_round[place].dropna()
        axes.plot(own / 1e3, [place] * len(own), "|", color=colour, markersize=15, markeredgewidth=0.8)
        axes.plot(own.median() / 1e3, place, marker, color=colour, markeredgecolor=BLACK, markersize=7)
        told = f"{microseconds(own.median())} µs   {_against(by_round, place)}"
        at = (own.max() / 1e3, place)
        axes.annotate(told, at, xytext=(9, 0), textcoords="offset points", va="center", fontsize=10)
    axes.set_yticks(range(len(labels)), list(labels) if labelled else [""] * len(labels))
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlabel("µs, logarithmic")
    axes.label_outer()


def _against(by_round: pd.DataFrame, place: int) -> str:
    """How a way compares with the first, by the median of the ratios of each round."""
    ratio = float((by_round[0] / by_round[place]).median())
    if place == 0:
        return ""
    return f"{ratio:.2f}× faster" if ratio >= 1 else f"{1 / ratio:.2f}× slower"


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    return (
        "Host completion of one unprofiled invocation. Mark and number: median; strokes: every raw sample. "
        "Faster and slower are against the ordinary launches of three kernels: the median of the ratios by "
        "round. All panels share one logarithmic scale. Fusion and graph replay are complementary, not "
        "successive guaranteed gains. The queue is a deliberately small runtime, not a model-scale "
        "megakernel.\n"
        f"{origin(tables)}"
    )
