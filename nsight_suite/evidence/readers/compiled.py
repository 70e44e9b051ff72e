"""Loops over bytes and rows, compiled by numba (the extra [fast]): arrays in, arrays out, and no memory of their own.

A cell that is NULL is the smallest integer; what a function does not know it answers with -1. Each function is
loaded from numba's cache when it is first called, so there are few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from nsight_suite.evidence.readers.sqlite_pages import Bytes, Integers

Function = TypeVar("Function", bound=Callable[..., Any])
Words = NDArray[np.uint64]

NULL = np.iinfo(np.int64).min
LAST = np.iinfo(np.int64).max
# How many calls, or blocks of the level below, one block of a tree sums up.
BLOCK = 32
# The rows of decoded values, by table.
START, END = 0, 1
RECORD_ID, RECORD_PROCESS = 2, 3
CALL_THREAD, CALL_ID = 2, 3
KIND, THREAD, ENDED_BY, TEXT_ID, DOMAIN, TEXT, PAYLOADS = 2, 3, 4, 5, 6, 7, 8
# The columns of records: LAST minus the first start, the last end plus 1, durations together, and the number of
# operations in the upper 32 bits with that of kernels in the lower ones. Zero stands for none in each. The last two
# are left out where nothing asks for them.
EARLY, LATE, SPENT, COUNTS = 0, 1, 2, 3
# The rows of what was found in a range: the launches, then the columns of records.
LAUNCHES = 4
# The columns of a code, which stands for all rows of one thread, domain, form and name. A form is a style (1 for
# push/pop) plus twice how the range was closed, as the table range tells it from 0.
CODE_THREAD, CODE_DOMAIN, CODE_FORM, CODE_TEXT_ID, CODE_LENGTH, CODE_AT = range(6)

_LEAF = 13
_RANGES = (59, 60, 70, 71)
_PUSHED = (59, 70)
# By serial type: the bytes of a cell, -1 for types that are reserved; and how far right its word is shifted.
_LENGTH = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, -1, -1, *((kind - 12) >> 1 for kind in range(12, 128))], np.int64)
_SHIFT = np.array([0, 56, 48, 40, 32, 16, 0], np.int64)
_MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], np.uint64)


def compiled(function: Function) -> Function:
    """Compile for whatever types come, without Python's lock."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


@compiled
def _varint(buffer: Bytes, at: int) -> tuple[int, int]:
    value = np.int64(0)
    for _ in range(8):
        byte = np.int64(buffer[at])
        at += 1
        value = value << 7 | byte & 127
        if byte < 128:
            return value, at
    return value << 8 | np.int64(buffer[at]), at + 1


@compiled
def _big_endian(word: Any) -> Any:
    pairs, fours = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
    word = (word & pairs) << np.uint64(8) | word >> np.uint64(8) & pairs
    word = (word & fours) << np.uint64(16) | word >> np.uint64(16) & fours
    return np.int64(word << np.uint64(32) | word >> np.uint64(32))


