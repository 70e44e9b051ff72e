"""Host completion of one invocation, by shape, variant and submission.

Median with the p10 to p90 of the repeated samples, from the unprofiled timing pass alone. Each shape has
its own panel, from zero on its own scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

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

NAME = "row-completion"
EXPERIMENTS = ("row",)
QUERIES = {
    "completion": "host_completion",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'timing' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

_COLUMNS = 3


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    completion = tables["completion"]
    completion = completion[completion["median_ns"].notna()]
    if completion.empty:
        raise CannotAnswer("No host completion was measured.", "Run the `timing` pass.")
    shapes = list(dict.fromkeys(completion["shape"]))
    completion = _slowest_first(completion)
    colours = variant_colours(list(dict.fromkeys(completion["variant"])))

    columns = min(_COLUMNS, len(shapes))
    rows = ceil(len(shapes) / columns)
    bars = max(len(completion[completion["shape"] == shape]) for shape in shapes)
    figure = Figure(figsize=(1.6 + 3.2 * columns, 1.7 + rows * (0.8 + 0.3 * bars)))
    grid = figure.subplots(rows, columns, squeeze=False)
    for panel, axes in enumerate(grid.flat):
        if panel < len(shapes):
            _panel(axes, completion[completion["shape"] == shapes[panel]], colours, panel % columns == 0)
            axes.set_title(shapes[panel].replace("x", " × "))
        else:
            axes.set_visible(False)
    titled(figure, "Host completion of one invocation", _caption(tables, completion))
    return figure


def _slowest_first(completion: pd.DataFrame) -> pd.DataFrame:
    """Variants by their largest median, the same order in every panel; a variant's stream before its graph."""
    slowest = completion.groupby("variant")["median_ns"].transform("max")
    submission = completion["submission"].map({name: i for i, name in enumerate(SUBMISSION_HATCHES)})
    order = completion.assign(slowest=-slowest, order=submission)
    return order.sort_values(["slowest", "variant", "order"], kind="stable")


def _panel(axes: Axes, rows: pd.DataFrame, colours: Mapping[str, str], labelled: bool) -> None:
    """One shape: a horizontal bar per variant and submission, variants held apart by a small gap."""
    longest = float(rows["p90_ns"].max())
    places, labels = [], []
    place, last_variant = 0.0, None
    for row in rows.to_dict("records"):
        place += 0.0 if last_variant is None else 1.0 if row["variant"] == last_variant else 1.35
        last_variant = row["variant"]
        hatch, colour = SUBMISSION_HATCHES.get(row["submission"], ""), colours[row["variant"]]
        span = row["p10_ns"], row["p90_ns"]
        bar_with_span(axes, place, colour, hatch, value_ns=row["median_ns"], span_ns=span)
        places.append(place)
        labels.append(f"{row['variant']} {row['submission']}")
    axes.set_yticks(places, labels if labelled else [""] * len(places))
    axes.invert_yaxis()
    # Room for the text to the right of the longest bar.
    axes.set_xlim(0, longest / 1e3 * 1.24)
    axes.set_xlabel("µs")


def _caption(tables: Mapping[str, pd.DataFrame], completion: pd.DataFrame) -> str:
    samples = told_range(completion["samples"])
    return (
        "Bar and number: median in µs from just before submission to the return of stream synchronisation, "
        f"unprofiled. Line over the bar: p10 to p90 of {samples} repeated samples, not a confidence interval. "
        "Solid: ordinary launches; hatched: replay of one captured CUDA graph. Every panel starts at zero and "
        "has its own scale: compare lengths inside a panel only.\n"
        f"{origin(tables)}"
    )
