"""Row softmax four ways: ordinary launches or graph replay, four kernels or one, on the same raw samples.

Each way is told with its ratio to the ordinary launches of the staged kernels, paired by round. Fusion and
graph replay are complementary, not successive gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, VERMILLION, beside, microseconds, origin, titled

NAME = "row-fourway"
EXPERIMENTS = ("row",)
QUERIES = {
    # From label to case: `place` is the order, and place 0 the baseline.
    "ways": """
        SELECT w.place, w.label, c.shape, c.case_order, c.case_id
        FROM (VALUES
            (0, 'four kernels, launched', 'staged', 'stream'),
            (1, 'four kernels, graph', 'staged', 'graph'),
            (2, 'one kernel, launched', 'fused', 'stream'),
            (3, 'one kernel, graph', 'fused', 'graph')
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

_COLUMNS = 3
# By place: colour and hatch.
_LOOKS = ((VERMILLION, ""), (VERMILLION, "////"), (BLUE, ""), (BLUE, "////"))


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    samples = tables["ways"].merge(tables["samples"], on="case_id")
    whole = [shape for shape, rows in samples.groupby("shape", sort=False) if rows["place"].nunique() == 4]
    if not whole:
        raise CannotAnswer("At no shape are all four ways timed.", "Run the `timing` pass with both variants.")
    columns = min(_COLUMNS, len(whole))
    lines = ceil(len(whole) / columns)
    figure = Figure(figsize=(2.2 + 3.3 * columns, 1.9 + 1.9 * lines))
    grid = figure.subplots(lines, columns, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place < len(whole):
            _panel(axes, samples[samples["shape"] == whole[place]], labelled=place % columns == 0)
            axes.set_title(str(whole[place]).replace("x", " × "))
        else:
            axes.set_visible(False)
    titled(figure, "Row softmax four ways", _caption(tables))
    return figure


def _panel(axes: Axes, samples: pd.DataFrame, labelled: bool) -> None:
    """One shape: a bar per way at its median, the raw samples over it, and its ratio to the first."""
    by_round = samples.pivot(index="round", columns="place", values="duration_ns")
    labels = samples.drop_duplicates("place").sort_values("place")["label"]
    for place, (colour, hatch) in enumerate(_LOOKS):
        own = by_round[place].dropna()
        face = "white" if hatch else colour
        axes.barh(place, own.median() / 1e3, 0.8, facecolor=face, edgecolor=colour, hatch=hatch, linewidth=1.2)
        axes.plot(own / 1e3, [place] * len(own), "|", color=BLACK, markersize=9, markeredgewidth=0.7)
        beside(axes, own.max() / 1e3, place, f"{microseconds(own.median())}   {_against(by_round, place)}")
    axes.set_yticks(range(len(labels)), list(labels) if labelled else [""] * len(labels))
    axes.invert_yaxis()
    axes.set_xlim(0, samples["duration_ns"].max() / 1e3 * 1.75)
    axes.set_xlabel("µs")


def _against(by_round: pd.DataFrame, place: int) -> str:
    """How a way compares with the first, by the median of the ratios of each round."""
    ratio = float((by_round[0] / by_round[place]).median())
    if place == 0:
        return ""
    return f"{ratio:.2f}× faster" if ratio >= 1 else f"{1 / ratio:.2f}× slower"


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    return (
        "Host completion of one unprofiled invocation. Bar and number: median; strokes: every raw sample. "
        "Faster and slower are against the ordinary launches of four kernels: the median of the ratios by "
        "round. Fusion and graph replay are complementary, not successive guaranteed gains: each is measured "
        "alone and together, and which matters depends on the shape. Every panel starts at zero and has its "
        "own scale.\n"
        f"{origin(tables)}"
    )
