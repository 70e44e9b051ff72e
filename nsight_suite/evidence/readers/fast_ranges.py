"""NVTX ranges with what ran inside them, in arrays that DuckDB reads as they are.

What many ranges share (thread, domain, name, style, how they were closed) is told once, as a code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nsight_suite.evidence.readers import loops as of
from nsight_suite.evidence.readers.fast_calls import Round
from nsight_suite.evidence.readers.fast_pages import Part, Reader, distinct
from nsight_suite.evidence.readers.nsys_export import find
from nsight_suite.evidence.readers.nsys_projection import NAMES_DOMAIN, PAYLOADS, nameless
from nsight_suite.evidence.readers.nsys_records import process_of
from nsight_suite.evidence.readers.sqlite_pages import Integers, Unusual
from nsight_suite.evidence.store import Connection

NVTX = "NVTX_EVENTS"
_COLUMNS = ("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId", "text")
_CLOSED = ("here", "elsewhere", "never")
_FIRST_CODES, _FIRST_WORDS = 1 << 12, 1 << 15


class Ranges:
    """The ranges of an export.

    `rounds` are the calls by thread. Counts and durations are told when `wide`, payloads when `paid`, positions
    in the table when `numbered`. `seen` becomes all threads with events.
    """

    def __init__(
        self, reader: Reader, rounds: Mapping[int, Sequence[Round]], wide: bool, paid: bool, numbered: bool
    ) -> None:
        self._machine = reader.machine
        self._export = reader.export
        self._rounds = rounds
        table = find(reader.export, NVTX)
        self._room = reader.export.size(table) if table else 0
        # Memory that no row is written to is never taken.
        self._code = np.empty(self._room, np.int32)
        self._times = np.empty((2, self._room), np.int64)
        self._found = np.empty((4 if wide else 2, self._room), np.int64)
        self._launches = np.empty(self._room, np.int32)
        self._payload = np.empty(self._room if paid else 0, np.int64)
        self._position = np.empty(self._room if numbered else 0, np.int64)
        self._table = np.zeros(4 * _FIRST_CODES, np.int32)
        self._hashes = np.empty(_FIRST_CODES, np.uint64)
        self._codes = np.empty((_FIRST_CODES, of.CODE_WIDTH), np.int64)
        self._texts = np.empty(_FIRST_WORDS, np.uint64)
        self._kept = np.array([0, 0, 0, of.NULL], np.int64)
        # Of process, domain, registered string and text: what names domains, in the order of the rows.
        self._namings: list[tuple[int, int, int | None, bytes | None]] = []
        columns = (*_COLUMNS, *(PAYLOADS if paid else ()))
        self.seen: set[int] = set()
        position = 0
        for part in reader.parts(table, columns, self._project) if table else ():
            self.seen.update(distinct(part.values[of.THREAD, : part.rows]))
            if paid:
                self._check_payloads(part, columns.index("uint64Value"))
            self._note_domains(part)
            self._settle(part, position)
            position += part.rows
        self.seen.discard(of.NULL)
        self._project_unclosed()

    def _project(self, part: Part) -> None:
        part.found[:, : part.rows] = 0
        self._add(part.values, part.rows, part.found)

    def _add(self, values: Integers, rows: int, found: Integers) -> None:
        for thread in distinct(values[of.THREAD, :rows]):
            for calls in self._rounds.get(thread, ()):
                self._machine.project(
                    *(
                        values,
                        values.shape[1],
                        rows,
                        thread,
                        calls.starts,
                        calls.ends,
                        calls.keys,
                        len(calls.keys),
                    ),
                    *(calls.sums, calls.sums.shape[1], calls.offsets, calls.tree, found),
                )

    def _settle(self, part: Part, position: int) -> None:
        if self._kept[of.RANGES] + part.rows > self._room:
            raise Unusual("more rows than their numbers tell")
        row = 0
        while True:
            row = self._machine.settle(
                *(
                    part.values,
                    part.room,
                    len(part.values),
                    part.lengths,
                    part.buffer,
                    row,
                    part.rows,
                    part.found,
                ),
                *(self._kept, self._table, len(self._table), self._hashes, self._codes, len(self._codes)),
                *(self._texts, len(self._texts), self._room, self._code, self._times, self._found),
                *(len(self._found), self._launches, self._payload),
                *(self._position, int(len(self._position) > 0), position),
            )
            if row == part.rows:
                return
            self._grow(len(part.buffer))

    def _grow(self, longest: int) -> None:
        """Make room for more codes, and for a text of so many bytes."""
        codes = int(self._kept[of.CODES])
        self._hashes = np.resize(self._hashes, 2 * len(self._hashes))
        self._codes = np.resize(self._codes, (2 * len(self._codes), of.CODE_WIDTH))
        self._texts = np.resize(self._texts, 2 * len(self._texts) + longest // 8)
        self._table = np.zeros(2 * len(self._table), np.int32)
        self._machine.rehash(self._hashes, codes, self._table, len(self._table))

    @staticmethod
    def _check_payloads(part: Part, column: int) -> None:
        """A payload of 64 bits is stored as a negative number when it is larger than any integer here."""
        payloads = part.values[column, : part.rows]
        if ((payloads < 0) & (payloads != of.NULL)).any():
            raise Unusual("a payload beyond all integers")

    def _note_domains(self, part: Part) -> None:
        rows = part.rows
        for row in np.flatnonzero(part.values[of.KIND, :rows] == NAMES_DOMAIN).tolist():
            thread, domain, key, place = part.values[[of.THREAD, of.DOMAIN, of.TEXT_ID, of.TEXT], row].tolist()
            if of.NULL not in (thread, domain):
                text = None
                if place != of.NULL:
                    text = part.buffer[place : place + int(part.lengths[row])].tobytes()
                naming = process_of(thread), domain, None if key == of.NULL else key, text
                self._namings.append(naming)

    def _project_unclosed(self) -> None:
        """Ranges that were never closed count until the last NVTX event."""
        rows = np.flatnonzero(self._times[of.END, : self._kept[of.RANGES]] == of.LAST)
        if not len(rows):
            return
        values = np.full((len(_COLUMNS), len(rows)), of.NULL, np.int64)
        values[of.START] = self._times[of.START, rows]
        values[of.END] = self._kept[of.LATEST]
        values[of.KIND] = 59
        values[of.THREAD] = self._codes[self._code[rows], of.CODE_THREAD]
        found = np.zeros((5, len(rows)), np.int64)
        self._add(values, len(rows), found)
        self._found[:, rows] = found[: len(self._found)]
        self._launches[rows] = found[of.LAUNCHES]

    # -- as a table -------------------------------------------------------------------------------

    def show(self, connection: Connection, threads: Sequence[int], processes: Sequence[int]) -> None:
        """Put a view in the place of the table range. A thread's and a process's number is its place here."""
        rows = int(self._kept[of.RANGES])
        if not rows:
            return
        connection.execute(
            "CREATE TABLE nsys.code (code INTEGER, process BIGINT, thread BIGINT, "
            "domain VARCHAR, name VARCHAR, style VARCHAR, closed VARCHAR)"
        )
        connection.register("codes", self._code_columns(threads, processes))
        connection.execute("INSERT INTO nsys.code BY NAME FROM codes")
        connection.unregister("codes")
        none = np.broadcast_to(np.int64(0), rows)
        wide = len(self._found) > of.SPENT
        columns = {
            "code": self._code[:rows],
            "start": self._times[of.START, :rows],
            "end": self._times[of.END, :rows],
            "launches": self._launches[:rows],
            "early": self._found[of.EARLY, :rows],
            "late": self._found[of.LATE, :rows],
            "spent": self._found[of.SPENT, :rows] if wide else none,
            "counts": self._found[of.COUNTS, :rows] if wide else none,
            "payload": self._payload[:rows] if len(self._payload) else none,
            "range_id": self._position[:rows] if len(self._position) else none,
        }
        connection.register("found", columns)
        connection.execute(Path(__file__).with_name("nsys_fast_ranges.sql").read_text(encoding="utf-8"))

    def _code_columns(self, threads: Sequence[int], processes: Sequence[int]) -> dict[str, Any]:
        count = int(self._kept[of.CODES])
        codes = self._codes[:count]
        ids = [key for key in codes[:, of.CODE_TEXT_ID].tolist() if key not in (of.NULL, -1)]
        ids += [key for _, _, key, _ in self._namings if key is not None]
        strings = dict(self._export.strings(ids)) if ids else {}
        domains = self._domains(strings)
        texts = self._texts.tobytes()
        thread_places = {thread: place for place, thread in enumerate(threads)}
        process_places = {process: place for place, process in enumerate(processes)}
        rows = []
        for thread, domain, form, key, length, at in codes.tolist():
            identified = None if key in (of.NULL, -1) else key
            text = texts[8 * at : 8 * at + length].decode("utf-8", "replace") if length > 0 else ""
            process = process_of(thread)
            told = domains.get((process, domain), f"<domain {domain}>") if domain else None
            string = None if identified is None else strings.get(identified)
            name = string or text or nameless(identified, string)
            style = "push_pop" if form & 1 else "start_end"
            rows.append((process_places[process], thread_places[thread], told, name, style, _CLOSED[form >> 1]))
        names = ("process", "thread", "domain", "name", "style", "closed")
        kinds = (np.int64, np.int64, object, object, object, object)
        columns = zip(names, kinds, zip(*rows, strict=True), strict=True)
        return {"code": np.arange(count, dtype=np.int32)} | {
            name: np.array(values, dtype=kind) for name, kind, values in columns
        }

    def _domains(self, strings: Mapping[int, str]) -> Mapping[tuple[int, int], str]:
        """The first event that names a domain of its process counts."""
        found: dict[tuple[int, int], str] = {}
        for process, domain, key, raw in self._namings:
            text = strings.get(key) if key is not None else None
            if not text and raw is not None:
                text = raw.decode("utf-8", "replace")
            if text:
                found.setdefault((process, domain), text)
        return found
