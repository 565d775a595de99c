"""Text as Markdown, and back: what would be HTML or a task of its own gets a backslash."""

from __future__ import annotations

import re
from collections.abc import Callable

# Digits are footnotes and references, not boxes.
BOX = r"\[(?P<mark>[^\[\]\d\s]?\ufe0f?|\s)\](?=[ \t]|$)"
_CODE = r"(?<![\\`])(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)"
_TAG = r"(?P<slashes>\\*)<(?=[A-Za-z/!?])"
_ESCAPED_TAG = r"(?<!\\)(?P<slashes>(?:\\\\)*)\\<(?=[A-Za-z/!?])"
# Below an item's first line: what would be a task, or would make a heading or a table of the line above.
_MARKUP = re.compile(rf"([ \t]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+(?=\\*{BOX})|(?=\\*[=|:-][=|:\- \t]*$)))(\\*)")


def split(text: str) -> list[str]:
    """Lines as Markdown counts them: U+2028 and the like are text."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def shown(text: str) -> str:
    """What of a text can stand in a Markdown file: no blanks at the ends of lines, nor empty lines around."""
    text = re.sub("[\x00\ud800-\udfff]", "\ufffd", "\n".join(split(text)))
    return re.sub("[ \t]+$", "", text, flags=re.MULTILINE).strip("\n").lstrip(" \t")


def one_line(text: str) -> str:
    """A text as the Markdown of one line."""
    return escape([shown(text).replace("\n", " ")])[0]


def escape(lines: list[str]) -> list[str]:
    """Lines of text as lines of Markdown: no HTML outside of code, no tasks within the task."""
    first, *rest = _outside_code(_TAG, "\n".join(lines), lambda slashes: slashes * 2 + "\\<").split("\n")
    return [first, *(_MARKUP.sub(lambda match: f"{match[1]}\\{match[3]}", line, count=1) for line in rest)]


def unescape(lines: list[str]) -> str:
    """The text that these lines of Markdown show."""
    first, *rest = lines
    rest = [_MARKUP.sub(lambda match: match[1] + match[3][1:], line, count=1) for line in rest]
    return _outside_code(_ESCAPED_TAG, "\n".join([first, *rest]), lambda slashes: slashes[::2] + "<")


def _outside_code(pattern: str, text: str, change: Callable[[str], str]) -> str:
    """Replace where no code span is. If some backtick has no partner on its line, nothing counts as code."""
    if "`" in re.sub(_CODE, "", text):
        return re.sub(pattern, lambda match: change(match["slashes"]), text)
    return re.sub(f"{_CODE}|{pattern}", lambda m: m[0] if m["ticks"] else change(m["slashes"]), text)
