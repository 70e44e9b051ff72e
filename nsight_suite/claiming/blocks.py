"""The text of one block of an article: plain, with what is code, what is bound, and where all of it is from."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEME = "claim:"
_HTML = re.compile(r"<!--(?P<comment>.*?)-->|<(?P<close>/?)(?P<tag>[A-Za-z][\w-]*)(?P<rest>[^>]*)>", re.DOTALL)
_HREF = re.compile(r"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_COMMENT = re.compile(r"\s*(claim|unbound)\s*:\s*(.*?)\s*", re.DOTALL)
_RAISED = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
_NO_PROSE = ("code", "pre", "script", "style", "kbd", "svg", "math")
_BREAKS = ("br", "p", "div", "li", "tr", "td", "th", "table", "ul", "ol", "details", "summary", "hr")


@dataclass(frozen=True)
class Mark:
    """A binding in a block, at `start` to `end` of its text; a comment binds what stands before it."""

    start: int
    end: int
    target: str
    is_comment: bool = False


@dataclass(frozen=True)
class Block:
    """A paragraph, heading, table cell, image description or piece of HTML.

    text       without Markdown
    places     (position in the text, line, column), from 0, ascending; what lies between counts on from there
    code       where code and addresses stand: no prose
    marks      what is bound
    unbound    (position, reason) of each comment that tells why the number before it is not bound
    header     text of the column's header, for a cell of a table
    exempt     a comment before the block tells why nothing in it is bound
    row        which row of all tables of the article a cell is in, from 1
    """

    kind: str
    text: str
    places: tuple[tuple[int, int, int], ...]
    code: tuple[tuple[int, int], ...] = ()
    marks: tuple[Mark, ...] = ()
    unbound: tuple[tuple[int, str], ...] = ()
    header: str = ""
    exempt: bool = False
    row: int = 0

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a character, from 1."""
        if not self.places:
            return 1, 1
        index = max(bisect_right(self.places, (position, 1 << 62, 0)) - 1, 0)
        start, line, column = self.places[index]
        return line + 1, column + 1 + max(position - start, 0)


@dataclass(frozen=True)
class Article:
    """Blocks in order, and the link definitions by their label (as Markdown compares labels: folded)."""

    blocks: tuple[Block, ...]
    definitions: Mapping[str, str]

    @cached_property
    def _rows(self) -> Mapping[int, Sequence[Block]]:
        rows: dict[int, list[Block]] = {}
        for block in self.blocks:
            rows.setdefault(block.row, []).append(block)
        return rows

    def beside(self, cell: Block) -> Sequence[Block]:
        """The other cells of a cell's row."""
        return [one for one in self._rows[cell.row] if one is not cell] if cell.row else []


