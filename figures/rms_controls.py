"""What each control of the megakernel costs: less kept for the store, or an ordinary launch.

Dot: control minus the form that it is a control of, paired by round inside a session, median per session, then
the mean of the sessions. Line: from the smallest to the largest of the sessions' medians.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, BLUE, GREEN, ORANGE, VERMILLION, origin, titled

NAME = "rms-controls"
EXPERIMENTS = ("rms",)
QUERIES = {
    "controls": "controls",
    "device": """
        SELECT DISTINCT name, driver_version FROM device WHERE pass IN ('timing', 'timing-2') ORDER BY ALL""",
    "run": "SELECT run_id FROM run",
}

COLOURS = {
    "mega_grid_recompute": GREEN,
    "mega_grid_reload": BLUE,
    "mega_grid_ordinary": VERMILLION,
    "mega_row_ordinary": ORANGE,
}
TITLES = {
    "retention": "Less kept for the store\n(against mega_grid)",
    "launch": "Ordinary launch\n(against the same form, cooperative)",
}


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    controls = tables["controls"]
    controls = controls[controls["delta_ns"].notna()]
    if controls.empty:
        raise CannotAnswer("No control was timed beside its form.", "Run the passes `timing` and `timing-2`.")
    kinds = [kind for kind in TITLES if kind in set(controls["kind"])]
    most = max(len(controls[controls["kind"] == kind]) for kind in kinds)
    figure = Figure(figsize=(1.2 + 5.6 * len(kinds), 2.6 + 0.33 * most))
    for axes, kind in zip(figure.subplots(1, len(kinds), squeeze=False).flat, kinds, strict=True):
        _panel(axes, controls[controls["kind"] == kind])
        axes.set_title(TITLES[kind])
    titled(figure, "RMS-scaled softmax: what the controls cost", _caption(tables, controls))
    return figure


def _panel(axes: Axes, controls: pd.DataFrame) -> None:
    """One line per shape, submission and control; the value stands beside its dot."""
    places, labels = [], []
    place, last_shape = 0.0, None
    for row in controls.to_dict("records"):
        place += 0.0 if last_shape is None else 1.0 if row["shape"] == last_shape else 1.6
        last_shape = row["shape"]
        colour = COLOURS[row["control"]]
        span = [row["delta_low_ns"] / 1e3, row["delta_high_ns"] / 1e3]
        axes.plot(span, [place] * 2, "|-", color=colour, markersize=9, markeredgewidth=1.8, linewidth=1.8)
        face = "white" if row["submission"] == "graph" else colour
        axes.plot(row["delta_ns"] / 1e3, place, "o", markersize=7, markerfacecolor=face, markeredgecolor=colour)
        right = max(row["delta_ns"], row["delta_high_ns"]) / 1e3
        axes.annotate(
            f"{row['delta_ns'] / 1e3:+.2f} ({100 * row['relative']:+.1f} %)",
            (right, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
        places.append(place)
        name = row["control"].removeprefix("mega_")
        labels.append(f"{row['shape'].replace('x', ' × ')} {row['submission']} {name}")
    axes.axvline(0, color=BLACK, linewidth=1.0)
    axes.set_yticks(places, labels, fontsize=9.5)
    axes.invert_yaxis()
    low = min(0.0, float(controls["delta_low_ns"].min()) / 1e3)
    high = max(0.0, float(controls["delta_high_ns"].max()) / 1e3)
    width = (high - low) or 1.0
    axes.set_xlim(low - 0.08 * width, high + 0.55 * width)  # the room is for the numbers
    axes.set_xlabel("µs more than its form per invocation")


def _caption(tables: Mapping[str, pd.DataFrame], controls: pd.DataFrame) -> str:
    sessions = int(controls["sessions"].max())
    return (
        "Dot and number: control minus its form, host completion, paired by round inside a session, median per "
        f"session, mean of {sessions} session(s); in brackets, against the form's own median. Line: from the "
        "smallest to the largest of the sessions' medians, not a confidence interval. Filled: stream; open: "
        "graph. Left of zero the control is faster. The retention controls run the same machine code at the "
        "same launch shape and with the same shared memory. Each panel has its own scale.\n"
        f"{origin(tables)}"
    )
