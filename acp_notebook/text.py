"""Text as a person should read it: characters that make it look like other text become visible.

Direction overrides, zero-width and control characters, tags and long runs of blanks can make one command look
like another. Hebrew, Arabic, Indic scripts and emoji need some of these characters, and keep them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANK = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
JOINERS = "\u200c\u200d"
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_HIDDEN = f"{_CONTROLS}{INVISIBLE}\ud800-\udfff"
#: What may need a visible escape: blanks enough to push text out of sight, many empty lines, characters.
_ODD = re.compile(rf"[{_BLANK}]{{33,}}|\n(?:[{_BLANK}]*\n){{6,}}|[{_HIDDEN}{JOINERS}{_SELECTORS}]")

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
        return bool((emoji and _EMOJI.match(after)) or (_SHAPED.match(before) and before not in JOINERS))
    if "\ufe00" <= char <= "\ufe0f":
        return bool(before) and before > " " and not re.match(f"[{_SELECTORS}{_HIDDEN}{JOINERS}]", before)
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
    if re.match(f"[{JOINERS}{_SELECTORS}]", found) and _belongs(match):
        return None
    return f"U+{ord(found):04X}"


def pieces(value: str) -> Iterator[tuple[str, str | None]]:
    """`value` in pieces: text as it is with None, and what misleads with its visible name (`U+202E`)."""
    value = value.replace("\r\n", "\n")
    done = 0
    for match in _ODD.finditer(value):
        if (name := _name(match)) is not None:
            if match.start() > done:
                yield value[done : match.start()], None
            yield match[0], name
            done = match.end()
    if done < len(value):
        yield value[done:], None


def plain(value: str) -> str:
    """`value` with what misleads as `[U+202E]`."""
    return "".join(piece if name is None else f"[{name}]" for piece, name in pieces(value))


def plain_line(value: str) -> str:
    """`value` as `plain` has it, on one line: a name with a line break must not look like another row."""
    return plain(value).replace("\n", " ")


def misleads(value: str) -> bool:
    """Whether `value` holds anything that is made visible."""
    return any(name is not None for _, name in pieces(value))
