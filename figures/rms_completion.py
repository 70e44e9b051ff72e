"""Host completion of the RMS-scaled softmax by shape: nine kernels, local fusion, both forms of the megakernel.

Bar: mean of the sessions' medians; whiskers span those medians. Each shape has its own panel, from zero on its
own scale. The form that the pilot chose is marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import (
    BLUE,
    GREEN,
    GREY,
    SUBMISSION_HATCHES,
    VERMILLION,
    bar_with_span,
    titled,
    told_range,
)

NAME = "rms-completion"
EXPERIMENTS = ("rms",)
QUERIES = {
    "means": "session_means",
    "device": """
        SELECT pass, name, uuid, driver_version FROM device
        WHERE pass IN ('timing', 'timing-2') ORDER BY ALL""",
    "run": "SELECT run_id FROM run",
}

COLOURS = {"baseline": GREY, "local": BLUE, "mega_grid": GREEN, "mega_row": VERMILLION}
_COLUMNS = 2
# The longest bar takes this part of its axis, and the rest is for its number.
LONGEST = 0.78


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    means = tables["means"]
    means = means[means["variant"].isin(list(COLOURS)) & means["mean_ns"].notna()]
    if means.empty:
        raise CannotAnswer("No host completion was measured.", "Run the passes `timing` and `timing-2`.")
    shapes = list(dict.fromkeys(means["shape"]))
    columns = min(_COLUMNS, len(shapes))
    rows = ceil(len(shapes) / columns)
    bars = max(len(means[means["shape"] == shape]) for shape in shapes)
    figure = Figure(figsize=(1.8 + 4.3 * columns, 2.1 + rows * (0.8 + 0.3 * bars)))
    for panel, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        if panel < len(shapes):
            _panel(axes, means[means["shape"] == shapes[panel]], panel % columns == 0)
            axes.set_title(shapes[panel].replace("x", " × "))
        else:
            axes.set_visible(False)
    titled(
        figure,
        "RMS-scaled softmax: host completion of one invocation\nNotice: the axes of the panels differ",
        _caption(tables, means),
    )
    return figure


def _panel(axes: Axes, means: pd.DataFrame, labelled: bool) -> None:
    """One shape: a horizontal bar per variant and submission, in the protocol's order."""
    places, labels = [], []
    place, last_variant = 0.0, None
    for row in means.to_dict("records"):
        place += 0.0 if last_variant is None else 1.0 if row["variant"] == last_variant else 1.35
        last_variant = row["variant"]
        colour, hatch = COLOURS[row["variant"]], SUBMISSION_HATCHES.get(row["submission"], "")
        span = row["low_ns"], row["high_ns"]
        mark = " ◀ pilot" if row["chosen"] is True else ""
        bar_with_span(axes, place, colour, hatch, value_ns=row["mean_ns"], span_ns=span, words=mark)
        places.append(place)
        labels.append(f"{row['variant']} {row['submission']}")
    axes.set_yticks(places, labels if labelled else [""] * len(places))
    axes.invert_yaxis()
    axes.set_xlim(0, float(means["mean_ns"].max()) / 1e3 / LONGEST)
    axes.set_xlabel("µs (this panel's own scale)")


def _caption(tables: Mapping[str, pd.DataFrame], means: pd.DataFrame) -> str:
    sessions = told_range(means["sessions"])
    samples = int(means["samples"].min())
    return (
        "The operator is softmax(x / sqrt(mean(x²) + 1e-5)), not ordinary softmax. Bar and number: mean over "
        f"{sessions} session(s) of the median of at least {samples} samples, from just before submission to "
        "the return of stream synchronisation, unprofiled. Line over the bar: from the smallest to the largest "
        "of the sessions' medians, not a confidence interval. Solid: stream; hatched: replay of one captured "
        "CUDA graph. Pilot: the form of the megakernel that the pilot chose before these sessions. Every panel "
        "starts at zero and has its own scale: compare lengths inside a panel only.\n"
        f"{_devices(tables['device'])}. Run {', '.join(tables['run']['run_id'].astype(str))}."
    )


def _devices(device: pd.DataFrame) -> str:
    """Which GPU timed which session: two, or one twice."""
    if device.empty:
        return "Device not recorded"
    sessions = [f"{row['pass']}: {row['name']} {row['uuid']}" for row in device.to_dict("records")]
    drivers = ", ".join(dict.fromkeys(device["driver_version"].astype(str)))
    one = " One GPU, two processes." if len(device) > 1 and device["uuid"].nunique() == 1 else ""
    return "\n".join(sessions) + f".{one} Driver {drivers}"
