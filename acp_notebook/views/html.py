"""The one place where text becomes HTML: what is not `Html` is escaped, and what misleads made visible."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from ..text import INVISIBLE, JOINERS, pieces, plain


class Html(str):
    """Text that is HTML already; only this module and `markdown` make it."""

    __slots__ = ()


#: A child of a tag: `Html` goes in as it is, other text is escaped, None is left out.
Child = str | None


def text(value: str) -> Html:
    """`value` as HTML text, misleading characters as visible escapes."""
    made = [
        escape(piece) if name is None else f'<span class="acp-esc">{name}</span>'
        for piece, name in pieces(value)
    ]
    return Html("".join(made))


def typed(value: str) -> Html:
    """`value` as the content of a `textarea`, character by character: it may come back as an answer."""
    return Html("\n" + escape(value))  # the first line end is not the text's


#: Attributes that people read or hear; all others hold values that must come back verbatim.
_READ = frozenset({"aria-label", "title", "placeholder", "alt"})
# Not the C1 controls: HTML reads references to them as Windows-1252.
_REFERENCE = re.compile(f"[\x01-\x08\x0a-\x1f\x7f{INVISIBLE}{JOINERS}]")


def _attribute(name: str, value: str | int | bool) -> str:
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    value = plain(str(value)) if name in _READ else str(value)
    # Character references keep hidden characters out of the markup and give them back in the page. There is
    # none for a lone surrogate or NUL.
    value = re.sub("[\x00\ud800-\udfff]", "\ufffd", escape(value))
    return f' {name}="{_REFERENCE.sub(lambda match: f"&#x{ord(match[0]):x};", value)}"'


_VOID = frozenset({"br", "hr", "input"})


def attributes(**values: str | int | bool | None) -> str:
    """Attributes as they stand in a tag: `class_` is `class`, `data_index` `data-index`; True is bare, None
    and False are left out."""
    return "".join(
        _attribute(key, value) for key, value in values.items() if value is not None and value is not False
    )


def tag(name: str, /, *children: Child, **values: str | int | bool | None) -> Html:
    """An element with these children and `attributes`."""
    opened = attributes(**values)
    if name in _VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{join(children)}</{name}>")


def join(children: Iterable[Child], between: str = "") -> Html:
    """Children one after the other."""
    return Html(
        text(between).join(
            child if isinstance(child, Html) else text(child) for child in children if child is not None
        )
    )