@compiled
def decode(
    buffer: Bytes,
    words: Words,
    pages: int,
    page_size: int,
    longest: int,
    slots: Integers,
    text: int,
    values: Integers,
    lengths: Integers,
    rowids: Integers,
) -> int:
    """Cells of the leaf pages in `buffer`, which has eight bytes more → `values`, a row per column.

    `slots` tells by position in the table which row of values a column goes to, -1 for none. Of a text its place
    in the buffer is told, and its length. Returns the number of rows; `rowids` becomes the first and the last.
    """
    row = 0
    reached = np.int64(NULL)
    for page in range(pages):
        start = page * page_size
        stop = start + page_size
        cells = np.int64(buffer[start + 3]) << 8 | np.int64(buffer[start + 4])
        behind = start + 8 + 2 * cells
        if buffer[start] != _LEAF or behind > stop or row + cells > values.shape[1]:
            return -1
        if cells == 0 and pages > 1:
            return -1
        for cell in range(cells):
            at = start + 8 + 2 * cell
            at = start + (np.int64(buffer[at]) << 8 | np.int64(buffer[at + 1]))
            if at < behind or at >= stop:
                return -1
            size, at = _varint(buffer, at)
            if at >= stop or size < 2 or size > longest:
                return -1
            rowid, at = _varint(buffer, at)
            end = at + size
            if end > stop or rowid <= reached:
                return -1
            if row == 0:
                rowids[0] = rowid
            reached = rowid
            header, following = _varint(buffer, at)
            body = at + header
            headed = body
            if header < 2 or body > end:
                return -1
            for position in range(len(slots)):
                slot = slots[position]
                if following >= headed:
                    if slot >= 0:
                        values[slot, row] = NULL
                    continue
                kind = np.int64(buffer[following])
                following += 1
                if kind >= 128:
                    kind, following = _varint(buffer, following - 1)
                    if kind < 128:
                        return -1
                    length = (kind - 12) >> 1
                else:
                    length = np.int64(_LENGTH[kind])
                    if length < 0:
                        return -1
                if length > end - body:
                    return -1
                if slot >= 0:
                    if 1 <= kind <= 6 and slot != text:
                        value = _big_endian(words[body]) >> _SHIFT[kind]
                        if value == NULL:
                            return -1
                        values[slot, row] = value
                    elif kind == 0:
                        values[slot, row] = NULL
                    elif slot == text:
                        if kind < 12 or kind & 1 == 0:
                            return -1
                        values[slot, row] = body
                        lengths[row] = length
                    elif 8 <= kind <= 9:
                        values[slot, row] = kind - 8
                    else:
                        return -1
                body += length
            if following > headed or (following == headed and body != end):
                return -1
            row += 1
    rowids[1] = reached
    return row


@compiled
def accumulate(values: Integers, rows: int, process: int, kernel: int, base: int, records: Integers) -> int:
    """Add device records of one process to those of their correlation ids: id `base` is the first of `records`."""
    wide = records.shape[1] > COUNTS
    for row in range(rows):
        key = values[RECORD_ID, row]
        if values[RECORD_PROCESS, row] != process or key == NULL:
            continue
        key -= base
        start, end = values[START, row], values[END, row]
        if start == NULL or end == NULL or (start == 0 and end == 0):
            # CUPTI writes start = end = 0 when it has counted an operation but not timed it.
            records[key, LATE] = max(records[key, LATE], 1)
        else:
            if start < 0 or end < start or start == LAST or end == LAST:
                return -1
            records[key, EARLY] = max(records[key, EARLY], LAST - start)
            records[key, LATE] = max(records[key, LATE], end + 1)
            if wide:
                records[key, SPENT] += end - start
        if wide:
            records[key, COUNTS] += (1 << 32) + kernel
    return 0


@compiled
def append_calls(
    values: Integers,
    rows: int,
    thread: int,
    base: int,
    records: Integers,
    starts: Integers,
    ends: Integers,
    keys: NDArray[np.int32],
    count: int,
) -> tuple[int, bool]:
    """Append the calls of one thread that device records name.

    Returns how many there are now, and whether each new one starts when the one before it has returned.
    """
    apart = True
    for row in range(rows):
        key, start = values[CALL_ID, row], values[START, row]
        if values[CALL_THREAD, row] != thread or start == NULL:
            continue
        if key < base or key - base >= len(records) or records[key - base, LATE] == 0:
            continue
        key -= base
        if count > 0 and (start < ends[count - 1] or start <= starts[count - 1]):
            apart = False
        starts[count] = start
        ends[count] = max(values[END, row], start)
        keys[count] = key
        count += 1
    return count, apart


