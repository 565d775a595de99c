"""The one place where text becomes HTML.

Whatever is not `Html` is escaped, and characters that make text look like other text (direction overrides,
zero-width and control characters, tags, long runs of blanks) are shown as visible escapes, so that what a
person reads is what is there. Hebrew, Arabic, Indic scripts and emoji need some of these characters and keep
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape


class Html(str):
    """Text that is HTML already; only this module and `markdown` make it."""

    __slots__ = ()


#: A child of a tag: `Html` goes in as it is, other text is escaped, None is left out.
Child = str | None

_BLANK = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_HIDDEN = f"{_CONTROLS}{_INVISIBLE}\ud800-\udfff"
#: What may need a visible escape: blanks enough to push text out of sight, many empty lines, characters.
_ODD = re.compile(rf"[{_BLANK}]{{33,}}|\n(?:[{_BLANK}]*\n){{6,}}|[{_HIDDEN}{_JOINERS}{_SELECTORS}]")

# Scripts whose letters take other shapes with a joiner beside them (Unicode core specification, 9–16).
_SHAPED = re.compile(
    "[\u0600-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff]"
)
_EMOJI = re.compile("[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]")
_HAN = re.compile("[\u2e80-\u2fff\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MONGOLIAN = re.compile("[\u1820-\u18aa]")


def _belongs(match: re.Match[str]) -> bool:
    """Whether a joiner or a variation selector stands where writing needs it."""
    char, text = match[0], match.string
    before = text[match.start() - 1] if match.start() else ""
    after = text[match.end()] if match.end() < len(text) else ""
    if char == "\u200c":
        return bool(_SHAPED.match(before) and _SHAPED.match(after))
    if char == "\u200d":
        emoji = before == "\ufe0f" or _EMOJI.match(before)
        return bool((emoji and _EMOJI.match(after)) or (_SHAPED.match(before) and before not in _JOINERS))
    if "\ufe00" <= char <= "\ufe0f":
        return bool(before) and before > " " and not re.match(f"[{_SELECTORS}{_HIDDEN}{_JOINERS}]", before)
    if char >= "\U000e0100":
        return bool(_HAN.match(before))
    return "\u180b" <= char <= "\u180f" and char != "\u180e" and bool(_MONGOLIAN.match(before))


def _name(match: re.Match[str]) -> str | None:
    """What stands visibly for a match, or None where the text stays as it is."""
    found = match[0]
    if found[0] == "\n":
        return f"{found.count(chr(10)) - 1} empty lines"
    if len(found) > 1:
        return f"{len(found)} blanks"
    if re.match(f"[{_JOINERS}{_SELECTORS}]", found) and _belongs(match):
        return None
    return f"U+{ord(found):04X}"


def misleads(value: str) -> bool:
    """Whether `value` holds characters that are shown as visible escapes."""
    return any(_name(match) is not None for match in _ODD.finditer(value.replace("\r\n", "\n")))


def text(value: str) -> Html:
    """`value` as HTML text, misleading characters as visible escapes."""
    value = value.replace("\r\n", "\n")
    if not _ODD.search(value):
        return Html(escape(value))
    made: list[str] = []
    done = 0
    for match in _ODD.finditer(value):
        name = _name(match)
        if name is not None:
            made += escape(value[done : match.start()]), '<span class="acp-esc">', name, "</span>"
            done = match.end()
    made.append(escape(value[done:]))
    return Html("".join(made))


def plain(value: str) -> str:
    """`value` with misleading characters as `[U+202E]`, for places that hold text only."""
    return _ODD.sub(
        lambda match: match[0] if (name := _name(match)) is None else f"[{name}]", value.replace("\r\n", "\n")
    )


#: Attributes that people read or hear; all others hold values that must come back verbatim.
_READ = frozenset({"aria-label", "title", "placeholder", "alt"})
# Not the C1 controls: HTML reads references to them as Windows-1252.
_REFERENCE = re.compile(f"[\x01-\x08\x0a-\x1f\x7f{_INVISIBLE}{_JOINERS}]")


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


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element: `class_` is `class`, `data_index` `data-index`; True is bare, None and False left out."""
    opened = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
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
