"""Host completion of three pointwise steps over the number of elements: separate and fused, stream and graph.

Median with the p10 to p90 of the repeated samples, from the unprofiled timing pass alone. Four panels, one per
variant and submission, on the same two logarithmic axes; each shows the other three in grey.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullLocator

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import (
    BLACK,
    GREY,
    SUBMISSION_HATCHES,
    microseconds,
    origin,
    titled,
    told_range,
    variant_colours,
)

NAME = "pointwise-completion"
EXPERIMENTS = ("pointwise",)
QUERIES = {
    "completion": "host_completion",
    "elements": """
        SELECT DISTINCT shape, CAST(parameters ->> 'elements' AS BIGINT) AS elements
        FROM variant_case ORDER BY ALL""",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'timing' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

_MARKERS = {"stream": "o", "graph": "s"}


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    completion = tables["completion"].merge(tables["elements"], on="shape")
    completion = completion[completion["median_ns"].notna()].sort_values("elements", kind="stable")
    if completion.empty:
        raise CannotAnswer("No host completion was measured.", "Run the `timing` pass.")
    variants = list(dict.fromkeys(completion["variant"]))
    variants = [name for name in ("separate", "fused") if name in variants]
    colours = variant_colours(variants)
    figure = Figure(figsize=(10.4, 8.2))
    grid = figure.subplots(len(variants), len(SUBMISSION_HATCHES), sharex=True, sharey=True, squeeze=False)
    for row, variant in enumerate(variants):
        for column, submission in enumerate(SUBMISSION_HATCHES):
            axes = grid[row, column]
            for _, other in completion.groupby(["variant", "submission"], sort=True):
                axes.plot(other["elements"], other["median_ns"] / 1e3, color="#d0d0d0", linewidth=1.2)
            own = completion[(completion["variant"] == variant) & (completion["submission"] == submission)]
            _line(axes, own, colours[variant], submission)
            axes.set_title(f"{variant}, {submission}")
            axes.grid(axis="y")
            axes.tick_params(axis="x", labelsize=9.5)
            if column == 0:
                axes.set_ylabel("µs")
            if row == len(variants) - 1:
                axes.set_xlabel("N, elements of FP32")
    _scales(grid[0, 0], completion)
    titled(figure, "Three pointwise steps: host completion of one invocation", _caption(tables, completion))
    return figure


def _line(axes: Axes, rows: pd.DataFrame, colour: str, submission: str) -> None:
    """One case over N: medians joined by a line, the quantiles upright, each value in words above its point."""
    if rows.empty:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=GREY)
        return
    median = rows["median_ns"] / 1e3
    spread = [median - rows["p10_ns"] / 1e3, rows["p90_ns"] / 1e3 - median]
    hollow = bool(SUBMISSION_HATCHES[submission])
    axes.errorbar(
        rows["elements"],
        median,
        yerr=spread,
        color=colour,
        ecolor=BLACK,
        elinewidth=1.4,
        capsize=4,
        linestyle="--" if hollow else "-",
        marker=_MARKERS[submission],
        markersize=7,
        markerfacecolor="white" if hollow else colour,
        linewidth=1.8,
    )
    for row in rows.to_dict("records"):
        place = row["elements"], max(row["p90_ns"], row["median_ns"]) / 1e3
        text = microseconds(row["median_ns"])
        words = axes.annotate(text, place, xytext=(-4, 8), textcoords="offset points", ha="center", fontsize=10)
        words.set_path_effects([withStroke(linewidth=3, foreground="white")])  # stands out on a line


def _scales(axes: Axes, completion: pd.DataFrame) -> None:
    """Both axes logarithmic, for all panels: ticks at the sizes that were measured, and at 1, 2 and 5 µs."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sorted(set(completion["elements"])))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = completion["p10_ns"].min() / 1e3 / 1.25, completion["p90_ns"].max() / 1e3 * 1.5
    axes.set_ylim(low, high)
    ticks = [step * 10.0**power for power in range(-1, 7) for step in (1, 2, 5)]
    axes.set_yticks([tick for tick in ticks if low <= tick <= high])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.12)


def _caption(tables: Mapping[str, pd.DataFrame], completion: pd.DataFrame) -> str:
    samples = told_range(completion["samples"])
    return (
        "Point and number: median in µs from just before submission to the return of stream synchronisation, "
        f"unprofiled. Upright line: p10 to p90 of {samples} repeated samples, not a confidence interval. Grey: "
        "the other panels. All panels share both axes, which are logarithmic. Inputs are the same in every "
        "invocation, so that arrays which fit the L2 cache are found there.\n"
        f"{origin(tables)}"
    )
