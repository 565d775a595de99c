"""Answers as HTML: Markdown with raw HTML off, links to the web only, no images loaded.

`Answer` renders a text that grows: blocks that nothing can change any more are rendered once, only the open
tail is rendered again. A tail that grows long is shown as plain text, in pieces that are sent once, until its
block closes. So a long answer costs time and traffic in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from .html import Html, join, tag, text

#: Longest open block, in characters, that is rendered anew with each change.
OPEN_LIMIT = 4_096
#: Length of the pieces in which longer ones are shown.
PIECE = 2_048
#: Inline markup is looked for in texts up to this length: the parser's worst case is quadratic.
INLINE_LIMIT = 32_768

_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)

Env = MutableMapping[str, Any]


def _inline(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline":
            continue
        if len(token.content) > INLINE_LIMIT:
            token.children = [Token("text", "", 0, content=token.content)]
        else:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


class _Renderer(RendererHTML):
    """Texts go through `html.text`; the rest is markdown-it's own renderer."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        return text(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        return tag("code", tokens[idx].content)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        return tag("pre", tag("code", tokens[idx].content)) + "\n"

    fence = code_block

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        href = str(tokens[idx].attrGet("href"))
        opened = tag("a", href=href, title=href, target="_blank", rel="noopener noreferrer")
        return opened.removesuffix("</a>")

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        source = str(tokens[idx].attrGet("src"))
        return tag(
            "a",
            tokens[idx].content or source,
            href=source,
            title=source,
            target="_blank",
            rel="noopener noreferrer",
        )


def _parser() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
    md.core.ruler.at("inline", _inline)
    md.validateLink = lambda url: _WEB.match(url) is not None
    return md


_MD = _parser()
#: Finds the blocks and the link definitions, which is cheap; it does not look inside.
_SPLITTER = _parser()
_SPLITTER.core.ruler.enableOnly(["normalize", "block"])


def markdown(source: str, env: Env | None = None) -> Html:
    """A whole Markdown text as HTML."""
    return Html(_MD.render(_normal(source), {} if env is None else env))


def _normal(source: str) -> str:
    """Line ends and NUL as CommonMark reads them; lone surrogates would not survive the way to the page."""
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))


class _Block(NamedTuple):
    start: int
    end: int
    kind: str


def _blocks(source: str, env: Env) -> list[_Block]:
    """The top-level blocks of `source`, as offsets. Link definitions, which show nothing, go to `env`."""
    offsets = [0, *(match.end() for match in re.finditer("\n", source)), len(source)]
    found: list[_Block] = []
    for token in _SPLITTER.parse(source, env):
        if token.level == 0 and token.nesting >= 0 and token.map:
            found.append(
                _Block(offsets[token.map[0]], offsets[min(token.map[1], len(offsets) - 1)], token.type)
            )
    return found


class Piece(NamedTuple):
    """A part of an answer: `open` names the wrapper of plain text that belongs to a block still open."""

    html: Html
    open: str | None = None


class Answer:
    """A Markdown text that grows at its end.

    `grow(source, final)` takes the text so far and returns the pieces that show it; those that have not
    changed are the same objects as before. Once final, the pieces joined are exactly `markdown(source)`.
    """

    def __init__(self) -> None:
        self._taken = 0
        self._tail = ""
        self._env: Env = dict[str, Any]()
        self._closed: list[Piece] = []
        self._plain = PlainText()
        self._kind: str | None = None
        self._split_at = 0

    def grow(self, source: str, final: bool) -> list[Piece]:
        new = source[self._taken :]
        if new.endswith("\r") and not final:
            new = new[:-1]  # the other half of a line end may follow
        self._taken += len(new)
        new = _normal(new)
        self._tail += new
        if final:
            self._finish(source)
            return list(self._closed)
        if len(self._tail) <= OPEN_LIMIT or self._worth_splitting(new):
            self._close_finished()
        return [*self._closed, *self._open()]

    def _finish(self, source: str) -> None:
        # A link definition also works for the text before it, which has been rendered without.
        if "]:" in source:
            self._closed, self._env, self._tail = [], dict[str, Any](), _normal(source)
        blocks = _blocks(self._tail, self._env)
        self._closed += [self._render(block) for block in blocks]
        self._tail = ""

    def _worth_splitting(self, new: str) -> bool:
        """Whether a long open block may have closed. To see costs its length, so not at every change."""
        grown = len(self._tail) - self._split_at
        end = self._tail[-len(new) - 3 :]
        if self._kind == "fence":
            return "```" in end or "~~~" in end
        closes = "\n\n" in end
        if closes and self._kind in ("paragraph_open", "blockquote_open", "table_open"):
            return True
        return grown > len(self._tail) / (16 if closes else 4)

    def _close_finished(self) -> None:
        """Render the blocks that nothing can change: those before a block whose first line is complete."""
        env: Env = {"references": dict(self._env.get("references", {}))}
        blocks = _blocks(self._tail, env)
        complete = self._tail.rfind("\n") + 1
        while len(blocks) > 1 and blocks[-1].start >= complete:
            blocks.pop()
        self._split_at = len(self._tail)
        self._kind = blocks[-1].kind if blocks else None
        if len(blocks) > 1:
            self._env = env
            self._closed += [self._render(block) for block in blocks[:-1]]
            self._tail = self._tail[blocks[-1].start :]
            self._split_at = len(self._tail)
            self._plain = PlainText()

    def _open(self) -> list[Piece]:
        if len(self._tail) <= OPEN_LIMIT:
            env: Env = {"references": dict(self._env.get("references", {}))}
            return [
                Piece(html) for block in _blocks(self._tail, env) if (html := self._render(block, env).html)
            ]
        if self._kind == "fence":
            return [Piece(html, "code") for html in self._plain.grow(self._tail.partition("\n")[2])]
        return [Piece(html, "text") for html in self._plain.grow(self._tail)]

    def _render(self, block: _Block, env: Env | None = None) -> Piece:
        return Piece(markdown(self._tail[block.start : block.end], self._env if env is None else env))


class PlainText:
    """A plain text that grows at its end, in pieces of about `PIECE` characters; only the last changes."""

    def __init__(self) -> None:
        self._done = 0
        self._pieces: list[Html] = []

    def grow(self, source: str) -> list[Html]:
        while len(source) - self._done > PIECE:
            # At a blank where there is one, so that no sequence of characters that belong together is cut.
            blank = max(source.rfind(char, self._done + PIECE // 2, self._done + PIECE) for char in " \n")
            end = blank + 1 if blank >= 0 else self._done + PIECE
            self._pieces.append(tag("span", text(source[self._done : end])))
            self._done = end
        return [*self._pieces, tag("span", text(source[self._done :]))]


def inline_code(source: str) -> Html:
    """Text in which only `code` between backticks is marked up: for the one-line texts of plan entries."""
    pieces = re.split(r"`([^`\n]+)`", source)
    return join(tag("code", piece) if position % 2 else piece for position, piece in enumerate(pieces))
