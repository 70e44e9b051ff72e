"""Host completion of all jobs, by distribution, variant and submission, under an artificial reservation.

Median with the p10 to p90 of the repeated samples, from the unprofiled timing pass alone. Each distribution
has its own panel, from zero on its own scale.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import (
    SUBMISSION_HATCHES,
    bar_with_span,
    origin,
    titled,
    told_range,
    variant_colours,
)

NAME = "jobs-completion"
EXPERIMENTS = ("jobs",)
QUERIES = {
    "completion": "host_completion",
    "iterations": "iterations",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'timing' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

_VARIANTS = ("separate", "fused", "queue")


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    completion = tables["completion"]
    completion = completion[completion["median_ns"].notna() & completion["variant"].isin(_VARIANTS)]
    if completion.empty:
        raise CannotAnswer("No host completion was measured.", "Run the `timing` pass.")
    shapes = list(dict.fromkeys(completion["shape"]))
    colours = variant_colours(_VARIANTS)
    figure = Figure(figsize=(2.0 + 4.6 * len(shapes), 4.6))
    for panel, axes in enumerate(figure.subplots(1, len(shapes), squeeze=False)[0]):
        _panel(axes, completion[completion["shape"] == shapes[panel]], colours, labelled=panel == 0)
        axes.set_title(_title(shapes[panel], tables["iterations"]))
    titled(figure, "Two-stage jobs: host completion of one invocation", _caption(tables, completion))
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, colours: Mapping[str, str], labelled: bool) -> None:
    """One distribution: a bar per variant and submission, variants held apart by a small gap."""
    places, labels = [], []
    place = 0.0
    for variant in _VARIANTS:
        for submission, hatch in SUBMISSION_HATCHES.items():
            own = rows[(rows["variant"] == variant) & (rows["submission"] == submission)]
            for row in own.to_dict("records"):
                span = row["p10_ns"], row["p90_ns"]
                bar_with_span(axes, place, colours[variant], hatch, value_ns=row["median_ns"], span_ns=span)
                places.append(place)
                labels.append(f"{variant} {submission}")
                place += 1.0
        place += 0.35
    axes.set_yticks(places, labels if labelled else [""] * len(places))
    axes.invert_yaxis()
    # Room for the text to the right of the longest bar.
    axes.set_xlim(0, float(rows[["p90_ns", "median_ns"]].max().max()) / 1e3 * 1.2)
    axes.set_xlabel("µs")


def _title(shape: str, iterations: pd.DataFrame) -> str:
    own = iterations[(iterations["shape"] == shape) & iterations["jobs"].notna()]
    if own.empty:
        return shape
    row = own.iloc[0]
    return f"{shape}: {row['jobs']} jobs, {row['a_iterations']:,} iterations of A"


def _caption(tables: Mapping[str, pd.DataFrame], completion: pd.DataFrame) -> str:
    samples = told_range(completion["samples"])
    return (
        "Bar and number: median in µs from just before submission to the return of stream synchronisation, "
        "unprofiled; queue's includes the memset of its counter. Line over the bar: p10 to p90 of "
        f"{samples} repeated samples, not a confidence interval. Solid: ordinary launches; hatched: replay of "
        "one captured CUDA graph. The distributions do unequal work and have their own scales, from zero: "
        "compare inside a panel only. Every kernel runs under an artificial reservation of shared memory that "
        "leaves one block to a multiprocessor.\n"
        f"{origin(tables)}"
    )
