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


#: The parser in two halves: one finds the blocks and the link definitions, which is cheap; one looks inside
#: what the first has found.
_OUTSIDE, _INSIDE = _parser(), _parser()
_OUTSIDE.core.ruler.enableOnly(["normalize", "block"])
_INSIDE.core.ruler.enableOnly(["inline", "text_join"])


def markdown(source: str) -> Html:
    """A whole Markdown text as HTML."""
    env: Env = {}
    return _render(_OUTSIDE.parse(_normal(source), env), env)


def _render(tokens: list[Token], env: Env) -> Html:
    _INSIDE.core.process(StateCore("", _INSIDE, env, tokens))
    return Html(_INSIDE.renderer.render(tokens, _INSIDE.options, env))


def _normal(source: str) -> str:
    """Line ends and NUL as CommonMark reads them; lone surrogates would not survive the way to the page."""
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))


class _Block(NamedTuple):
    """A top-level block: where it starts in the text, its tokens, and its kind (the type of the first)."""

    start: int
    tokens: list[Token]

    @property
    def kind(self) -> str:
        return self.tokens[0].type


def _blocks(source: str, env: Env) -> list[_Block]:
    """The top-level blocks of `source`. Link definitions, which show nothing, go to `env`."""
    lines = [0, *(match.end() for match in re.finditer("\n", source))]
    found: list[_Block] = []
    for token in _OUTSIDE.parse(source, env):
        if token.level == 0 and token.nesting >= 0 and token.map:
            found.append(_Block(lines[token.map[0]], []))
        found[-1].tokens.append(token)
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
        #: Link definitions: those before the open block, and with those that may yet change.
        self._env: Env = dict[str, Any]()
        self._open_env: Env = self._env
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
        left: list[_Block] = []
        if len(self._tail) <= OPEN_LIMIT or self._worth_splitting(new):
            left = self._close_finished()
        return [*self._closed, *self._open(left)]

    def _finish(self, source: str) -> None:
        # A link definition also works for the text before it, which has been rendered without.
        if "]:" in source:
            self._closed, self._env, self._tail = [], dict[str, Any](), _normal(source)
        blocks = _blocks(self._tail, self._env)
        self._closed += [Piece(_render(block.tokens, self._env)) for block in blocks]
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

    def _close_finished(self) -> list[_Block]:
        """Render the blocks that nothing can change: those before a block whose first line is complete.

        Returns the other blocks of the tail.
        """
        env: Env = {"references": dict(self._env.get("references", {}))}
        blocks = _blocks(self._tail, env)
        complete = self._tail.rfind("\n") + 1
        last = len(blocks) - 1
        while last > 0 and blocks[last].start >= complete:
            last -= 1
        self._kind = blocks[last].kind if blocks else None
        self._open_env = env
        if last > 0:
            self._env = env
            self._closed += [Piece(_render(block.tokens, env)) for block in blocks[:last]]
            self._tail = self._tail[blocks[last].start :]
            self._plain = PlainText()
        self._split_at = len(self._tail)
        return blocks[max(last, 0) :]

    def _open(self, blocks: list[_Block]) -> list[Piece]:
        """The tail: its blocks as far as they are, or plain text where it is long."""
        if len(self._tail) <= OPEN_LIMIT:
            return [Piece(_render(block.tokens, self._open_env)) for block in blocks]
        if self._kind == "fence":
            return [Piece(html, "code") for html in self._plain.grow(self._tail.partition("\n")[2])]
        return [Piece(html, "text") for html in self._plain.grow(self._tail)]


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
    if "`" not in source:
        return text(source)
    pieces = re.split(r"`([^`\n]+)`", source)
    return join(tag("code", piece) if position % 2 else piece for position, piece in enumerate(pieces))
