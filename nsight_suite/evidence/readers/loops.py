"""Loops over bytes and rows that only a compiler makes fast: `machine` has them compiled (the extra [fast]).

Arrays come as the place of their first element, so nothing is known here of their length, nothing is allocated
and nothing can be raised. A cell that is NULL is the smallest integer. A loop answers what it does not know
with -1.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

# What a place holds: bytes, integers of 64 bits, the same without sign, and of 32 bits.
Bytes: TypeAlias = Any
Integers: TypeAlias = Any
Words: TypeAlias = Any
Shorts: TypeAlias = Any

# As constructors: the compiler holds to the types that are written, mypy would rather not.
int64: Any = np.int64
uint64: Any = np.uint64

NULL = np.iinfo(np.int64).min
LAST = np.iinfo(np.int64).max
# How many calls, or blocks of the level below, one block of a tree sums up.
BLOCK = 32
# The rows of decoded values, by table. Each has `room` places.
START, END = 0, 1
RECORD_ID, RECORD_PROCESS = 2, 3
CALL_THREAD, CALL_ID = 2, 3
KIND, THREAD, ENDED_BY, TEXT_ID, DOMAIN, TEXT, PAYLOADS = 2, 3, 4, 5, 6, 7, 8
# The columns of records: LAST minus the first start, the last end plus 1, durations together, and the number of
# operations in the upper 32 bits with that of kernels in the lower ones; zero stands for none in each. The last
# two are left out where nothing asks for them: then the width is 2.
EARLY, LATE, SPENT, COUNTS = 0, 1, 2, 3
# The rows of what was found in a range: the launches, then the columns of records.
LAUNCHES = 4
# The columns of a code, which stands for all rows of one thread, domain, form and name. A form is a style (1
# for push/pop) plus twice how the range was closed: 0 here, 1 elsewhere, 2 never.
CODE_THREAD, CODE_DOMAIN, CODE_FORM, CODE_TEXT_ID, CODE_LENGTH, CODE_AT = range(6)
CODE_WIDTH = 6
# What `settle` keeps: how many codes and words of text there are, how many ranges, and their latest time.
CODES, TEXT_WORDS, RANGES, LATEST = range(4)

_LEAF = 13
# No moment lies behind it or, below zero, before it; so that no difference of two overflows.
_LATEST = 1 << 62


def _varint(buffer: Bytes, at: int) -> tuple[int, int]:
    """An SQLite integer of variable length, and where it ends."""
    value = int64(0)
    for _ in range(8):
        byte = int64(buffer[at])
        at += 1
        value = value << 7 | byte & 127
        if byte < 128:
            return value, at
    return value << 8 | int64(buffer[at]), at + 1


def _big_endian(buffer: Bytes, at: int) -> Any:
    """Eight bytes as a number; the compiler makes one instruction of it."""
    upper = int64(buffer[at]) << 56 | int64(buffer[at + 1]) << 48
    upper |= int64(buffer[at + 2]) << 40 | int64(buffer[at + 3]) << 32
    lower = int64(buffer[at + 4]) << 24 | int64(buffer[at + 5]) << 16
    return upper | lower | int64(buffer[at + 6]) << 8 | int64(buffer[at + 7])


def _word(buffer: Bytes, at: int, count: int) -> Any:
    """Up to eight bytes of a text as a number. The bytes behind it are there to be read, and are left out."""
    lower = uint64(buffer[at]) | uint64(buffer[at + 1]) << uint64(8)
    lower |= uint64(buffer[at + 2]) << uint64(16) | uint64(buffer[at + 3]) << uint64(24)
    upper = uint64(buffer[at + 4]) << uint64(32) | uint64(buffer[at + 5]) << uint64(40)
    upper |= uint64(buffer[at + 6]) << uint64(48) | uint64(buffer[at + 7]) << uint64(56)
    word = lower | upper
    return word if count >= 8 else word & ((uint64(1) << uint64(8 * count)) - uint64(1))


def _is_range(kind: int) -> bool:
    return kind in (59, 60, 70, 71)


def _first(ascending: Integers, count: int, value: int, near: int) -> int:
    """The first place of a value as large; the search begins near where it is supposed to be."""
    step = 1
    if near < count and ascending[near] < value:
        low = near + 1
        high = low + step
        while high < count and ascending[high] < value:
            low = high + 1
            step *= 2
            high = low + step
        high = min(high, count)
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


def decode(
    buffer: Bytes,
    pages: int,
    page_size: int,
    longest: int,
    sizes: Integers,
    slots: Integers,
    columns: int,
    text: int,
    values: Integers,
    room: int,
    lengths: Integers,
    rowids: Integers,
) -> int:
    """Cells of the leaf pages in `buffer`, which has eight bytes more → `values`, a row per column.

    `sizes` tells by serial type below 128 how many bytes a cell has, -1 for types that are reserved. `slots`
    tells by position in the table which row of values a column goes to, -1 for none; the first two are moments.
    Of a text its place in the buffer is told, and its length. Returns the number of rows; `rowids` becomes the
    first and the last.
    """
    row = 0
    reached = int64(NULL)
    for page in range(pages):
        start = page * page_size
        stop = start + page_size
        cells = int64(buffer[start + 3]) << 8 | int64(buffer[start + 4])
        behind = start + 8 + 2 * cells
        if buffer[start] != _LEAF or behind > stop or row + cells > room or (cells == 0 and pages > 1):
            return -1
        for cell in range(cells):
            at = start + 8 + 2 * cell
            at = start + (int64(buffer[at]) << 8 | int64(buffer[at + 1]))
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
            for position in range(columns):
                slot = slots[position]
                place = slot * room + row
                if following >= headed:
                    if slot >= 0:
                        values[place] = NULL
                    continue
                kind = int64(buffer[following])
                following += 1
                if kind >= 128:
                    kind, following = _varint(buffer, following - 1)
                    if kind < 128:
                        return -1
                    length = (kind - 12) >> 1
                else:
                    length = sizes[kind]
                if length < 0 or length > end - body:
                    return -1
                if slot >= 0:
                    if slot == text and kind != 0:
                        if kind < 12 or kind & 1 == 0:
                            return -1
                        values[place] = body
                        lengths[row] = length
                    elif kind == 0:
                        values[place] = NULL
                    elif kind <= 6:
                        value = _big_endian(buffer, body) >> (64 - 8 * length)
                        if value == NULL or (slot <= END and (value < -_LATEST or value > _LATEST)):
                            return -1
                        values[place] = value
                    elif kind in (8, 9):
                        values[place] = kind - 8
                    else:
                        return -1
                body += length
            if following > headed or (following == headed and body != end):
                return -1
            row += 1
    rowids[1] = reached
    return row


def accumulate(
    values: Integers, room: int, rows: int, process: int, kernel: int, base: int, records: Integers, width: int
) -> int:
    """Add device records of one process to those of their correlation ids: id `base` is the first one."""
    for row in range(rows):
        key = values[RECORD_ID * room + row]
        if values[RECORD_PROCESS * room + row] != process or key == NULL:
            continue
        at = (key - base) * width
        start, end = values[START * room + row], values[END * room + row]
        if start == NULL or end < start or (start == 0 and end == 0):
            # CUPTI writes start = end = 0 when it has counted an operation but not timed it. NULL is the least.
            records[at + LATE] = max(records[at + LATE], 1)
        else:
            if start < 0:
                return -1
            records[at + EARLY] = max(records[at + EARLY], LAST - start)
            records[at + LATE] = max(records[at + LATE], end + 1)
            if width > SPENT:
                records[at + SPENT] += end - start
        if width > SPENT:
            records[at + COUNTS] += (1 << 32) + kernel
    return 0


def append_calls(
    values: Integers,
    room: int,
    rows: int,
    thread: int,
    base: int,
    records: Integers,
    ids: int,
    width: int,
    starts: Integers,
    ends: Integers,
    keys: Shorts,
    count: int,
) -> int:
    """Append the calls of one thread that device records name; there are `ids` ids from `base` on.

    Returns how many there are now; minus that, less 1, unless each new one starts when the one before it has
    returned.
    """
    apart = True
    for row in range(rows):
        key, start = values[CALL_ID * room + row], values[START * room + row]
        if values[CALL_THREAD * room + row] != thread or start == NULL or key < base or key - base >= ids:
            continue
        key -= base
        if records[key * width + LATE] == 0:
            continue
        if count > 0 and (start < ends[count - 1] or start <= starts[count - 1]):
            apart = False
        starts[count] = start
        ends[count] = max(values[END * room + row], start)
        keys[count] = key
        count += 1
    return count if apart else -1 - count


def build_tree(
    keys: Shorts, records: Integers, width: int, offsets: Integers, levels: int, tree: Integers
) -> int:
    """Records of calls together, BLOCK by BLOCK, and these again: level n, from 1 on, begins at offsets[n]."""
    for level in range(1, levels + 1):
        for block in range(offsets[level + 1] - offsets[level]):
            at = (offsets[level] + block) * width
            for column in range(width):
                tree[at + column] = 0
            for place in range(block * BLOCK, (block + 1) * BLOCK):
                for column in range(width):
                    if level == 1:
                        value = records[int64(keys[place]) * width + column]
                    else:
                        value = tree[(offsets[level - 1] + place) * width + column]
                    if column < SPENT:
                        tree[at + column] = max(tree[at + column], value)
                    else:
                        tree[at + column] += value
    return 0


def project(
    values: Integers,
    room: int,
    rows: int,
    thread: int,
    starts: Integers,
    ends: Integers,
    keys: Shorts,
    calls: int,
    records: Integers,
    width: int,
    offsets: Integers,
    tree: Integers,
    found: Integers,
) -> int:
    """Add to closed ranges of one thread all that its calls inside them launched.

    Starts and ends of the calls both ascend, so those inside a range lie side by side.
    """
    low = 0
    for row in range(rows):
        begin, end = values[START * room + row], values[END * room + row]
        if (
            values[THREAD * room + row] != thread
            or NULL in (begin, end)
            or not _is_range(values[KIND * room + row])
        ):
            continue
        ended_by = values[ENDED_BY * room + row]
        if ended_by not in (NULL, thread):
            continue
        low = _first(starts, calls, begin, low)
        behind = _first(ends, calls, max(end, begin) + 1, low)
        if behind <= low:
            continue
        found[LAUNCHES * room + row] += behind - low
        early = late = spent = counts = int64(0)
        left, right, level = low, behind, 0
        while left < right:
            while left < right and (left % BLOCK != 0 or right % BLOCK != 0):
                if left % BLOCK != 0:
                    place = left
                    left += 1
                else:
                    right -= 1
                    place = right
                if level == 0:
                    at = int64(keys[place]) * width
                    early, late = max(early, records[at + EARLY]), max(late, records[at + LATE])
                    if width > SPENT:
                        spent += records[at + SPENT]
                        counts += records[at + COUNTS]
                else:
                    at = (offsets[level] + place) * width
                    early, late = max(early, tree[at + EARLY]), max(late, tree[at + LATE])
                    if width > SPENT:
                        spent += tree[at + SPENT]
                        counts += tree[at + COUNTS]
            left //= BLOCK
            right //= BLOCK
            level += 1
        found[EARLY * room + row] = max(found[EARLY * room + row], early)
        found[LATE * room + row] = max(found[LATE * room + row], late)
        found[SPENT * room + row] += spent
        found[COUNTS * room + row] += counts
    return 0


def settle(
    values: Integers,
    room: int,
    columns: int,
    lengths: Integers,
    buffer: Bytes,
    first: int,
    rows: int,
    found: Integers,
    kept: Integers,
    table: Shorts,
    slots: int,
    hashes: Words,
    codes: Integers,
    most_codes: int,
    texts: Words,
    most_words: int,
    out_room: int,
    out_code: Shorts,
    out_times: Integers,
    out_found: Integers,
    width: int,
    out_launches: Shorts,
    out_payload: Integers,
    out_position: Integers,
    numbered: int,
    position: int,
) -> int:
    """Write ranges out, each with a code for its thread, domain, form and name, from row `first` on.

    Codes are found by their hash in `table` (a code plus 1; 0 is free), which has `slots` places, a power of 2;
    their texts lie in `texts`, in whole words. Positions in the table, of which `position` is the first, are
    told when `numbered`; payloads when there are columns with such. Returns the row for which there is no room
    left, or the number of rows.
    """
    mix_a, mix_b = uint64(0x9E3779B97F4A7C15), uint64(0xBF58476D1CE4E5B9)
    mix_c, mix_d = uint64(0x94D049BB133111EB), uint64(0xD6E8FEB86659FD93)
    for row in range(first, rows):
        start, thread = values[START * room + row], values[THREAD * room + row]
        kind = values[KIND * room + row]
        if NULL in (start, thread) or not _is_range(kind):
            continue
        end, ended_by = values[END * room + row], values[ENDED_BY * room + row]
        form = int64(kind in (59, 70))
        latest = max(kept[LATEST], start)
        if end == NULL:
            form += 4
            end = LAST
        else:
            if ended_by not in (NULL, thread):
                form += 2
            end = max(end, start)
            latest = max(latest, end)
        domain = values[DOMAIN * room + row]
        if domain == NULL:
            domain = 0
        identified = values[TEXT_ID * room + row]
        place = values[TEXT * room + row]
        length = int64(-1) if place == NULL else lengths[row]
        # The numbers are mixed side by side, since one multiplication after the other takes longer.
        mixed = uint64(thread) * mix_a ^ uint64(domain << 3 | form) * mix_b
        mixed ^= uint64(identified) * mix_c ^ uint64(length) * mix_d
        for offset in range(0, length, 8):
            mixed = (mixed ^ _word(buffer, place + offset, length - offset)) * mix_a
            mixed ^= mixed >> uint64(29)
        mixed = (mixed ^ mixed >> uint64(32)) * mix_b
        mixed ^= mixed >> uint64(32)
        slot = int64(mixed & uint64(slots - 1))
        while True:
            code = int64(table[slot]) - 1
            if code < 0:
                code, text = kept[CODES], kept[TEXT_WORDS]
                needed = (length + 7) >> 3
                if 2 * code >= slots or code == most_codes or text + needed > most_words:
                    return row
                table[slot] = code + 1
                hashes[code] = mixed
                at = code * CODE_WIDTH
                codes[at + CODE_THREAD], codes[at + CODE_DOMAIN] = thread, domain
                codes[at + CODE_FORM], codes[at + CODE_TEXT_ID] = form, identified
                codes[at + CODE_LENGTH], codes[at + CODE_AT] = length, text
                for offset in range(0, length, 8):
                    texts[text + (offset >> 3)] = _word(buffer, place + offset, length - offset)
                kept[CODES] += 1
                kept[TEXT_WORDS] += needed
                break
            at = code * CODE_WIDTH
            same = (
                hashes[code] == mixed
                and codes[at + CODE_THREAD] == thread
                and codes[at + CODE_DOMAIN] == domain
            )
            same = same and codes[at + CODE_FORM] == form and codes[at + CODE_TEXT_ID] == identified
            same = same and codes[at + CODE_LENGTH] == length
            if same:
                text = codes[at + CODE_AT]
                for offset in range(0, length, 8):
                    if texts[text + (offset >> 3)] != _word(buffer, place + offset, length - offset):
                        same = False
                        break
            if same:
                break
            slot = (slot + 1) & (slots - 1)
        to = kept[RANGES]
        out_code[to] = code
        out_times[START * out_room + to], out_times[END * out_room + to] = start, end
        out_launches[to] = found[LAUNCHES * room + row]
        for column in range(width):
            out_found[column * out_room + to] = found[column * room + row]
        if columns > PAYLOADS:
            out_payload[to] = NULL
            for column in range(PAYLOADS, columns):
                if values[column * room + row] != NULL:
                    out_payload[to] = values[column * room + row]
                    break
        if numbered:
            out_position[to] = position + row
        kept[LATEST] = latest
        kept[RANGES] += 1
    return rows


def rehash(hashes: Words, count: int, table: Shorts, slots: int) -> int:
    """Enter codes into a new table, all of it free."""
    for code in range(count):
        slot = int64(hashes[code] & uint64(slots - 1))
        while table[slot] != 0:
            slot = (slot + 1) & (slots - 1)
        table[slot] = code + 1
    return 0


# What is called from outside, and what these call.
LOOPS = (decode, accumulate, append_calls, build_tree, project, settle, rehash)
PARTS = (_varint, _big_endian, _word, _is_range, _first)
