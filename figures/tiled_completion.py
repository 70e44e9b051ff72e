"""Host completion of one invocation of `tiled`, by number of rows, distribution, variant and submission.

Median with the p10 to p90 of the repeated samples, from the unprofiled timing pass alone. Where the central
queue takes several times as long as all others, it has panels of its own, on scales of their own.
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

NAME = "tiled-completion"
EXPERIMENTS = ("tiled",)
QUERIES = {
    "completion": "host_completion",
    "shapes": """
        SELECT DISTINCT
            shape,
            CAST(parameters ->> 'rows' AS BIGINT) AS rows,
            CASE WHEN parameters ->> 'tiles_long' = parameters ->> 'tiles_short'
                THEN 'balanced' ELSE 'ragged' END AS distribution
        FROM variant_case ORDER BY ALL""",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass = 'timing' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

# The order of variants and the colours that they keep in the experiment's figures.
VARIANTS = ("separate", "phased", "queue", "dataflow")
# How many times the slowest other the queue may take and still stand beside it.
_COMPARABLE = 3


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    completion = tables["completion"].merge(tables["shapes"], on="shape")
    completion = _ordered(completion[completion["median_ns"].notna()])
    if completion.empty:
        raise CannotAnswer("No host completion was measured.", "Run the `timing` pass.")
    distributions = list(dict.fromkeys(completion.sort_values("distribution")["distribution"]))
    sizes = sorted(set(completion["rows"]))
    apart = _apart(completion)
    main = completion[completion["variant"] != "queue"] if apart else completion

    columns = len(sizes) + apart
    figure = Figure(figsize=(1.7 + 3.1 * columns, 1.9 + 3.1 * len(distributions)))
    grid = figure.subplots(len(distributions), columns, squeeze=False)
    for line, distribution in enumerate(distributions):
        for column, rows in enumerate(sizes):
            axes = grid[line, column]
            panel = main[(main["distribution"] == distribution) & (main["rows"] == rows)]
            labels = panel["variant"] + " " + panel["submission"]
            _bars(axes, panel, list(labels) if column == 0 else [""] * len(panel))
            axes.set_title(f"{distribution}, {rows:,} rows")
        if apart:
            axes = grid[line, -1]
            queue = completion[
                (completion["variant"] == "queue") & (completion["distribution"] == distribution)
            ]
            queue = queue.sort_values("rows", kind="stable")
            _bars(axes, queue, [f"{row.rows:,} {row.submission}" for row in queue.itertuples()])
            axes.set_title(f"{distribution}, queue alone")
    titled(figure, "Host completion of softmax over tiles", _caption(tables, completion, apart))
    return figure


def _ordered(completion: pd.DataFrame) -> pd.DataFrame:
    places = {name: place for place, name in enumerate(VARIANTS)}
    submissions = {name: place for place, name in enumerate(SUBMISSION_HATCHES)}
    order = completion.assign(
        place=completion["variant"].map(places), submitted=completion["submission"].map(submissions)
    )
    return order.sort_values(["place", "submitted"], kind="stable")


def _apart(completion: pd.DataFrame) -> bool:
    """Whether the queue would press the other bars of some panel together."""
    queue = completion["variant"] == "queue"
    slowest = completion[~queue].groupby("shape")["median_ns"].max()
    of_queue = completion[queue].groupby("shape")["median_ns"].max()
    return bool((of_queue > _COMPARABLE * slowest.reindex(of_queue.index)).any())


def _bars(axes: Axes, rows: pd.DataFrame, labels: list[str]) -> None:
    colours = variant_colours(VARIANTS)
    for place, row in enumerate(rows.to_dict("records")):
        hatch, colour = SUBMISSION_HATCHES.get(row["submission"], ""), colours[row["variant"]]
        span = row["p10_ns"], row["p90_ns"]
        bar_with_span(axes, place, colour, hatch, value_ns=row["median_ns"], span_ns=span)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    if len(rows):
        axes.set_xlim(0, float(rows[["p90_ns", "median_ns"]].max().max()) / 1e3 * 1.3)
    axes.set_xlabel("µs")


def _caption(tables: Mapping[str, pd.DataFrame], completion: pd.DataFrame, apart: bool) -> str:
    samples = told_range(completion["samples"])
    scales = "Every panel starts at zero and has its own scale: compare lengths inside a panel only. "
    if apart:
        scales += "The queue takes so much longer that it stands apart, on scales of its own. "
    return (
        "Bar and number: median in µs from just before submission to the return of stream synchronisation, "
        f"unprofiled. Line over the bar: p10 to p90 of {samples} repeated samples, not a confidence interval. "
        f"Solid: ordinary launches; hatched: replay of one captured CUDA graph. {scales}"
        "Balanced and ragged have as many rows, tiles and elements; `queue` is a deliberately small runtime.\n"
        f"{origin(tables)}"
    )
