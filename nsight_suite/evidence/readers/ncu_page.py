"""The text of an ncu CSV → lines with their meaning: headers, units, rows, and whatever stands between them.

What is around a table belongs to others: ncu's banners, the program's own output, tables of another page. Each
line is cut on its own, so that a stray quote in a foreign line cannot swallow the rows after it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import islice
from pathlib import Path

from nsight_suite.evidence.readers.long_cells import cells_of_any_length
from nsight_suite.evidence.readers.ncu_refusals import refusal, summary

_SUMMARY = ("Minimum", "Maximum", "Average")
_OF_NCU = frozenset({"Process ID", "Metric Name", "Metric Value"})
_LONGEST_ROW = 50  # lines; a range's name or a rule's text may hold line ends
_STARTS_A_NUMBER = frozenset("0123456789+-.")
_ROW_START = re.compile(r'"?[0-9]+(\.0)?"?,')
_ROW_INSIDE = re.compile(r'"[0-9]*","')
_MOST_TRIES = 10


class Kind(Enum):
    """What a line of a page is."""

    SKIPPED = "before the header, empty, or a message of ncu"
    HEADER = "the header"
    UNITS = "the units of a raw page"
    ROW = "a row of the table"
    FOREIGN = (
        "a whole line that is none of these; with cells, when it is like a row but does not fit the header"
    )
    CUT = "the last line, cut off"


@dataclass(frozen=True)
class Header:
    """The names of a table's columns, and where those are that a row is known by.

    `quoted`: the names are in quotes, so a kernel's name is too.
    """

    names: tuple[str, ...]
    quoted: bool = False

    @cached_property
    def at(self) -> dict[str, int]:
        """The first column of each name."""
        return {name: index for index, name in reversed(list(enumerate(self.names)))}

    @cached_property
    def is_long(self) -> bool:
        """Whether the table has one row per metric: a details page."""
        return "Metric Value" in self.at

    @cached_property
    def is_summary(self) -> bool:
        """Whether it tells of several launches at once: how many, their minimum, maximum and average."""
        counts_only = "Invocations" in self.at and "ID" not in self.at
        return not self.is_long and (counts_only or set(_SUMMARY) <= set(self.names))

    def fits(self, row: list[str]) -> bool:
        """Whether a row belongs under this header.

        Rows of a details page may lack the cells of the columns for rules. A row that lost another cell has its
        values under the wrong names: then a number stands where a unit should, or a word where a number should.
        """
        at = self.at
        if self.is_long:
            if not at["Metric Value"] < len(row) <= len(self.names):
                return False
            if "Metric Unit" in at and row[at["Metric Unit"]][:1] in _STARTS_A_NUMBER:
                return False
        elif len(row) != len(self.names):
            return False
        process = whole(row[at["Process ID"]]) if "Process ID" in at else ""
        return _is_digits(whole(row[at["ID"]])) and (not process or _is_digits(process))


@dataclass(frozen=True, slots=True)
class Line:
    """A line, its cells when it is one of a table, and its text."""

    kind: Kind
    cells: list[str]
    text: str


@dataclass(frozen=True)
class Page:
    """The lines of a page. A raw page has one row per workload, a details page one per workload and metric."""

    name: str
    header: list[str]
    lines: list[Line]
    ended: bool


def texts_of(path: Path) -> Iterator[str]:
    """The lines of a file with their ends, in whatever encoding a shell has saved ncu's output."""
    with path.open("rb") as file:
        mark = file.read(2)
    is_wide = encoding_of(mark) != "utf-8"
    encoding, errors = ("utf-16", "replace") if is_wide else ("utf-8-sig", "surrogateescape")
    with path.open(encoding=encoding, errors=errors, newline="\n") as file:
        for line in file:
            yield line if line.isascii() and "\0" not in line else _legible(line)


