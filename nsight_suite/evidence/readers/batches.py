"""Batches of cells and rows of numbers: which of them are there, and how they are parted and put together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.lanes import Rows, count, take
from nsight_suite.evidence.readers.sqlite_pages import Batch, Cells, Integers


def poured(parts: list[Rows]) -> Rows:
    """All rows of these parts, as `lanes.joined` gives them. The parts are emptied, so that only one column at
    a time takes memory twice."""
    some = [rows for rows in parts if count(rows)] or parts[-1:]
    if len(some) < 2:
        return dict(some[0]) if some else {}
    return {name: np.concatenate([rows.pop(name) for rows in some]) for name in tuple(some[-1])}


def split(rows: Rows, by: Integers) -> dict[int, Rows]:
    """Rows by a number that few differ in."""
    if not len(by):
        return {}
    if (by == by[0]).all():
        return {int(by[0]): rows}
    return {number: take(rows, by == number) for number in np.unique(by).tolist()}


def distinct(cells: Cells) -> set[int]:
    """The values of cells that few differ in."""
    values = cells.values if cells.valid is None else cells.values[cells.valid]
    return set(values[:1].tolist()) if (values == values[:1]).all() else set(np.unique(values).tolist())


def valid(cells: Cells) -> NDArray[np.bool_]:
    """Which rows have a value."""
    return np.ones(len(cells.values), np.bool_) if cells.valid is None else cells.valid


def complete(batch: Batch, *names: str) -> NDArray[np.bool_]:
    """Which rows have all these columns."""
    there = np.ones(len(batch[names[0]].values), np.bool_)
    for name in names:
        there &= valid(batch[name])
    return there


def filled(cells: Cells, other: int | Integers) -> Integers:
    """The values, with another one where there is none."""
    return cells.values if cells.valid is None else np.where(cells.valid, cells.values, other)


def relabelled(numbers: Integers, label: Callable[[int], int]) -> Integers:
    """The label of each of some numbers, of which few differ."""
    highest = int(numbers.max(initial=0))
    if numbers.min(initial=0) < 0 or highest > len(numbers):
        known, inverse = np.unique(numbers, return_inverse=True)
        return np.array([label(number) for number in known.tolist()], np.int64)[inverse]
    # Small numbers are places in an array, which spares putting all of them in order.
    labels = np.zeros(highest + 1, np.int64)
    for number in np.flatnonzero(np.bincount(numbers)).tolist():
        labels[number] = label(number)
    return labels[numbers]
