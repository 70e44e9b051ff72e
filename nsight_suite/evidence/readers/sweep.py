"""Which ranges of a thread enclose which moments: exact, for any family of ranges, in time n log n.

A range encloses a call when it holds it from start to return, ends included. Of all ranges that enclose a call
the innermost is the one that starts last, and ends first among those; twins count in their order. Ranges mostly
nest, but nothing here relies on it: those of two NVTX domains may cross.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# After so many steps from range to range the rest is looked up in a tree, so that deep or odd nesting costs no
# more than its logarithm.
_STEPS = 24
_LARGEST = np.iinfo(np.int64).max
_SMALLEST = np.iinfo(np.int64).min


def order(start: Integers, end: Integers) -> Integers | None:
    """The order in which ranges come before those that they enclose; None when they are in it already."""
    if len(start) < 2:
        return None
    later = (start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] <= end[:-1]))
    return None if later.all() else np.lexsort((-end, start))


@dataclass(frozen=True)
class Ranges:
    """Ranges of one thread, in the order of `order`; times in ns, both ends included."""

    start: Integers
    end: Integers

    @cached_property
    def parent(self) -> Integers:
        """For each range the innermost one before it that encloses it; -1 for none."""
        end = self.end
        found = np.arange(len(end), dtype=np.int64) - 1
        active = np.arange(len(end), dtype=np.int64)
        while True:
            # All ranges between `found` and the range itself end before it does.
            above = found[active]
            active = active[(above >= 0) & (end[above] < end[active])]
            if not len(active):
                return found
            found[active] = found[found[active]]

    @cached_property
    def depth(self) -> Integers:
        """How many ranges lie above each one, from parent to parent."""
        depth = (self.parent >= 0).astype(np.int64)
        above = self.parent.copy()
        while (inside := np.flatnonzero(above >= 0)).size:
            depth[inside] += depth[above[inside]]
            above[inside] = above[above[inside]]
        return depth

    def innermost(self, start: Integers, end: Integers) -> Integers:
        """The innermost range that encloses each call; -1 for none."""
        return self.last_before(np.searchsorted(self.start, start, side="right") - 1, end)

    def last_before(self, at: Integers, end: Integers) -> Integers:
        """The last range at or before `at` that ends at `end` or later; -1 for none."""
        found = at.astype(np.int64)
        active = np.flatnonzero(found >= 0)
        for _ in range(_STEPS):
            active = active[self.end[found[active]] < end[active]]
            if len(active):
                found[active] = self.parent[found[active]]
                active = active[found[active] >= 0]
            if not len(active):
                return found
        found[active] = self._last_by_tree(found[active], end[active])
        return found

    def enclosing(self, start: Integers, end: Integers) -> Integers:
        """How many ranges enclose each call."""
        begun = np.searchsorted(self.start, start, side="right")
        over = np.searchsorted(self._ends, end, side="left")
        # Ranges inside the call itself end before it, but have not begun before it.
        inside = np.flatnonzero(np.searchsorted(self.start, end, side="left") > begun)
        for call in inside.tolist():
            first, last = int(begun[call]), int(np.searchsorted(self.start, end[call], side="left"))
            over[call] -= int(np.count_nonzero(self.end[first:last] < end[call]))
        return begun - over

    @cached_property
    def crossed(self) -> Integers:
        """The ranges that others may enclose than those from parent to parent, since some cross or touch."""
        at = np.arange(len(self.start), dtype=np.int64)
        still_open = at - np.searchsorted(self._ends, self.start, side="left")
        return np.flatnonzero(still_open > self.depth)

    def chain(self, at: Integers, end: Integers) -> Iterator[Integers]:
        """From range `at` outwards, all that begin before it and end at `end` or later; -1 behind the last."""
        found = at
        while (found >= 0).any():
            yield found
            found = np.where(found >= 0, self.last_before(found - 1, end), -1)

    @cached_property
    def _ends(self) -> Integers:
        return np.sort(self.end)

    @cached_property
    def _tree(self) -> list[Integers]:
        """Latest ends of one range, of pairs, of fours, …"""
        levels = [self.end]
        while len(levels[-1]) > 1:
            below = levels[-1]
            if len(below) % 2:
                below = np.append(below, _SMALLEST)
            levels.append(np.maximum(below[::2], below[1::2]))
        return levels

    def _last_by_tree(self, at: Integers, end: Integers) -> Integers:
        found = np.full(len(at), -1, np.int64)
        node, level = at.copy(), np.zeros(len(at), np.int64)
        active = np.flatnonzero(node >= 0)
        climbed: list[tuple[Integers, int]] = []
        height = 0
        while len(active) and height < len(self._tree):
            here = self._tree[height]
            hit = here[node[active]] >= end[active]
            climbed.append((active[hit], height))
            level[active[hit]] = height
            active = active[~hit]
            # A left child has nothing before it below its parent: go on at the subtree before.
            left = node[active] % 2 == 0
            node[active] = np.where(left, node[active] // 2 - 1, node[active] // 2)
            # From a right child the parent holds the child itself, which is known not to do, and its left
            # sibling.
            active = active[node[active] >= 0]
            height += 1
        for reached, height in climbed:
            place = node[reached]
            for below in range(height - 1, -1, -1):
                right = np.minimum(place * 2 + 1, len(self._tree[below]) - 1)
                fits = self._tree[below][right] >= end[reached]
                place = np.where(fits, right, place * 2)
            found[reached] = place
        return found


@dataclass(frozen=True)
class Extremes:
    """Smallest or largest values of any stretch of an array, without walking through it."""

    values: Integers
    largest: bool

    _BLOCK = 32

    def of(self, first: Integers, behind: Integers) -> Integers:
        """Over values[first:behind], each not empty."""
        pick = np.maximum if self.largest else np.minimum
        length = behind - first
        found = np.full(len(first), _SMALLEST if self.largest else _LARGEST, np.int64)
        short = np.flatnonzero(length <= 2 * self._BLOCK)
        found[short] = _reduced(pick, self.values, first[short], behind[short])
        long = np.flatnonzero(length > 2 * self._BLOCK)
        if len(long):
            left = -(-first[long] // self._BLOCK)
            right = behind[long] // self._BLOCK
            found[long] = self._of_blocks(left, right)
            for a, b in ((first[long], left * self._BLOCK), (right * self._BLOCK, behind[long])):
                some = np.flatnonzero(b > a)
                found[long[some]] = pick(found[long[some]], _reduced(pick, self.values, a[some], b[some]))
        return found

    def _of_blocks(self, left: Integers, right: Integers) -> Integers:
        pick = np.maximum if self.largest else np.minimum
        power = np.frexp(right - left)[1] - 1
        found = np.empty(len(left), np.int64)
        for level in np.unique(power).tolist():
            row = self._levels[level]
            here = power == level
            found[here] = pick(row[left[here]], row[right[here] - (1 << level)])
        return found

    @cached_property
    def _levels(self) -> list[Integers]:
        """Extremes of stretches of 1, 2, 4 … blocks that begin at each block."""
        pick = np.maximum if self.largest else np.minimum
        whole = len(self.values) // self._BLOCK
        levels = [pick.reduce(self.values[: whole * self._BLOCK].reshape(whole, self._BLOCK), axis=1)]
        step = 1
        while 2 * step <= whole:
            last = levels[-1]
            levels.append(pick(last[: len(last) - step], last[step:]))
            step *= 2
        return levels


def _reduced(pick: np.ufunc, values: Integers, first: Integers, behind: Integers) -> Integers:
    if not len(first):
        return np.empty(0, np.int64)
    # reduceat takes pairs of bounds; the results of the stretches between them are dropped. A last bound may
    # not lie at the end of the array, so one value is added that no stretch holds.
    padded = np.append(values, values[-1:])
    bounds = np.column_stack([first, behind]).ravel()
    found: Integers = pick.reduceat(padded, bounds)[::2]
    return found