def encoding_of(mark: bytes) -> str:
    """What a file that begins with these two bytes is written in: some shells save all output as UTF-16."""
    return {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(mark, "utf-8")


def _legible(line: str) -> str:
    """No lone bytes and no NUL; a lone 0xA0 is the space between thousands of an older Windows."""
    return re.sub("[\ud800-\udfff\0]", "\ufffd", line.replace("\udca0", "\u00a0"))


def lines_of(texts: Iterable[str]) -> Iterator[Line]:
    """The lines of a page; `texts` are lines with their ends. Any number of tables may follow one another."""
    source = _Source(iter(texts))
    header = Header(())
    below_header = False
    while (raw := source.take()) is not None:
        text = raw.rstrip("\r\n")
        if names := _header_above(text, source):
            header, below_header = Header(tuple(names), '"Kernel Name"' in text), True
            yield Line(Kind.HEADER, names, text)
        elif not header.names or not text.strip() or text.startswith("=="):
            yield Line(Kind.SKIPPED, [], text)
        elif header.is_summary or (header.quoted and '"' not in text):
            yield Line(Kind.FOREIGN, [], text)
        else:
            line = _line(source, raw, header, below_header)
            below_header = below_header and line.kind is Kind.FOREIGN
            yield line


class _Source:
    """Lines that can be put back."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts = texts
        self._back: list[str] = []

    def take(self) -> str | None:
        return self._back.pop() if self._back else next(self._texts, None)

    def put_back(self, texts: list[str]) -> None:
        self._back += reversed(texts)

    def is_empty(self) -> bool:
        if (text := self.take()) is None:
            return True
        self.put_back([text])
        return False


def _header_above(text: str, source: _Source) -> list[str]:
    """The names of a header, of several readings the one that the next line fits; nothing for another line."""
    readings = list(_headers_of(text))
    if len(readings) > 1 and (below := source.take()) is not None:
        source.put_back([below])
        for names in readings:
            header, row = Header(tuple(names)), cells(below.rstrip("\r\n"), len(names))
            if row is not None and (header.fits(row) or _is_units(row, header)):
                return names
    return readings[0] if readings else []


def _line(source: _Source, raw: str, header: Header, below_header: bool) -> Line:
    text, count = raw.rstrip("\r\n"), len(header.names)
    row = cells(text, count)
    ended = raw.endswith("\n")
    if row is not None and len(row) == count + 1 and text.endswith(","):
        row.pop()  # some versions end every row with a comma
    if row is not None and below_header and _is_units(row, header) and (ended or not source.is_empty()):
        return Line(Kind.UNITS, row, text)
    if row is None and _ROW_START.match(text):
        row, text = _joined(source, raw, header)
        if row is None:
            row = cells(text, count, may_go_on=False)
    if begin := _glued(text, header, below_header) if row is None or not header.fits(row) else 0:
        source.put_back([raw[begin:]])
        return Line(Kind.FOREIGN, [], text[:begin])
    # Without its line end, only a closing quote shows that a last value is whole.
    if row is not None and header.fits(row) and (ended or text.endswith('"') or not source.is_empty()):
        return Line(Kind.ROW, row + [""] * (count - len(row)), text)
    numbered = _ROW_START.match(text) is not None
    if source.is_empty() and (not ended or row is None or (numbered and len(row) < count)):
        return Line(Kind.CUT, [], text)
    return Line(Kind.FOREIGN, row if row is not None and numbered and len(row) > count // 2 else [], text)


def _glued(text: str, header: Header, below_header: bool) -> int:
    """Where a row, or the row of units, begins behind what the program printed without a line end; else 0."""
    if not header.quoted or _ROW_START.match(text):
        return 0
    for match in islice(_ROW_INSIDE.finditer(text), _MOST_TRIES):
        row = cells(text[match.start() :], len(header.names))
        if row is not None and (header.fits(row) or (below_header and _is_units(row, header))):
            return match.start()
    return 0


def _is_units(row: list[str], header: Header) -> bool:
    return not header.is_long and len(row) == len(header.names) and not row[header.at["ID"]].strip()


def _joined(source: _Source, raw: str, header: Header) -> tuple[list[str] | None, str]:
    """A row whose cells hold line ends; when it is none, the lines after the first are put back."""
    taken: list[str] = []
    text = raw
    while len(taken) < _LONGEST_ROW and (more := source.take()) is not None:
        if _ROW_START.match(more) or more.startswith("==") or header_of(more):
            source.put_back([more])
            break
        taken.append(more)
        text += more
        row = cells(text.rstrip("\r\n"), len(header.names))
        if row is not None and header.fits(row):
            return row, text.rstrip("\r\n")
    source.put_back(taken)
    return None, raw.rstrip("\r\n")


def whole(text: str) -> str:
    """A printed integer: a page that pandas has saved again has 0.0 for 0, as the row of units has none."""
    return text.strip().removesuffix(".0")


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def cells(line: str, expected: int | None = None, *, may_go_on: bool = True) -> list[str] | None:
    """The cells of one line; None when its quotes do not close.

    ncu does not double the quotes inside the names of NVTX ranges. When the line can be read in no other way,
    or not as `expected` cells, only `","` parts cells. Where it may go on in the next line, an odd quote
    shows that it does.
    """
    body = line[:-1] if (trailing := line.endswith('",')) else line
    plain = body[1:-1].split('","') if body.startswith('"') and body.endswith('"') and len(body) > 1 else []
    rest = [""] if trailing else []
    if plain and line.count('"') == 2 * len(plain):
        return plain + rest
    try:
        with cells_of_any_length():
            strict = next(csv.reader([line], strict=True, skipinitialspace=True), [])
    except csv.Error:
        strict = None
    open_ended = may_go_on and line.count('"') % 2
    if plain and not open_ended and expected is not None and (strict is None or len(strict) != expected):
        loose = [cell.replace('""', '"') for cell in plain] + rest
        if _ROW_START.match(line) and len(loose) <= expected:
            return loose
    return strict


def header_of(line: str) -> list[str]:
    """The names of a header, also when the program's unfinished line stands before it; else nothing."""
    return next(_headers_of(line), [])


def _headers_of(line: str) -> Iterator[list[str]]:
    """The same for each way to read a line: what the program printed may look like names of columns."""
    if "Kernel Name" not in line:
        return
    for start in sorted({0, line.find('"ID"'), line.find('"Process ID"')} - {-1}):
        names = [name.strip() for name in cells(line[start:].strip()) or []]
        if "Kernel Name" in names and (
            Header(tuple(names)).is_summary or ("ID" in names and _is_of_ncu(names))
        ):
            yield names


def _is_of_ncu(names: list[str]) -> bool:
    """Whether a table is one of ncu: a program may print a table of its own kernels."""
    return not _OF_NCU.isdisjoint(names) or any("__" in name for name in names)


def parse(text: str, name: str) -> Page:
    """All lines of a page; `name` is the file's, for messages. The header is that of the first table.

    Raises BadReport for a text without a table of workloads, and says what it holds.
    """
    parts = text.split("\n")
    texts = [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    lines = list(lines_of(texts))
    headers = [line.cells for line in lines if line.kind is Kind.HEADER]
    if not headers:
        raise refusal(text, name)
    if all(Header(tuple(header)).is_summary for header in headers):
        raise summary(name)
    return Page(name, headers[0], lines, text.endswith("\n"))