@dataclass
class BlockMaker:
    """Gathers the text of one block."""

    kind: str
    header: str
    exempt: bool
    row: int = 0
    text: str = ""
    alternatives: list[Block] = field(default_factory=list)
    _places: list[tuple[int, int, int]] = field(default_factory=list)
    _code: list[tuple[int, int]] = field(default_factory=list)
    _marks: list[Mark] = field(default_factory=list)
    _unbound: list[tuple[int, str]] = field(default_factory=list)
    _links: list[tuple[int, str]] = field(default_factory=list)
    _hidden: list[str] = field(default_factory=list)
    _raised: bool = False

    def block(self) -> Block:
        while self._links:
            self._close_link()
        return Block(
            self.kind,
            self.text,
            tuple(self._places),
            tuple(self._code),
            tuple(self._marks),
            tuple(self._unbound),
            self.header,
            self.exempt,
            self.row,
        )

    def add_tokens(self, tokens: Sequence[Token], content: str, starts: Sequence[tuple[int, int]]) -> None:
        """Add the tokens of one inline content, whose lines begin at `starts` (line, column), from 0."""
        where = _Places(content, starts, pipes_are_escaped=self.kind == "cell")
        in_address = False
        for token in tokens:
            at = token.meta.get("at", 0)
            match token.type:
                case "text" | "text_special":
                    self._add(token.content, where, at, code=in_address)
                case "softbreak":
                    self._add(" ", where, at)
                case "hardbreak":
                    self._add("\n", where, at)
                case "code_inline":
                    self._add(token.content, where, at + len(token.markup), code=True)
                case "html_inline":
                    self._add_tag(token.content, where, at)
                case "image":
                    inner = BlockMaker("image", "", self.exempt)
                    inner.add_tokens(
                        token.children or [], content[at + 2 :], [where.of(at + 2), *where.after(at + 2)]
                    )
                    self.alternatives.append(inner.block())
                    self._add("\ufffc", where, at, code=True)
                case "link_open":
                    in_address = token.info == "auto"
                    self._links.append((len(self.text), str(token.attrs.get("href", ""))))
                case "link_close":
                    in_address = False
                    self._close_link()

    def add_html(self, content: str, starts: Sequence[tuple[int, int]]) -> None:
        """Add a piece of HTML: its text outside of tags, scripts and code."""
        where, position = _Places(content, starts), 0
        for tag in _HTML.finditer(content):
            self._add_html_text(content, position, tag.start(), where)
            self._add_tag(tag[0], where, tag.start())
            position = tag.end()
        self._add_html_text(content, position, len(content), where)

    def _add_html_text(self, content: str, start: int, end: int, where: _Places) -> None:
        for piece_start, piece, is_entity in _with_entities(content, start, end):
            if not self._hidden:
                self._add(html.unescape(piece) if is_entity else piece, where, piece_start)

    def _add(self, text: str, where: _Places, at: int, *, code: bool = False) -> None:
        if not text:
            return
        start = len(self.text)
        if self._raised:
            text = text.translate(_RAISED)
        self.text += text
        self._places.append((start, *where.of(at)))
        self._places += [(start + jump, *where.of(at + jump)) for jump in where.jumps(text)]
        if code or self._hidden:
            self._code.append((start, len(self.text)))

    def _add_tag(self, tag: str, where: _Places, at: int) -> None:
        parts = _HTML.fullmatch(tag)
        if not parts:
            return
        if (comment := parts["comment"]) is not None:
            if told := _COMMENT.fullmatch(comment):
                if told[1] == "claim":
                    position = len(self.text)
                    self._marks.append(Mark(position, position, told[2], is_comment=True))
                else:
                    self._unbound.append((len(self.text), told[2]))
            return
        name, closes = parts["tag"].lower(), bool(parts["close"])
        if name in _NO_PROSE:
            if closes and name in self._hidden:
                self._hidden.remove(name)
            elif not closes and not parts["rest"].endswith("/"):
                self._hidden.append(name)
        elif name == "sup":
            self._raised = not closes
        elif name in _BREAKS:
            self._add("\n", where, at)
        elif name == "a" and not closes:
            href = _HREF.search(parts["rest"])
            address = next((one for one in href.groups() if one is not None), "") if href else ""
            self._links.append((len(self.text), html.unescape(address)))
        elif name == "a":
            self._close_link()

    def _close_link(self) -> None:
        if not self._links:
            return
        start, address = self._links.pop()
        if address.lower().startswith(_SCHEME):
            self._marks.append(Mark(start, len(self.text), address[len(_SCHEME) :]))


@dataclass(frozen=True)
class _Places:
    """From a position in a block's content to its line and column in the file, from 0."""

    content: str
    starts: Sequence[tuple[int, int]]
    pipes_are_escaped: bool = False  # a | in a cell was written \|

    def of(self, position: int) -> tuple[int, int]:
        position = min(position, len(self.content))
        number = self.content.count("\n", 0, position)
        beginning = self.content.rfind("\n", 0, position) + 1
        inside = position - beginning
        if self.pipes_are_escaped:
            inside += self.content.count("|", beginning, position)
        line, column = self.starts[min(number, len(self.starts) - 1)]
        return line, column + inside

    def jumps(self, text: str) -> Iterator[int]:
        """Where in a text the place does not just count on: after line ends, and at pipes that were escaped."""
        for match in re.finditer(r"\n(?=.)|(?<=\|)" if self.pipes_are_escaped else r"\n(?=.)", text, re.DOTALL):
            yield match.end()

    def after(self, position: int) -> Sequence[tuple[int, int]]:
        return self.starts[self.content.count("\n", 0, position) + 1 :]


def _with_entities(content: str, start: int, end: int) -> Iterator[tuple[int, str, bool]]:
    """(start, text, whether it is an entity) of the parts of a text."""
    position = start
    for entity in _ENTITY.finditer(content, start, end):
        if entity.start() > position:
            yield position, content[position : entity.start()], False
        yield entity.start(), entity[0], True
        position = entity.end()
    if position < end:
        yield position, content[position:end], False
