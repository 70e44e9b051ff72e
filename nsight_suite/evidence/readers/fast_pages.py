"""Columns of a plain table of an SQLite file, a few hundred pages at a time, decoded by compiled loops.

Pages are read and decoded by threads ahead of the one that uses them, in buffers that are used again.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.loops import NULL
from nsight_suite.evidence.readers.machine import Machine
from nsight_suite.evidence.readers.nsys_export import SqliteExport
from nsight_suite.evidence.readers.sqlite_pages import Bytes, Integers, PageFile, Unusual

_BYTES_AT_ONCE = 1 << 20
# A row takes at least so many bytes of its page; a part has room for no more.
_LEAST_ROW = 17
# By serial type how many bytes a cell takes; -1 for types that are reserved.
_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, -1, -1, *((kind - 12) >> 1 for kind in range(12, 128))])
_WORKERS = 4


@dataclass
class Part:
    """Decoded rows, as loops.decode tells them. `found` is for what is found about each row."""

    values: Integers
    lengths: Integers
    found: Integers
    rowids: Integers
    buffer: Bytes
    rows: int = 0

    @property
    def room(self) -> int:
        return len(self.lengths)

    @classmethod
    def empty(cls, columns: int) -> Part:
        room = _BYTES_AT_ONCE // _LEAST_ROW
        values, found = np.empty((columns, room), np.int64), np.empty((5, room), np.int64)
        # With eight bytes more, so that a word can be read at any byte.
        buffer = np.zeros(_BYTES_AT_ONCE + 8, np.uint8)
        return cls(values, np.empty(room, np.int64), found, np.empty(2, np.int64), buffer)


@dataclass(frozen=True)
class _Layout:
    """Where in a table's rows its columns lie: see loops.decode."""

    root: int
    slots: Integers
    missing: Sequence[int]
    text: int


@dataclass(frozen=True)
class Reader:
    """An export of which tables are read, and the compiled loops to do so."""

    export: SqliteExport
    file: PageFile
    machine: Machine
    workers: ThreadPoolExecutor

    def parts(
        self, table: str, columns: Sequence[str], also: Callable[[Part], None] = lambda part: None
    ) -> Iterator[Part]:
        """The rows of a table in their order; a part is good until the next one is taken.

        `also` is done to each part by the thread that decodes it. A column of the name "text" holds text, all
        others hold integers. Raises Unusual for a table or a row that is not plain.
        """
        layout = self._layout(table, columns)
        leaves = self.file.leaves(layout.root)
        step = max(1, _BYTES_AT_ONCE // self.file.page_size)
        ahead = (self.workers._max_workers or 1) + 1
        free = [Part.empty(len(columns)) for _ in range(ahead)]
        waiting: deque[Future[Part]] = deque()
        reached = None

        def decoded(pages: Integers, part: Part) -> Part:
            self._decode(pages, layout, part)
            also(part)
            return part

        try:
            for at in [*range(0, len(leaves), step), *[None] * ahead]:
                if at is not None and free:
                    waiting.append(self.workers.submit(decoded, leaves[at : at + step], free.pop()))
                if waiting and (at is None or not free):
                    part = waiting.popleft().result()
                    if part.rows:
                        if reached is not None and part.rowids[0] <= reached:
                            raise Unusual("rowids do not ascend")
                        reached = int(part.rowids[1])
                        yield part
                    free.append(part)
        finally:
            for future in waiting:
                future.cancel()

    def _decode(self, pages: Integers, layout: _Layout, part: Part) -> None:
        self._read(pages, part.buffer)
        part.rows = self.machine.decode(
            *(part.buffer, len(pages), self.file.page_size, self.file.usable - 35),
            *(_SIZES, layout.slots, len(layout.slots), layout.text),
            *(part.values, part.room, part.lengths, part.rowids),
        )
        if part.rows < 0:
            raise Unusual("a page or a row of another kind")
        for slot in layout.missing:
            part.values[slot, : part.rows] = NULL

    def _read(self, pages: Integers, buffer: Bytes) -> None:
        size, view = self.file.page_size, buffer.data
        breaks = (np.flatnonzero(np.diff(pages) != 1) + 1).tolist()
        for first, behind in pairwise([0, *breaks, len(pages)]):
            # The file was as long as its pages when it was opened.
            target = view[first * size : behind * size]
            if os.preadv(self.file.descriptor, [target], (int(pages[first]) - 1) * size) != len(target):
                raise Unusual("a page lies beyond the end of the file")

    def _layout(self, table: str, columns: Sequence[str]) -> _Layout:
        info = self.export.connection.execute(
            "SELECT name, hidden = 0 AND pk = 0 AND dflt_value IS NULL, upper(type) LIKE '%INT%' "
            "FROM pragma_table_xinfo(?)",
            (table,),
        ).fetchall()
        root = self.export.connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        names = [row[0] for row in info]
        if not root or (root[0] or 0) < 2 or not all(row[1] for row in info):
            raise Unusual("not a plain table")
        if any(not row[2] for row in info if row[0] in columns and row[0] != "text"):
            raise Unusual("numbers in a column of another type")
        slots = np.array([columns.index(name) if name in columns else -1 for name in names], np.int64)
        there = np.flatnonzero(slots >= 0)
        if not len(there):
            raise Unusual("a table without the columns")
        missing = sorted(set(range(len(columns))) - set(slots.tolist()))
        text = columns.index("text") if "text" in names and "text" in columns else -1
        return _Layout(root[0], slots[: there[-1] + 1].copy(), missing, text)


@contextmanager
def opened(export: SqliteExport, machine: Machine) -> Iterator[Reader]:
    """The export's file for reading. Raises Unusual for one that is not plain."""
    descriptor = os.open(export.path, os.O_RDONLY)
    try:
        with ThreadPoolExecutor(min(_WORKERS, os.cpu_count() or 1)) as workers:
            yield Reader(export, PageFile.opened(descriptor), machine, workers)
    finally:
        os.close(descriptor)


def distinct(values: NDArray[Any]) -> Iterator[int]:
    """The few different numbers of an array."""
    while len(values):
        yield (found := int(values[0]))
        values = values[values != found]
