"""An nsys export → its ranges with what ran inside them, and no more: in memory, in arrays from end to end.

The same numbers as those of a whole reading, at a fraction of the cost, for questions about ranges alone.
Everything is done batch by batch and window by window, so that the arrays at hand stay small enough for the
processor's cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from nsight_suite.evidence.readers import lanes
from nsight_suite.evidence.readers.batches import complete, distinct, filled, poured, relabelled, split, valid
from nsight_suite.evidence.readers.lanes import FIRST, LAST, NONE, Lane, Paths, Rows, count, take
from nsight_suite.evidence.readers.nsys_calls import insert_paths, show_ranges
from nsight_suite.evidence.readers.nsys_export import BIGINT, VARCHAR, Export, find
from nsight_suite.evidence.readers.nsys_processes import listed_processes
from nsight_suite.evidence.readers.nsys_records import SUMS, Sums, process_of, read_records
from nsight_suite.evidence.readers.sqlite_pages import Batch, Cells
from nsight_suite.evidence.readers.sweep import Integers
from nsight_suite.evidence.store import Connection

_RANGES = (59, 60, 70, 71)
NAMES_DOMAIN = 75
PAYLOADS = ("int64Value", "uint64Value", "int32Value", "uint32Value")
_WINDOW_ROWS = 100_000

# What of a range's rows each column of the table range is made of.
_MADE_OF: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("process", "thread", "domain", "style", "closed", "depth", "path_id")},
    **{name: (name,) for name in ("launches", "kernels", "operations")},
    "pass": ("start",),
    "range_id": ("range_id",),
    "name": ("label",),
    "payload": ("payload", "paid"),
    "start_ns": ("start",),
    "end_ns": ("end",),
    "parent_range_id": ("start",),
    "device_ns": ("timed", "device_ns"),
    "projected_start_ns": ("timed", "first_ns"),
    "projected_end_ns": ("timed", "last_ns"),
}


def read_ranges(connection: Connection, export: Export, needed: Collection[str]) -> None:
    """The tables range and path, as far as these columns of range are needed; others may hold anything.

    Launches are not told: first_launch_id and last_launch_id are NULL.
    """
    # Whatever is asked, the rows are to be counted.
    wanted = {"start"} | {row for column in needed for row in _MADE_OF.get(column, ())}
    records, working = read_records(export, wanted)
    calls = _Calls(export, records)
    names = _Names(export, paid="paid" in wanted)
    threads, processes = in_order(export, calls.seen | names.seen, working)
    paths = Paths()

    def swept(thread: int) -> Iterator[Rows]:
        own, made = names.by_thread.pop(thread), calls.by_thread.pop(thread, _NO_CALLS)
        for rows in _swept(own, made, paths, names.latest):
            places = {"thread": threads.index(thread), "process": processes.index(process_of(thread))}
            told = {
                name: np.full(count(rows), number, np.int64)
                for name, number in places.items()
                if name in wanted
            }
            yield {name: values for name, values in rows.items() if name in wanted} | told

    closed = [rows for thread in threads if thread in names.by_thread for rows in swept(thread)]
    names.write(connection, poured(closed), paths)


def in_order(export: Export, seen: set[int], working: set[int]) -> tuple[list[int], list[int]]:
    """All threads and processes that the report tells of, also those without a range: their places are their
    numbers. `seen` are threads with calls or NVTX events, `working` processes with device records."""
    threads = sorted(seen)
    active = {process_of(thread) for thread in threads} | working | _of_graphs(export)
    return threads, sorted(active | {process for process, _ in listed_processes(export, active)})


def _swept(ranges: Rows, calls: Rows, paths: Paths, latest: int) -> Iterator[Rows]:
    """The ranges of one thread, each with all that ran inside it. `latest` is the last moment of all ranges."""
    ranges, calls = lanes.sorted_rows(ranges), lanes.sorted_rows(calls)
    lane = Lane(paths, 0)
    bounds = sorted(set(ranges["start"][_WINDOW_ROWS::_WINDOW_ROWS].tolist()))
    places = [np.searchsorted(rows["start"], bounds).tolist() for rows in (ranges, calls)]
    first = (0, 0)
    for until, behind in zip([*bounds, LAST], [*zip(*places, strict=True), (None, None)], strict=True):
        own, made = (take(rows, slice(a, b)) for rows, a, b in zip((ranges, calls), first, behind, strict=True))
        own |= {"counted_to": lanes.counted_to(own["end"], own["closed"], latest)}
        made |= {"kind": np.zeros(count(made), np.int64)}
        yield lanes.advance(lane, own, made, _NO_CAPTURES, until=until).closed
        first = behind


def _of_graphs(export: Export) -> set[int]:
    """The processes of which whole graph runs were recorded."""
    traces = find(export, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE") or ""
    return set().union(
        *export.mapped(traces, {"globalPid": BIGINT}, lambda batch, _: distinct(batch["globalPid"]))
    )


# -- calls ----------------------------------------------------------------------------------------

_NO_CALLS: Rows = {name: np.empty(0, np.int64) for name in ("start", "end", "correlation_id", *SUMS)}
_NO_CAPTURES: Rows = {name: np.empty(0, np.int64) for name in ("start", "step")}


class _Calls:
    """The API calls that device records name, by thread, as `lanes` takes them; and all threads that call at
    all."""

    def __init__(self, export: Export, records: Mapping[int, Sums]) -> None:
        self.seen: set[int] = set()
        self._records = records
        columns = dict.fromkeys(("start", "end", "globalTid", "correlationId"), BIGINT)
        parts: dict[int, list[Rows]] = {}
        for by_thread in export.mapped(
            find(export, "CUPTI_ACTIVITY_KIND_RUNTIME") or "", columns, self._of_batch
        ):
            for thread, rows in by_thread.items():
                parts.setdefault(thread, []).append(rows)
        self.by_thread = {thread: poured(rows) for thread, rows in parts.items()}

    def _of_batch(self, batch: Batch, first: int) -> dict[int, Rows]:
        self.seen |= distinct(batch["globalTid"])
        there = complete(batch, "start", "globalTid", "correlationId")
        start = batch["start"].values
        rows = {
            "start": start,
            "end": np.maximum(filled(batch["end"], start), start),
            "correlation_id": batch["correlationId"].values,
        }
        threads = batch["globalTid"].values
        if not there.all():
            rows, threads = take(rows, there), threads[there]
        found = {}
        for thread, own in split(rows, threads).items():
            records = self._records.get(process_of(thread))
            if records is None:
                continue
            known, sums = records.of(own["correlation_id"])
            if count(sums):
                found[thread] = take(own, known) | sums
        return found


# -- names ----------------------------------------------------------------------------------------


class _Names:
    """The ranges of an export by thread, as `lanes` takes them, labels of their names, and all threads seen.

    A name is a registered string if there is one, else a text. Payloads are told when `paid`. `latest` becomes
    the last moment of all ranges.
    """

    def __init__(self, export: Export, paid: bool) -> None:
        self.seen: set[int] = set()
        self.latest = FIRST
        self._paid = paid
        self._export = export
        self._labels: dict[str, int] = {}
        self._strings: dict[int, str | None] = {}
        self._domains: dict[tuple[int, int], str] = {}
        columns = dict.fromkeys(("start", "end", "eventType", "globalTid", "textId"), BIGINT)
        columns |= dict.fromkeys(("domainId", "endGlobalTid", *(PAYLOADS if paid else ())), BIGINT)
        parts: dict[int, list[Rows]] = {}
        events = find(export, "NVTX_EVENTS") or ""
        for by_thread in export.mapped(events, {**columns, "text": VARCHAR}, self._of_batch):
            for thread, rows in by_thread.items():
                parts.setdefault(thread, []).append(rows)
        self.by_thread = {thread: self._finished(thread, poured(rows)) for thread, rows in parts.items()}

    def write(self, connection: Connection, ranges: Rows, paths: Paths) -> None:
        """Fill path, and put a view in the place of range."""
        connection.execute("CREATE TABLE nsys.label (label BIGINT, name VARCHAR)")
        if not count(ranges):
            return
        names = np.array(list(self._labels), dtype=object)
        connection.register("labels", {"label": np.arange(len(names), dtype=np.int64), "name": names})
        connection.execute("INSERT INTO nsys.label FROM labels")
        connection.unregister("labels")
        insert_paths(connection, paths)
        # Columns that are not needed are made of zeros that take no memory. Only calls that device records
        # name were looked at, so which launches a range holds is not known.
        nothing = np.broadcast_to(np.int64(0), count(ranges))
        made = {name: nothing for names in _MADE_OF.values() for name in names} | ranges
        unknown = np.broadcast_to(np.int64(NONE), count(ranges))
        show_ranges(
            connection, made | {"parent": unknown} | {"first_launch_id": unknown, "last_launch_id": unknown}
        )
        connection.execute('DROP TABLE "range"; CREATE VIEW "range" AS FROM found_range')

    def _of_batch(self, batch: Batch, first: int) -> dict[int, Rows]:
        self.seen |= distinct(batch["globalTid"])
        kinds = filled(batch["eventType"], NONE)
        positions = np.arange(first, first + len(kinds), dtype=np.int64)
        for row in np.flatnonzero(kinds == NAMES_DOMAIN).tolist():
            self._note_domain(batch, row)
        here = np.isin(kinds, _RANGES) & complete(batch, "start", "globalTid")
        if not here.all():
            rows = np.flatnonzero(here)
            batch = {name: _taken(cells, rows) for name, cells in batch.items()}
            positions = positions[rows]
        kind, start, thread = (batch[name].values for name in ("eventType", "start", "globalTid"))
        ended = valid(batch["end"])
        end = np.where(ended, np.maximum(batch["end"].values, start), LAST)
        elsewhere = valid(batch["endGlobalTid"]) & (batch["endGlobalTid"].values != thread)
        if len(start):
            self.latest = max(self.latest, int(start.max()), int(end[ended].max(initial=FIRST)))
        rows_of = {
            "range_id": positions,
            "start": start,
            "end": end,
            "style": ((kind == 59) | (kind == 70)).astype(np.int8),
            "closed": np.where(ended, elsewhere.astype(np.int8), np.int8(2)),
            "label": self._labels_of(batch),
            "domain": filled(batch["domainId"], 0),
            **(self._payloads(batch) if self._paid else {}),
        }
        return split(rows_of, thread)

    def _payloads(self, batch: Batch) -> Rows:
        rows = len(batch["start"].values)
        payload, paid = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
        for name in PAYLOADS:
            told = valid(batch[name])
            if told.any():
                fresh = told & ~paid
                payload[fresh] = batch[name].values[fresh]
                paid |= told
        return {"payload": payload, "paid": paid.astype(np.int64)}

    def _labels_of(self, batch: Batch) -> Integers:
        identified, texts = batch["textId"], batch["text"]
        ids = filled(identified, NONE)
        known, inverse = np.unique(ids, return_inverse=True)
        self._look_up([key for key in known.tolist() if key not in self._strings and key != NONE])
        named = [self._label(text) if (text := self._strings.get(key)) else NONE for key in known.tolist()]
        labels = np.array(named, np.int64)[inverse] if named else ids
        unnamed = labels < 0
        if unnamed.any() and texts.texts:
            by_code = [self._label(text.decode("utf-8", "replace")) if text else NONE for text in texts.texts]
            told = unnamed & valid(texts)
            labels[told] = np.array(by_code, np.int64)[texts.values[told]]
            unnamed = labels < 0
        if unnamed.any():
            missing = [
                self._label(nameless(key, self._strings[key]) if key != NONE else nameless(None, None))
                for key in known.tolist()
            ]
            labels[unnamed] = np.array(missing, np.int64)[inverse[unnamed]]
        return labels

    def _look_up(self, ids: list[int]) -> None:
        if ids:
            found = dict(self._export.strings(ids))
            self._strings |= {key: found.get(key) for key in ids}

    def _label(self, name: str) -> int:
        return self._labels.setdefault(name, len(self._labels))

    def _note_domain(self, batch: Batch, row: int) -> None:
        """The first event of type 75 names a domain of its process."""
        thread, domain, key = (_value(batch[name], row) for name in ("globalTid", "domainId", "textId"))
        if key is not None and key not in self._strings:
            self._look_up([key])
        code = _value(batch["text"], row)
        text = self._strings.get(key) if key is not None else None
        if not text and code is not None:
            text = batch["text"].texts[code].decode("utf-8", "replace")
        if text and thread is not None and domain is not None:
            self._domains.setdefault((process_of(thread), domain), text)

    def _finished(self, thread: int, rows: Rows) -> Rows:
        """Domains by their labels, -1 for the default one."""

        def label(domain: int) -> int:
            if not domain:
                return NONE
            return self._label(self._domains.get((process_of(thread), domain), f"<domain {domain}>"))

        return rows | {"domain": relabelled(rows["domain"], label)}


# -- rows -----------------------------------------------------------------------------------------


def nameless(identified: int | None, string: str | None) -> str:
    """What stands for the name of a range that has none: no text, and its registered string is missing or
    empty."""
    return "<unnamed>" if identified is None or string is not None else f"<string {identified} missing>"


def _taken(cells: Cells, rows: Integers) -> Cells:
    return Cells(cells.values[rows], None if cells.valid is None else cells.valid[rows], cells.texts)


def _value(cells: Cells, row: int) -> int | None:
    return int(cells.values[row]) if cells.valid is None or cells.valid[row] else None
