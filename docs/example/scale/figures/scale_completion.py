"""Host completion of each case of `scale`, unprofiled: median of the repeated samples."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLUE, beside, microseconds, titled

NAME = "scale-completion"
EXPERIMENTS = ("scale",)
QUERIES = {"completion": "host_completion", "device": "SELECT DISTINCT name FROM device ORDER BY ALL"}


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    completion = tables["completion"]
    if completion.empty:
        raise CannotAnswer("No host completion was measured.", "Run the `timing` pass.")
    figure = Figure(figsize=(8, 1.5 + 0.4 * len(completion)))
    axes = figure.subplots()
    axes.barh(completion["case_id"], completion["median_ns"] / 1e3, color=BLUE)
    for place, median_ns in enumerate(completion["median_ns"]):
        beside(axes, median_ns / 1e3, place, microseconds(median_ns))
    axes.invert_yaxis()
    axes.set_xlabel("µs")
    samples = completion["samples"].min()
    titled(figure, "Host completion", f"Median of {samples} samples. {', '.join(tables['device']['name'])}.")
    return figure