@compiled
def build_tree(keys: NDArray[np.int32], records: Integers, offsets: Integers, tree: Integers) -> None:
    """Records of calls together, BLOCK by BLOCK, and these again: level n begins at offsets[n] of `tree`."""
    for level in range(1, len(offsets) - 1):
        for block in range(offsets[level + 1] - offsets[level]):
            at = offsets[level] + block
            for column in range(records.shape[1]):
                tree[at, column] = 0
            for place in range(block * BLOCK, (block + 1) * BLOCK):
                for column in range(records.shape[1]):
                    if level == 1:
                        value = records[keys[place], column]
                    else:
                        value = tree[offsets[level - 1] + place, column]
                    if column < SPENT:
                        tree[at, column] = max(tree[at, column], value)
                    else:
                        tree[at, column] += value


@compiled
def _first(ascending: Integers, value: int, near: int) -> int:
    """The first place of a value as large; the search begins near where it is supposed to be."""
    step = 1
    if near < len(ascending) and ascending[near] < value:
        low = near + 1
        high = low + step
        while high < len(ascending) and ascending[high] < value:
            low = high + 1
            step *= 2
            high = low + step
        high = min(high, len(ascending))
    else:
        high = near
        low = high - step
        while low >= 0 and ascending[low] >= value:
            high = low
            step *= 2
            low = high - step
        low = max(low + 1, 0)
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def project(
    values: Integers,
    rows: int,
    thread: int,
    starts: Integers,
    ends: Integers,
    keys: NDArray[np.int32],
    records: Integers,
    offsets: Integers,
    tree: Integers,
    found: Integers,
) -> None:
    """Add to closed ranges of one thread all that its calls inside them launched.

    Starts and ends of the calls both ascend, so those inside a range lie side by side.
    """
    wide = records.shape[1] > COUNTS
    low = 0
    for row in range(rows):
        begin, end, kind, ended_by = values[START, row], values[END, row], values[KIND, row], values[ENDED_BY, row]
        if values[THREAD, row] != thread or begin == NULL or end == NULL or kind not in _RANGES:
            continue
        if ended_by not in (NULL, thread) or end == LAST:
            continue
        low = _first(starts, begin, low)
        behind = _first(ends, max(end, begin) + 1, low)
        if behind <= low:
            continue
        found[LAUNCHES, row] += behind - low
        early = late = spent = counts = np.int64(0)
        left, right, level = low, behind, 0
        while left < right:
            while left < right and (left % BLOCK or right % BLOCK):
                if left % BLOCK:
                    place = left
                    left += 1
                else:
                    right -= 1
                    place = right
                if level == 0:
                    key = np.int64(keys[place])
                    early, late = max(early, records[key, EARLY]), max(late, records[key, LATE])
                    if wide:
                        spent += records[key, SPENT]
                        counts += records[key, COUNTS]
                else:
                    key = offsets[level] + place
                    early, late = max(early, tree[key, EARLY]), max(late, tree[key, LATE])
                    if wide:
                        spent += tree[key, SPENT]
                        counts += tree[key, COUNTS]
            left //= BLOCK
            right //= BLOCK
            level += 1
        found[EARLY, row] = max(found[EARLY, row], early)
        found[LATE, row] = max(found[LATE, row], late)
        found[SPENT, row] += spent
        found[COUNTS, row] += counts


@compiled
def _mask(bytes_left: int) -> Any:
    """Of a little-endian word the bytes that belong to a text."""
    return ~np.uint64(0) if bytes_left >= 8 else (np.uint64(1) << np.uint64(8 * bytes_left)) - np.uint64(1)


