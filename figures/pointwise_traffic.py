"""Bytes that the kernels ask for beside the DRAM bytes that ncu measured, and graph nodes beside kernels.

One row of panels per number of elements; reads and writes apart, caches flushed and warm. The last column
counts the nodes of the graph beside the kernels that the profiler saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from nsight_suite.errors import CannotAnswer
from nsight_suite.figurestyle import BLACK, GREY, ORANGE, PURPLE, SKY, beside, origin, titled

NAME = "pointwise-traffic"
EXPERIMENTS = ("pointwise",)
QUERIES = {
    "traffic": "traffic",
    "kernels": "kernel_counts",
    "nodes": "graph_nodes",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass LIKE 'ncu%' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

Look = Mapping[str, Any]  # keywords of a matplotlib patch

# What each bar of a panel is: its look, and the column that it comes from (with {} for read or write).
_BYTES: Mapping[str, tuple[str, Look]] = {
    "logical: each kernel's inputs or outputs, once": (
        "logical_{}_bytes",
        {"facecolor": "white", "edgecolor": BLACK},
    ),
    "ncu, caches flushed before each kernel": ("flushed_{}_bytes", {"facecolor": SKY, "edgecolor": BLACK}),
    "ncu, warm caches, whole graph": (
        "warm_{}_bytes",
        {"facecolor": ORANGE, "edgecolor": BLACK, "hatch": "////"},
    ),
}
_COUNTS: Mapping[str, tuple[str, Look]] = {
    "nodes of the graph, graph API": ("nodes", {"facecolor": "white", "edgecolor": BLACK}),
    "kernels per replay, nsys": ("graph", {"facecolor": PURPLE, "edgecolor": BLACK, "hatch": "////"}),
    "kernels per stream invocation, nsys": ("stream", {"facecolor": GREY, "edgecolor": BLACK}),
}
# Legends stand under the axis labels of the last row; in parts of a panel's height.
_BELOW = -0.42
_UNITS = ((1e6, "MB (10⁶ bytes)"), (1e3, "kB (10³ bytes)"), (1.0, "bytes"))

Bars = Sequence[tuple[str, Mapping[str, float | None]]]


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    traffic = tables["traffic"][tables["traffic"]["submission"] == "graph"]
    measured = traffic[traffic["flushed_read_bytes"].notna() | traffic["warm_read_bytes"].notna()]
    if measured.empty:
        raise CannotAnswer(
            "No DRAM bytes of graph replays were measured.", "Run the `ncu` and `ncu-warm` passes."
        )
    sizes = sorted(set(measured["elements"]))
    figure = Figure(figsize=(12.4, 3.2 + 2.1 * len(sizes)))
    grid = figure.subplots(len(sizes), 3, squeeze=False)
    for row, elements in enumerate(sizes):
        rows = traffic[traffic["elements"] == elements]
        reads, writes, counts = grid[row]
        unit, unit_name = _unit(rows)
        widest = 0.0
        for axes, way in ((reads, "read"), (writes, "write")):
            bars = _bytes(rows, way, unit)
            widest = max(widest, _longest(bars))
            _bars(axes, bars, _BYTES, labelled=axes is reads)
            axes.set_title(f"N = {elements:,}: DRAM {way}s")
            axes.set_xlabel(f"{unit_name} per invocation")
        for axes in (reads, writes):
            axes.set_xlim(0, widest * 1.25)
        shape = str(rows["shape"].iloc[0])
        counted = _counts(tables, shape, list(rows["variant"]))
        _bars(counts, counted, _COUNTS, labelled=False)
        counts.set_xlim(0, _longest(counted) * 1.25)
        counts.set_title(f"N = {elements:,}: nodes and kernels")
        counts.set_xlabel("number per invocation")
        counts.xaxis.set_major_locator(MaxNLocator(integer=True))
    titled(figure, "Three pointwise steps: memory traffic and kernels", _caption(tables))
    _legend(grid[-1, 0], _BYTES)
    _legend(grid[-1, 2], _COUNTS)
    return figure


def _unit(rows: pd.DataFrame) -> tuple[float, str]:
    """The largest unit of which the row's largest value is at least one."""
    columns = [column for column in rows.columns if column.endswith("_bytes")]
    largest = float(rows[columns].max().max())
    return next((unit for unit in _UNITS if largest >= unit[0]), _UNITS[-1])


def _bytes(rows: pd.DataFrame, way: str, unit: float) -> Bars:
    return [
        (
            str(row["variant"]),
            {name: _value(row[column.format(way)], unit) for name, (column, _) in _BYTES.items()},
        )
        for row in rows.to_dict("records")
    ]


def _counts(tables: Mapping[str, pd.DataFrame], shape: str, variants: Sequence[str]) -> Bars:
    kernels, nodes = tables["kernels"], tables["nodes"]
    bars = []
    for variant in variants:
        own = kernels[(kernels["shape"] == shape) & (kernels["variant"] == variant)]
        values = {
            str(row["submission"]): _value(row["kernels_per_invocation"]) for row in own.to_dict("records")
        }
        api = nodes[(nodes["shape"] == shape) & (nodes["variant"] == variant)]["api_nodes"]
        values["nodes"] = _value(api.iloc[0]) if len(api) else None
        bars.append((variant, {name: values.get(source) for name, (source, _) in _COUNTS.items()}))
    return bars


def _value(value: Any, unit: float = 1.0) -> float | None:
    return None if pd.isna(value) else float(value) / unit


def _longest(bars: Bars) -> float:
    values = [value for _, group in bars for value in group.values() if value is not None]
    return max(values, default=0.0) or 1.0


def _bars(axes: Axes, groups: Bars, looks: Mapping[str, tuple[str, Look]], labelled: bool) -> None:
    """A group of horizontal bars per variant; a value that could not be had is a word, not a bar."""
    middles = []
    for group, (_, values) in enumerate(groups):
        start = group * (len(looks) + 0.8)
        middles.append(start + (len(looks) - 1) / 2)
        for offset, (name, (_, look)) in enumerate(looks.items()):
            value = values[name]
            if value is not None:
                axes.barh(start + offset, value, height=0.82, linewidth=1.0, **look)
            label = "not measured" if value is None else f"{value:.3g}" if value < 100 else f"{value:,.0f}"
            beside(axes, value or 0.0, start + offset, label)
    axes.set_yticks(middles, [name for name, _ in groups] if labelled else [""] * len(groups))
    # From below the last group to above the first, also where no bar stands.
    axes.set_ylim(len(groups) * (len(looks) + 0.8) - 1.2, -0.6)


def _legend(axes: Axes, looks: Mapping[str, tuple[str, Look]]) -> None:
    handles = [Patch(label=name, linewidth=1.0, **look) for name, (_, look) in looks.items()]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, _BELOW),
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
        handlelength=2.2,
    )


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    return (
        "Bytes are of graph submissions, medians over the profiled invocations. Every row has its own scale, "
        "which its two byte panels share, and every panel starts at zero: compare lengths inside a row only. "
        "Logical bytes are not DRAM bytes: what fits the L2 cache need not leave it, and warm invocations find "
        "their inputs there. Flushed counts miss what is written back after a kernel has ended: do not read "
        "them as the bytes that a variant writes.\n"
        f"{origin(tables)}"
    )
