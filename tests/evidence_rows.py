"""Small evidence made row by row, for tests that work out by hand what a query must say.

    ask("kernel_summary", kernel=[kernel("a", 0, 10), kernel("a", 20, 50)])

gives the rows of that query over a store that holds just these two kernels. What a row does not name is NULL,
but for the pass, which is "r", and for process, device, context and stream, which are 0, 0, 1 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from nsight_suite.evidence.store import Store, create_shared_views, empty_store, insert_rows
from nsight_suite.figurefiles import FigureSource
from nsight_suite.querying import run_named, run_sql
from nsight_suite.sources import ExperimentSource

Row = dict[str, Any]


@contextmanager
def store_of(tables: Mapping[str, Iterable[Row]], expected: Path | None = None) -> Iterator[Store]:
    """A store that holds these rows and nothing else, and what the file `expected` declares."""
    with empty_store() as connection:
        for table, rows in tables.items():
            insert_rows(connection, table, rows)
        create_shared_views(connection, expected)
        yield Store(connection, {})


def ask(query: str, /, **tables: Iterable[Row]) -> list[Row]:
    """The rows of a named query over these tables; `ranges` stands for the table `range`."""
    named = {"range" if table == "ranges" else table: rows for table, rows in tables.items()}
    with store_of(named) as store:
        return run_named(store, query).records()


def frames(
    figure: FigureSource, tables: Mapping[str, Iterable[Row]], experiment: ExperimentSource
) -> dict[str, pd.DataFrame]:
    """What a figure of an experiment asks for, over these tables."""
    with store_of(tables, experiment.expected) as store:
        return {
            key: (run_sql(store, text) if " " in text else run_named(store, text, experiment.name)).frame()
            for key, text in figure.queries.items()
        }


def columns(rows: Iterable[Row], names: str) -> list[tuple[Any, ...]]:
    """Of each row the columns that `names` lists, parted by spaces."""
    return [tuple(row[name] for name in names.split()) for row in rows]


def kernel(name: str, start_ns: int | None, end_ns: int | None, **more: Any) -> Row:
    where = {"pass": "r", "process": 0, "device": 0, "context": 1, "stream": 7}
    return {**where, "name": name, "start_ns": start_ns, "end_ns": end_ns, **more}


def copy(direction: str | None, size: int, start_ns: int | None, end_ns: int | None, **more: Any) -> Row:
    """A memory copy; a fill when it has no direction."""
    where = {"pass": "r", "process": 0, "device": 0, "context": 1, "stream": 7}
    what = {"kind": "memcpy" if direction else "memset", "direction": direction, "bytes": size}
    return {**where, **what, "start_ns": start_ns, "end_ns": end_ns, **more}


def launch(launch_id: int, start_ns: int, end_ns: int, kind: str = "kernel", **more: Any) -> Row:
    names = {"kernel": "cudaLaunchKernel", "graph": "cudaGraphLaunch", "memcpy": "cudaMemcpyAsync"}
    made = {"pass": "r", "process": 0, "thread": 0, "launch_id": launch_id, "kind": kind}
    return {**made, "name": names[kind], "captured": False, "start_ns": start_ns, "end_ns": end_ns, **more}


def nvtx(range_id: int, name: str, start_ns: int, end_ns: int | None, **more: Any) -> Row:
    made = {"pass": "r", "process": 0, "thread": 0, "range_id": range_id, "name": name, "style": "push_pop"}
    return {**made, "start_ns": start_ns, "end_ns": end_ns, **more}


def path(path_id: int, whole: str, parent: int | None = None, **more: Any) -> Row:
    """The nesting `whole` ("outer / inner"); `parent` is the nesting around its innermost name."""
    names = whole.split(" / ")
    made = {"pass": "r", "path_id": path_id, "parent_path_id": parent, "depth": len(names) - 1}
    return {**made, "name": names[-1], "style": "push_pop", "path": whole, **more}


def counter(workload_id: int, metric: str, value: float | None, unit: str | None = "", **more: Any) -> Row:
    made = {"pass": "r", "workload_id": workload_id, "workload": "kernel", "name": "k"}
    return {**made, "grid": "8,1,1", "block": "64,1,1", "metric": metric, "value": value, "unit": unit, **more}


def nsys_report(rows: int | None, **more: Any) -> Row:
    """The report itself; `rows` are its kernels, None where it has no table of them."""
    made = {"pass": "r", "file": "r.sqlite", "format": "nsys-sqlite", "rows": rows, "complete": True}
    return {**made, "kernel_rows": rows, "call_rows": 9, "range_rows": 9, **more}