@compiled
def settle(
    values: Integers,
    lengths: Integers,
    words: Words,
    first: int,
    rows: int,
    found: Integers,
    table: NDArray[np.int32],
    hashes: Words,
    codes: Integers,
    texts: Words,
    used: Integers,
    out_code: NDArray[np.int32],
    out_times: Integers,
    out_found: Integers,
    out_launches: NDArray[np.int32],
    out_payload: Integers,
    at: int,
) -> tuple[int, int, int]:
    """Write ranges out, each with a code for its thread, domain, form and name, from row `first` on.

    Codes are kept in `codes`, found by their hash in `table` (a code plus 1; 0 is free); their texts in `texts`, in
    whole words. `used` tells how many codes and words there are. Stops at a row for which there is no room left.
    Returns the row, the place behind the last range written, and the latest time of them.
    """
    latest = np.int64(NULL)
    for row in range(first, rows):
        start, thread, kind = values[START, row], values[THREAD, row], values[KIND, row]
        if start == NULL or thread == NULL or kind not in _RANGES:
            continue
        end, ended_by = values[END, row], values[ENDED_BY, row]
        if end == LAST:
            return -1, at, latest
        form = np.int64(1) if kind in _PUSHED else np.int64(0)
        if end == NULL:
            form += 4
            shown = np.int64(LAST)
        else:
            if ended_by not in (NULL, thread):
                form += 2
            shown = max(end, start)
            latest = max(latest, shown)
        latest = max(latest, start)
        domain = np.int64(0) if values[DOMAIN, row] == NULL else values[DOMAIN, row]
        identified = values[TEXT_ID, row]
        place = values[TEXT, row]
        length = np.int64(-1) if place == NULL else lengths[row]
        # The numbers are mixed side by side, since one multiplication after the other takes longer.
        mixed = np.uint64(thread) * _MIX[0] ^ np.uint64(domain << 3 | form) * _MIX[1]
        mixed ^= np.uint64(identified) * _MIX[2] ^ np.uint64(length) * _MIX[3]
        for offset in range(0, length, 8):
            mixed = (mixed ^ words[place + offset] & _mask(length - offset)) * _MIX[0]
            mixed ^= mixed >> np.uint64(29)
        mixed = (mixed ^ mixed >> np.uint64(32)) * _MIX[1]
        mixed ^= mixed >> np.uint64(32)
        slot = np.int64(mixed & np.uint64(len(table) - 1))
        while True:
            code = np.int64(table[slot]) - 1
            if code < 0:
                needed = (length + 7) >> 3
                if 2 * used[0] >= len(table) or used[0] == len(codes) or used[1] + needed > len(texts):
                    return row, at, latest
                code = used[0]
                table[slot] = code + 1
                hashes[code] = mixed
                codes[code, CODE_THREAD], codes[code, CODE_DOMAIN] = thread, domain
                codes[code, CODE_FORM], codes[code, CODE_TEXT_ID] = form, identified
                codes[code, CODE_LENGTH], codes[code, CODE_AT] = length, used[1]
                for offset in range(0, length, 8):
                    texts[used[1] + (offset >> 3)] = words[place + offset] & _mask(length - offset)
                used[0] += 1
                used[1] += needed
                break
            same = (
                hashes[code] == mixed
                and codes[code, CODE_THREAD] == thread
                and codes[code, CODE_DOMAIN] == domain
                and codes[code, CODE_FORM] == form
                and codes[code, CODE_TEXT_ID] == identified
                and codes[code, CODE_LENGTH] == length
            )
            if same:
                kept = codes[code, CODE_AT]
                for offset in range(0, length, 8):
                    if texts[kept + (offset >> 3)] != words[place + offset] & _mask(length - offset):
                        same = False
                        break
            if same:
                break
            slot = (slot + 1) & (len(table) - 1)
        out_code[at] = code
        out_times[START, at], out_times[END, at] = start, shown
        out_launches[at] = found[LAUNCHES, row]
        for column in range(out_found.shape[0]):
            out_found[column, at] = found[column, row]
        if len(out_payload) > 0:
            out_payload[at] = NULL
            for payload in range(PAYLOADS, values.shape[0]):
                if values[payload, row] != NULL:
                    out_payload[at] = values[payload, row]
                    break
        at += 1
    return rows, at, latest


@compiled
def rehash(hashes: Words, count: int, table: NDArray[np.int32]) -> None:
    """Enter codes into a new table, all of it free."""
    for code in range(count):
        slot = np.int64(hashes[code] & np.uint64(len(table) - 1))
        while table[slot]:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = code + 1
