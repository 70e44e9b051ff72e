"""An article as blocks of plain text, each knowing where it stands in the file and what is bound in it.

The parser is markdown-it's. Its inline tokens do not tell where they are from, so every inline rule is
wrapped in one that notes the position, and text is taken by rules of our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nsight_suite.claiming.blocks import Article, Block, BlockMaker

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    Rule = Callable[[StateInline, bool], bool]

_PLAIN_TEXT = re.compile(r"[^\n!#$%&*+\-:<=>@\[\]\\^_`{}~]+")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)


def read_article(text: str) -> Article:
    """The blocks of a Markdown text. Any text is Markdown, so nothing fails."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    if front := _FRONT_MATTER.match(text):
        text = "\n" * front[0].count("\n") + text[front.end() :]
    environment: dict[str, object] = {}
    tokens = _parser().parse(text, environment)
    references = environment.get("references", {})
    assert isinstance(references, dict)
    return Article(
        blocks=tuple(_Reader(text.split("\n")).blocks(tokens)),
        definitions={label: str(reference["href"]) for label, reference in references.items()},
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt, rules_inline

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable(["text_join", "fragments_join"])
    rules: dict[str, Rule] = {
        "newline": rules_inline.newline,
        "escape": rules_inline.escape,
        "backticks": rules_inline.backtick,
        "strikethrough": rules_inline.strikethrough.tokenize,
        "emphasis": rules_inline.emphasis.tokenize,
        "link": rules_inline.link,
        "image": rules_inline.image,
        "autolink": rules_inline.autolink,
        "html_inline": rules_inline.html_inline,
        "entity": rules_inline.entity,
    }
    parser.inline.ruler.at("text", _text)
    for name, rule in rules.items():
        parser.inline.ruler.at(name, _noting(rule))
    parser.inline.ruler.push("one_character", _one_character)
    return parser


def _noting(rule: Rule) -> Rule:
    """The rule, whose tokens tell in `meta["at"]` where they are from."""

    def noted(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        done = rule(state, silent)
        if done and not silent:
            position = start
            for token in state.tokens[before:]:
                token.meta.setdefault("at", position)
                if token.type == "text":  # delimiters that turn out to be text: one token each
                    position += len(token.content)
        return done

    return noted


def _text(state: StateInline, silent: bool) -> bool:
    match = _PLAIN_TEXT.match(state.src, state.pos, state.posMax)
    return bool(match) and _take(state, match.end() if match else state.pos, silent)


def _one_character(state: StateInline, silent: bool) -> bool:
    """What no rule wants, and would else be added to a text that tells no position."""
    return _take(state, state.pos + 1, silent)


def _take(state: StateInline, end: int, silent: bool) -> bool:
    if not silent:
        token = state.push("text", "", 0)
        token.content = state.src[state.pos : end]
        token.meta["at"] = state.pos
    state.pos = end
    return True


class _Reader:
    """Goes through the tokens of an article once and makes its blocks."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._stack: list[str] = []
        self._headers: list[str] = []  # of the table that is being read
        self._column = self._row = 0
        self._searched: dict[int, int] = {}  # where the next cell of a line may begin
        self._exempt_next = -1  # the level of a comment that exempts what follows it
        self._exempt_until = -1  # the level of what is exempt

    def blocks(self, tokens: Sequence[Token]) -> Iterator[Block]:
        for token in tokens:
            self._enter(token)
            if token.type == "inline":
                yield from self._inline(token)
            elif token.type == "html_block":
                yield self._html(token)
            if token.nesting == 1:
                self._stack.append(token.type)
            elif token.nesting == -1:
                self._stack.pop()
                if token.level == self._exempt_until:
                    self._exempt_until = -1

    def _enter(self, token: Token) -> None:
        if token.type == "tr_open":
            self._column = 0
            self._row += 1
        elif token.type == "thead_open":
            self._headers = []
        if token.level <= self._exempt_next and token.nesting == 1:
            self._exempt_next, self._exempt_until = -1, token.level

    def _inline(self, token: Token) -> Iterator[Block]:
        inside = self._stack[-1] if self._stack else ""
        is_cell = inside in ("th_open", "td_open")
        header = ""
        if inside == "td_open" and self._column < len(self._headers):
            header = self._headers[self._column]
        kind = "cell" if is_cell else "heading" if inside == "heading_open" else "text"
        maker = BlockMaker(kind, header, self._exempt_until >= 0, self._row if is_cell else 0)
        starts = self._starts(token, is_cell=is_cell)
        maker.add_tokens(token.children or [], token.content, starts)
        yield maker.block()
        yield from maker.alternatives
        if inside == "th_open":
            self._headers.append(maker.text)
        self._column += is_cell

    def _html(self, token: Token) -> Block:
        maker = BlockMaker("html", "", self._exempt_until >= 0)
        maker.add_html(token.content, self._starts(token))
        block = maker.block()
        if block.unbound and not block.text.strip():
            self._exempt_next = token.level
        return block

    def _starts(self, token: Token, *, is_cell: bool = False) -> list[tuple[int, int]]:
        """(line, column) from 0 of each line of a block's content, whose indents and marks are cut off it."""
        starts = []
        first = token.map[0] if token.map else 0
        for line, part in enumerate(token.content.split("\n"), first):
            source = self._lines[line] if line < len(self._lines) else ""
            sought = part.replace("|", r"\|") if is_cell else part
            found = source.find(sought, self._searched.get(line, 0) if is_cell else 0)
            starts.append((line, max(found, 0)))
            if is_cell and found >= 0:
                self._searched[line] = found + len(sought)
        return starts
