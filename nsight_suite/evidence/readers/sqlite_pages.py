"""Columns of an SQLite table, decoded straight from its pages with numpy.

SQLite's own virtual machine hands over a cell at a time, which costs several times more than reading the file.
Most tables of an nsys export are plain: rowid tables whose rows fit their pages. Their cells are decoded here,
all rows of many pages at once. Whatever is not plain (a database in WAL mode or in UTF-16, a damaged page)
raises Unusual, and the caller asks SQLite instead. Sources: https://www.sqlite.org/fileformat2.html, sections
1.3, 1.6 and 2.1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
# Fetches columns of one row, by rowid, through SQLite itself.
Fetch = Callable[[int], Sequence[object]]

_TABLE_INTERIOR, _TABLE_LEAF = 5, 13
_PAGES_AT_ONCE = 800
_AHEAD = 4

# By serial type: how many bytes a cell takes, and how far right a big-endian word that starts with it is
# shifted.
_SMALL = 256
_LENGTH = np.array(
    [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0] + [(s - 12) >> 1 for s in range(12, _SMALL)], dtype=np.int64
)
_SHIFT = np.array([63, 56, 48, 40, 32, 16, *([0] * (_SMALL - 6))], dtype=np.int64)
_NULL, _FLOAT, _ZERO, _ONE, _FIRST_BLOB = 0, 7, 8, 9, 12
_RESERVED = 10, 11
_LARGEST_PAGE = 65536
_FIRST_ROWID = -(1 << 63) - 1


class Unusual(Exception):
    """The file or a page of it is not of the plain kind that is decoded here."""


@dataclass(frozen=True)
class Column:
    """A column to decode: its position in the table, and whether it holds text or integers."""

    name: str
    position: int
    text: bool


@dataclass(frozen=True)
class Cells:
    """A decoded column. `valid` tells which rows have a value of the column's type; None when all have.

    Text is told as numbers into `texts`, the distinct texts of this batch.
    """

    values: Integers
    valid: NDArray[np.bool_] | None
    texts: tuple[bytes, ...] = ()
    odd: int = 0


Batch = Mapping[str, Cells]


@dataclass(frozen=True)
class PageFile:
    """An SQLite file of the plain kind, open for reading by position."""

    descriptor: int
    page_size: int
    usable: int
    pages: int

    @classmethod
    def opened(cls, descriptor: int) -> PageFile:
        """Raises Unusual unless the header is that of a UTF-8 database without a write-ahead log."""
        header = os.pread(descriptor, 100, 0)
        if len(header) < 100 or header[18:20] != b"\x01\x01" or header[56:60] != b"\x00\x00\x00\x01":
            raise Unusual("not a plain UTF-8 database with a rollback journal")
        size = int.from_bytes(header[16:18], "big")
        page_size = 65536 if size == 1 else size
        pages = os.fstat(descriptor).st_size // page_size
        # The header's own count is valid only when it was written with the change counter (section 1.3.7).
        if (counted := int.from_bytes(header[28:32], "big")) and header[24:28] == header[92:96]:
            pages = min(pages, counted)
        return cls(descriptor, page_size, page_size - header[20], pages)

    def batches(self, root: int, columns: Sequence[Column], fetch: Fetch) -> Iterator[Batch]:
        """The rows of the table whose tree begins at page `root`, in rowid order, a batch at a time.

        Rows that lie across pages are fetched one by one with `fetch`, which gives the columns in their order.
        """
        leaves = self.leaves(root)
        chunks = (leaves[at : at + _PAGES_AT_ONCE] for at in range(0, len(leaves), _PAGES_AT_ONCE))
        reached = _FIRST_ROWID

        def decode(pages: Integers) -> _Chunk:
            return _Chunk.read(self, pages, columns)

        waiting: list[Future[_Chunk]] = []
        with ThreadPoolExecutor(min(_AHEAD, os.cpu_count() or 1)) as workers:
            try:
                for pages in chunks:
                    waiting.append(workers.submit(decode, pages))
                    if len(waiting) > _AHEAD:
                        chunk = waiting.pop(0).result()
                        reached = chunk.following(reached)
                        yield chunk.batch(fetch)
                while waiting:
                    chunk = waiting.pop(0).result()
                    reached = chunk.following(reached)
                    yield chunk.batch(fetch)
            finally:
                for future in waiting:
                    future.cancel()

    def read(self, pages: Integers) -> Bytes:
        """These pages one after another, with eight bytes more, so that a word can be read at any of them."""
        buffer = np.empty(len(pages) * self.page_size + 8, np.uint8)
        buffer[-8:] = 0
        view = buffer.data
        breaks = np.flatnonzero(np.diff(pages) != 1) + 1
        for start, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(pages)], strict=True):
            target = view[start * self.page_size : end * self.page_size]
            at = (int(pages[start]) - 1) * self.page_size
            while target:
                got = os.preadv(self.descriptor, [target], at)
                if got <= 0:
                    raise Unusual("a page lies beyond the end of the file")
                target, at = target[got:], at + got
        return buffer

    def leaves(self, root: int) -> Integers:
        """The numbers of a table's leaf pages in the order of their rows."""
        level = np.array([root], np.int64)
        seen = 0
        while True:
            if level.min() < 1 or level.max() > self.pages or (seen := seen + len(level)) > self.pages:
                raise Unusual("a page number is out of bounds")
            # The others of a level are of the same kind: whoever reads them sees to it.
            if self._kind(int(level[0])) == _TABLE_LEAF:
                return level
            parts = (level[at : at + _PAGES_AT_ONCE] for at in range(0, len(level), _PAGES_AT_ONCE))
            level = np.concatenate([self._children(part) for part in parts])

    def _kind(self, page: int) -> int:
        at = (page - 1) * self.page_size + (100 if page == 1 else 0)
        return int.from_bytes(os.pread(self.descriptor, 1, at), "big")

    def _children(self, pages: Integers) -> Integers:
        """The children of interior pages."""
        buffer = self.read(pages)
        at = np.arange(len(pages), dtype=np.int64) * self.page_size
        header = at + np.where(pages == 1, 100, 0)
        if (buffer.take(header) != _TABLE_INTERIOR).any():
            raise Unusual("a page of another kind in the tree of a table")
        count = self._counts(buffer, header)
        if (count == 0).any():
            raise Unusual("a page of a tree has no cells")
        page, slot = _slots(count)
        cell = at[page] + _word16(buffer, header[page] + 12 + 2 * slot)
        if (cell >= at[page] + self.page_size - 4).any():
            raise Unusual("a cell lies outside its page")
        children = np.empty(len(page) + len(pages), np.int64)
        children[np.arange(len(page)) + page] = _word32(buffer, cell)
        children[np.cumsum(count) + np.arange(len(pages))] = _word32(buffer, header + 8)
        return children

    def _counts(self, buffer: Bytes, header: Integers) -> Integers:
        """How many cells the pages whose headers begin at `header` have."""
        count = _word16(buffer, header + 3)
        if (count > (self.page_size - 8) // 6).any():
            raise Unusual("a page has more cells than fit into it")
        return count


@dataclass
class _Chunk:
    """Some leaf pages, decoded. `apart` lists the rows that lie across pages, and their rowids.

    `bounds` are the first and the last rowid; None for no rows.
    """

    columns: Sequence[Column]
    cells: dict[str, Cells]
    apart: Integers
    rowids: Sequence[int]
    bounds: tuple[int, int] | None

    @classmethod
    def read(cls, file: PageFile, pages: Integers, columns: Sequence[Column]) -> _Chunk:
        try:
            return cls._read(file, pages, columns)
        except IndexError as error:
            raise Unusual("a cell lies outside its page") from error

    @classmethod
    def _read(cls, file: PageFile, pages: Integers, columns: Sequence[Column]) -> _Chunk:
        buffer = file.read(pages)
        at = np.arange(len(pages), dtype=np.int64) * file.page_size
        header = at + np.where(pages == 1, 100, 0)
        if (buffer.take(header) != _TABLE_LEAF).any():
            raise Unusual("a page of another kind among the leaves of a table")
        count = file._counts(buffer, header)
        if len(pages) > 1 and (count == 0).any():
            raise Unusual("a page of a tree has no cells")
        page, slot = _slots(count)
        start = at.take(page)
        pointer = header.take(page)
        pointer += 8
        pointer += 2 * slot
        cell = _word16(buffer, pointer)
        if file.page_size < _LARGEST_PAGE and len(cell) and cell.max() >= file.page_size:
            raise Unusual("a cell lies outside its page")
        cell += start
        size, cell = _varint(buffer, cell)
        bounds = None
        if len(cell):
            bounds = _one_varint(buffer, int(cell[0])), _one_varint(buffer, int(cell[-1]))
        whole = size <= file.usable - 35
        apart, rowids = np.flatnonzero(~whole), []
        if len(apart):
            # These are asked for by rowid, which must then tell one row.
            if len(cell) > 1 and (np.diff(_varint(buffer, cell)[0]) <= 0).any():
                raise Unusual("rowids do not ascend")
            rowids = [_one_varint(buffer, int(cell[row])) for row in apart]
            size, cell, start = size[whole], cell[whole], start[whole]
        body = _after_varint(buffer, cell)
        end = body + size
        if len(end) and (end - start).max() > file.page_size:
            raise Unusual("a cell lies outside its page")
        found = _decode(buffer, body, end, columns)
        if len(apart):
            found = {name: _widened(cells, whole) for name, cells in found.items()}
        return cls(columns, found, apart, rowids, bounds)

    def following(self, reached: int) -> int:
        """The last rowid. Raises Unusual unless all come behind the one that was reached."""
        if self.bounds is None:
            return reached
        if not reached < self.bounds[0] <= self.bounds[1]:
            raise Unusual("rowids do not ascend")
        return self.bounds[1]

    def batch(self, fetch: Fetch) -> Batch:
        for row, rowid in zip(self.apart.tolist(), self.rowids, strict=True):
            for column, value in zip(self.columns, fetch(rowid), strict=True):
                self.cells[column.name] = _with(self.cells[column.name], row, value, column.text)
        return self.cells


def _decode(buffer: Bytes, record: Integers, end: Integers, columns: Sequence[Column]) -> dict[str, Cells]:
    """The wanted columns of records that begin at `record` and end before `end`."""
    # A word of eight bytes at any byte: numpy gathers from an unaligned view as well.
    words: NDArray[Any] = np.ndarray((len(buffer) - 7,), ">i8", buffer, strides=(1,))
    header_size, at = _varint(buffer, record)
    if len(header_size) and header_size.min() < 2:
        raise Unusual("a row without any cell")
    after_header = record + header_size
    body = after_header.copy()
    wanted = {column.position: column for column in columns}
    found: dict[str, Cells] = {}
    last = max(wanted, default=-1)
    for position in range(last + 1):
        types, at = _serial_types(buffer, at, after_header)
        uniform = int(types[0]) if len(types) and (types == types[0]).all() else None
        if position in wanted:
            column = wanted[position]
            decode = _texts if column.text else _integers
            found[column.name] = decode(buffer, words, body, types, uniform)
        if uniform is not None:
            body += int(_length(types[:1])[0])
        else:
            body += _length(types)
    if (body > end).any():
        raise Unusual("a cell is longer than its row")
    over = np.flatnonzero(at >= after_header)
    if len(over) and ((at[over] > after_header[over]) | (body[over] != end[over])).any():
        raise Unusual("a row does not end where its header says")
    return found


def _serial_types(buffer: Bytes, at: Integers, after_header: Integers) -> tuple[Any, Integers]:
    """The serial types at `at`, and where the next ones begin. A row that ends early has NULL there."""
    short = at >= after_header
    types = buffer.take(at)
    if short.any():
        types[short] = _NULL
        return _long_types(buffer, types, at, ~short)
    if len(types) and types.max() >= 128:
        return _long_types(buffer, types, at, None)
    return types, at + 1


def _long_types(
    buffer: Bytes, types: Bytes, at: Integers, there: NDArray[np.bool_] | None
) -> tuple[Integers, Integers]:
    if there is None:
        return _varint(buffer, at)
    wide, after = types.astype(np.int64), at.copy()
    wide[there], after[there] = _varint(buffer, at[there])
    return wide, after


def _integers(buffer: Bytes, words: Any, body: Integers, types: Any, uniform: int | None) -> Cells:
    if uniform == _NULL:
        return Cells(np.zeros(len(body), np.int64), np.zeros(len(body), np.bool_))
    if uniform in (_ZERO, _ONE):
        return Cells(np.full(len(body), int(uniform == _ONE), np.int64), None)
    if uniform is not None and _NULL < uniform < _FLOAT:
        values = words[body].astype(np.int64)
        values >>= _SHIFT[uniform]
        return Cells(values, None)
    known = types if types.dtype == np.uint8 else np.minimum(types, _SMALL - 1)
    if ((known == _RESERVED[0]) | (known == _RESERVED[1])).any():
        raise Unusual("a cell of a reserved type")
    values = words[body].astype(np.int64)
    values >>= _SHIFT.take(known)
    constant = (known == _ZERO) | (known == _ONE)
    if constant.any():
        values[constant] = known[constant] == _ONE
    null = known == _NULL
    odd = (known == _FLOAT) | (known >= _FIRST_BLOB)
    invalid = null | odd
    return Cells(values, ~invalid if invalid.any() else None, odd=int(np.count_nonzero(odd)))


def _texts(buffer: Bytes, words: Any, body: Integers, types: Any, uniform: int | None) -> Cells:
    if uniform == _NULL:
        return Cells(np.zeros(len(body), np.int64), np.zeros(len(body), np.bool_))
    is_text = (types >= _FIRST_BLOB) & (types % 2 == 1)
    if len(types) and types.max() > 2 * _LARGEST_PAGE + _FIRST_BLOB:
        raise Unusual("a text is longer than a page")
    odd = int(np.count_nonzero(~is_text & (types != _NULL)))
    values = np.zeros(len(body), np.int64)
    texts: list[bytes] = []
    lengths = np.where(is_text, (types.astype(np.int64) - 13) >> 1, -1)
    for length in np.unique(lengths[is_text]).tolist():
        rows = np.flatnonzero(lengths == length)
        at = body[rows]
        first, inverse = _distinct(buffer, words, at, length)
        values[rows] = inverse + len(texts)
        texts += [buffer[start : start + length].tobytes() for start in at[first].tolist()]
    return Cells(values, None if is_text.all() else is_text, tuple(texts), odd)


def _distinct(buffer: Bytes, words: Any, at: Integers, length: int) -> tuple[Integers, Integers]:
    """Of texts of one length, the place of each distinct one, and for all texts which of these they are."""
    if length <= 8:
        key = words[at].astype(np.int64) >> (64 - 8 * length) if length else np.zeros(len(at), np.int64)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return first, inverse
    # Texts are told apart by numbers made of all their words; that no two share one by chance is then checked.
    parts = [words[at + offset].astype(np.int64) for offset in (*range(0, length - 8, 8), length - 8)]
    key = parts[0]
    for part in parts[1:]:
        key = key * np.int64(-7046029254386353131) ^ part
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if all((part == part[first][inverse]).all() for part in parts):
        return first, inverse
    block = np.ascontiguousarray(buffer[at[:, None] + np.arange(length)])
    _, first, inverse = np.unique(block.view(f"V{length}")[:, 0], return_index=True, return_inverse=True)
    return first, inverse


def _widened(cells: Cells, whole: NDArray[np.bool_]) -> Cells:
    """The same cells with places for the rows that are fetched apart."""
    values, valid = np.zeros(len(whole), np.int64), np.zeros(len(whole), np.bool_)
    values[whole] = cells.values
    valid[whole] = True if cells.valid is None else cells.valid
    return Cells(values, valid, cells.texts, cells.odd)


def _with(cells: Cells, row: int, value: object, text: bool) -> Cells:
    """The cells with the value of one row, as SQLite gives it. `valid` is there: the cells were widened."""
    assert cells.valid is not None
    texts, odd = cells.texts, cells.odd
    if text and isinstance(value, str):
        cells.values[row], cells.valid[row] = len(texts), True
        texts = (*texts, value.encode("utf-8", "surrogateescape"))
    elif not text and isinstance(value, int):
        cells.values[row], cells.valid[row] = value, True
    elif value is not None:
        odd += 1
    return Cells(cells.values, cells.valid, texts, odd)


def _length(types: Any) -> Integers:
    if types.dtype == np.uint8:
        lengths: Integers = _LENGTH.take(types)
    else:
        short = _LENGTH.take(np.minimum(types, _FIRST_BLOB))
        lengths = np.where(types >= _FIRST_BLOB, (types - _FIRST_BLOB) >> 1, short)
    return lengths


def _slots(count: Integers) -> tuple[Integers, Integers]:
    """For each cell of pages with `count` cells: its page, and its number in the page."""
    page = np.repeat(np.arange(len(count), dtype=np.int64), count)
    slot = np.arange(len(page), dtype=np.int64)
    slot -= np.repeat(np.cumsum(count) - count, count)
    return page, slot


def _word16(buffer: Bytes, at: Integers) -> Integers:
    word = buffer.take(at).astype(np.int64)
    word <<= 8
    word |= buffer.take(at + 1)
    return word


def _word32(buffer: Bytes, at: Integers) -> Integers:
    return (_word16(buffer, at) << 16) | _word16(buffer, at + 2)


def _varint(buffer: Bytes, at: Integers) -> tuple[Integers, Integers]:
    """The variable-length integers at `at`, and where each ends. Raises Unusual for one of nine bytes."""
    values = buffer.take(at).astype(np.int64)
    after = at + 1
    more = np.flatnonzero(values >= 128)
    values[more] &= 127
    for _ in range(7):
        if not len(more):
            return values, after
        byte = buffer.take(after[more])
        values[more] = (values[more] << 7) | (byte & 127)
        after[more] += 1
        more = more[byte >= 128]
    if len(more):
        raise Unusual("a length of nine bytes")
    return values, after


def _after_varint(buffer: Bytes, at: Integers) -> Integers:
    """Where variable-length integers of up to nine bytes end, their values unread."""
    after = at.copy()
    more = buffer.take(after) >= 128
    for _ in range(8):
        if not more.any():
            break
        after += more
        more &= buffer.take(after) >= 128
    return after + 1


def _one_varint(buffer: Bytes, at: int) -> int:
    """One variable-length integer, which may be negative."""
    value: int = 0
    for byte in buffer[at : at + 8].tolist():
        value = value << 7 | (byte & 127)
        if byte < 128:
            return value
    value = value << 8 | int(buffer[at + 8])
    return int(value - (1 << 64) if value >= 1 << 63 else value)
