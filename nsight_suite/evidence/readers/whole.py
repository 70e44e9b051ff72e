"""Batches of whole numbers, put together while they are read: each column is one array from end to end."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.sqlite_pages import Batch, Cells, Integers


def poured_as_read(batches: Iterator[Batch], names: Collection[str], rows: int) -> Batch:
    """All rows of the batches, of which there are about `rows`.

    A batch is copied while it is still in the processor's cache, and its memory is free for the next one.
    """
    columns = {name: _Column(rows) for name in names}
    count = 0
    for batch in batches:
        for name, cells in batch.items():
            columns[name].append(count, cells)
        count += len(next(iter(batch.values())).values)
    return {name: column.cells(count) for name, column in columns.items()}


class _Column:
    def __init__(self, rows: int) -> None:
        self._values: Integers = np.empty(rows, np.int64)
        self._valid: NDArray[np.bool_] | None = None

    def append(self, first: int, cells: Cells) -> None:
        behind = first + len(cells.values)
        if behind > len(self._values):
            self._values = _grown(self._values, behind)
        self._values[first:behind] = cells.values
        if cells.valid is None and self._valid is None:
            return
        if self._valid is None:
            self._valid = np.ones(len(self._values), np.bool_)
        elif behind > len(self._valid):
            self._valid = _grown(self._valid, behind)
        self._valid[first:behind] = True if cells.valid is None else cells.valid

    def cells(self, count: int) -> Cells:
        return Cells(self._values[:count], None if self._valid is None else self._valid[:count])


def _grown(array: NDArray, least: int) -> NDArray:  # type: ignore[type-arg]
    grown = np.empty(2 * least, array.dtype)
    grown[: len(array)] = array
    return grown
