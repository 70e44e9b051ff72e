"""DRAM bytes that the algorithm needs beside those that ncu measured, and kernels seen beside graph nodes.

One shape: the largest that both counter passes measured. Reads and writes apart, by cache policy.
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

NAME = "profile-traffic"
EXPERIMENTS = ("row",)
QUERIES = {
    "traffic": "dram_bytes",
    "kernels": "kernel_counts",
    "nodes": "graph_nodes",
    "shapes": """
        SELECT DISTINCT
            shape,
            CAST(parameters ->> 'rows' AS BIGINT) AS rows,
            CAST(parameters ->> 'columns' AS BIGINT) AS columns
        FROM variant_case ORDER BY ALL""",
    "device": "SELECT DISTINCT name, driver_version FROM device WHERE pass LIKE 'ncu%' ORDER BY ALL",
    "run": "SELECT run_id FROM run",
}

Look = Mapping[str, Any]  # keywords of a matplotlib patch

_LOGICAL = "logical: what each kernel must\nread and write, once"
_FLUSHED = "ncu, caches flushed before each\nkernel, summed over the kernels"
_WARM = "ncu, warm caches, whole graph\nas one workload"
_LOOKS: Mapping[str, Look] = {
    _LOGICAL: {"facecolor": "white", "edgecolor": BLACK},
    _FLUSHED: {"facecolor": SKY, "edgecolor": BLACK},
    _WARM: {"facecolor": ORANGE, "edgecolor": BLACK, "hatch": "////"},
}
_COUNT_LOOKS: Mapping[str, Look] = {
    "kernels per stream invocation, nsys": {"facecolor": GREY, "edgecolor": BLACK},
    "kernels per graph replay, nsys": {"facecolor": PURPLE, "edgecolor": BLACK, "hatch": "////"},
    "nodes of the graph, graph API": {"facecolor": "white", "edgecolor": BLACK},
}

# Legends and notes stand under a panel's axis label; in parts of the panel's height.
_BELOW = -0.24
_CAVEAT = (
    "Flushed counts miss what is written back\nafter a kernel has ended: dirty lines wait\nin the L2 cache. "
    "Do not read them as the\nbytes that a variant writes."
)

Bars = Sequence[tuple[str, Mapping[str, float | None]]]


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    shape = _shape(tables)
    figure = Figure(figsize=(11.4, 6.3))
    reads, writes, counts = figure.subplots(1, 3)
    writes.sharex(reads)
    for axes, way in ((reads, "read"), (writes, "write")):
        _bars(axes, _bytes(tables["traffic"], shape, way), _LOOKS, "{:.0f}", labelled=axes is reads)
        axes.set_title(f"DRAM {way}s")
        axes.set_xlabel("MB (10⁶ bytes) per invocation")
    _bars(counts, _counts(tables, shape), _COUNT_LOOKS, "{:.0f}", labelled=False)
    counts.set_title("Kernels and graph nodes")
    counts.set_xlabel("number per invocation")
    counts.xaxis.set_major_locator(MaxNLocator(integer=True))
    titled(figure, f"Memory traffic and kernels at {shape.replace('x', ' × ')}", _caption(tables))
    _legend(reads, _LOOKS)
    writes.text(0.0, _BELOW - 0.02, _CAVEAT, transform=writes.transAxes, va="top", fontsize=10, style="italic")
    _legend(counts, _COUNT_LOOKS)
    return figure


def _shape(tables: Mapping[str, pd.DataFrame]) -> str:
    """The largest shape with a DRAM count, square before oblong."""
    traffic = tables["traffic"]
    measured = set(traffic[traffic["dram_read_bytes"].notna() & (traffic["submission"] == "graph")]["shape"])
    sized = [
        (row["rows"] * row["columns"], row["rows"] == row["columns"], row["shape"])
        for row in tables["shapes"].to_dict("records")
        if row["shape"] in measured
    ]
    if not sized:
        raise CannotAnswer(
            "No DRAM bytes of graph replays were measured.", "Run the `ncu` and `ncu-warm` passes."
        )
    return str(max(sized)[2])


def _bytes(traffic: pd.DataFrame, shape: str, way: str) -> Bars:
    """Per variant: logical and measured MB, of graph submissions, which both passes measure."""
    traffic = traffic[(traffic["shape"] == shape) & (traffic["submission"] == "graph")]
    bars = []
    for variant in _most_bytes_first(traffic):
        rows = traffic[traffic["variant"] == variant]
        values: dict[str, float | None] = {_LOGICAL: _first(rows, f"logical_{way}_bytes", 1e6)}
        for name, policy, scope in ((_FLUSHED, "all", "kernel-sum"), (_WARM, "none", "whole-graph")):
            measured = rows[(rows["cache_control"] == policy) & (rows["scope"] == scope)]
            values[name] = _first(measured, f"dram_{way}_bytes", 1e6)
        bars.append((variant, values))
    return bars


def _most_bytes_first(traffic: pd.DataFrame) -> list[str]:
    order = traffic.sort_values("logical_read_bytes", ascending=False, kind="stable")
    return [str(variant) for variant in dict.fromkeys(order["variant"])]


def _counts(tables: Mapping[str, pd.DataFrame], shape: str) -> Bars:
    kernels = tables["kernels"][tables["kernels"]["shape"] == shape]
    nodes = tables["nodes"][tables["nodes"]["shape"] == shape]
    stream_name, replay_name, node_name = _COUNT_LOOKS
    bars = []
    for variant in _most_bytes_first(tables["traffic"][tables["traffic"]["shape"] == shape]):
        own = kernels[kernels["variant"] == variant]
        values = {
            stream_name: _first(own[own["submission"] == "stream"], "kernels_per_invocation"),
            replay_name: _first(own[own["submission"] == "graph"], "kernels_per_invocation"),
            node_name: _first(nodes[nodes["variant"] == variant], "api_nodes"),
        }
        bars.append((variant, values))
    return bars


def _first(rows: pd.DataFrame, column: str, unit: float = 1.0) -> float | None:
    values = rows[column].dropna()
    return float(values.iloc[0]) / unit if len(values) else None


def _bars(axes: Axes, groups: Bars, looks: Mapping[str, Look], text: str, labelled: bool) -> None:
    """A group of horizontal bars per variant; a value that could not be had is a word, not a bar."""
    longest = max(
        (value for _, values in groups for value in values.values() if value is not None), default=1.0
    )
    middles = []
    for group, (_, values) in enumerate(groups):
        start = group * (len(looks) + 0.7)
        middles.append(start + (len(looks) - 1) / 2)
        for offset, (name, look) in enumerate(looks.items()):
            value = values[name]
            if value is not None:
                axes.barh(start + offset, value, height=0.82, linewidth=1.0, **look)
            label = "not measured" if value is None else text.format(value)
            beside(axes, value or 0.0, start + offset, label)
    axes.set_yticks(middles, [name for name, _ in groups] if labelled else [""] * len(groups))
    axes.invert_yaxis()
    axes.set_xlim(0, max(longest * 1.2, axes.get_xlim()[1]))


def _legend(axes: Axes, looks: Mapping[str, Look]) -> None:
    handles = [Patch(label=name, linewidth=1.0, **look) for name, look in looks.items()]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, _BELOW),
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
        handlelength=2.2,
        labelspacing=0.7,
    )


def _caption(tables: Mapping[str, pd.DataFrame]) -> str:
    return (
        "Bytes are of graph submissions, medians over the profiled invocations; the two byte "
        "panels share one scale, and every panel starts at zero. Bytes with flushed caches say nothing of warm "
        "caches, and logical bytes are not DRAM bytes.\n"
        f"{origin(tables)}"
    )
