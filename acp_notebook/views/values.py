"""Arguments, results and other values as people read them: secrets masked, long ones folded and counted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from ..masking import masked
from ..protocol.messages import Usage
from ..text import plain
from .html import Html, tag, text

#: Longest text shown unfolded, in characters and lines.
SHORT = 600
SHORT_LINES = 12
#: Longest text that is sent to the page whole.
WHOLE = 60_000


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON for reading; what JSON cannot hold is shown by its `repr`, or named where it cannot be shown."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=repr)
    except Exception as error:  # keys that are no text, numbers of thousands of digits, a `repr` that raises
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def editable_json(value: Any) -> str:
    """JSON for a text field: what misleads is written as escapes in its strings and comes back as it was."""

    def escaped(match: re.Match[str]) -> str:
        return json.dumps(match[0])[1:-1].replace(" ", "\\u0020")

    return _STRING.sub(lambda string: _MISLEADING.sub(escaped, string[0]), as_json(value, 2))


_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
#: All but the characters that look like what they are, and runs of blanks that push text out of sight.
_MISLEADING = re.compile(
    r" {33,}|[^\x20-\x7e\n\u00a1-\u00ac\u00ae-\u02ff\u0370-\u05ff\u0620-\u1fff\u2010-\u2027\u2030-\u205e"
    r"\u2070-\u27ff\u2801-\u2bff\u3001-\u9fff\uac00-\ud7a3]"
)


def signature(name: str, arguments: Any, limit: int = 120) -> str:
    """`name(a=1, b="x")` in one line of at most about `limit` characters."""
    arguments = masked(arguments)
    if isinstance(arguments, dict):
        pairs = cast("dict[str, Any]", arguments).items()
        inside = ", ".join(f"{key}={as_json(value)}" for key, value in pairs)
    else:
        inside = "" if arguments is None else as_json(arguments)
    room = max(20, limit - len(name))
    return f"{name}({inside if len(inside) <= room else inside[: room - 1] + '…'})"


def count(number: int, what: str, many: str | None = None) -> str:
    """`1 line`, `1,204 tokens`."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def size(value: str) -> str:
    """How long a text is, exactly."""
    lines = value.count("\n") + 1
    return count(len(value), "character") + (f", {count(lines, 'line')}" if lines > 1 else "")


def shortened(value: str, whole: int = WHOLE) -> Html:
    """A text, its middle left out (and counted) where it is longer than `whole` characters."""
    if len(value) <= whole:
        return text(value)
    head, tail = value[: whole * 3 // 4], value[len(value) - whole // 4 :]
    left_out = value[len(head) : len(value) - len(tail)]
    return Html(text(head) + tag("span", f"… {size(left_out)} not shown …", class_="acp-cut") + text(tail))


def block(value: str, label: str, whole: int = WHOLE) -> Html:
    """A text as written, folded when it is long; the fold says how long it is."""
    body = tag("pre", shortened(value, whole), dir="auto")
    if len(value) <= SHORT and value.count("\n") < SHORT_LINES:
        return body
    first = plain(value.lstrip()[:80].split("\n")[0])
    return tag(
        "details",
        tag(
            "summary",
            tag("span", label, class_="acp-quiet"),
            " ",
            tag("code", first + "…"),
            " ",
            tag("span", size(value), class_="acp-quiet"),
        ),
        body,
        class_="acp-fold",
    )


def shown(value: Any, label: str, whole: int = WHOLE) -> Html:
    """A value: texts as they are, anything else as JSON."""
    if isinstance(value, str):
        return block(value, label, whole)
    flat = as_json(value)
    return block(flat if len(flat) <= 100 else as_json(value, 2), label, whole)


def arguments_list(arguments: Mapping[str, Any]) -> Html:
    """All arguments of a call by name, in full; secrets masked."""
    rows: list[Html] = []
    whole = WHOLE // max(1, len(arguments))
    for name, value in cast("dict[str, Any]", masked(arguments)).items():
        flat = as_json(value)
        one_line = len(flat) <= 200 and not (isinstance(value, str) and "\n" in value)
        rows.append(tag("dt", tag("bdi", name)))
        rows.append(tag("dd", tag("bdi", flat) if one_line else shown(value, name, whole)))
    return tag("dl", *rows, class_="acp-args") if rows else tag("p", "no arguments", class_="acp-quiet")


def spent(usage: Usage) -> list[str]:
    """What model calls took, as far as it is known: `1,204 tokens`, `$0.012`."""
    facts = [count(usage.total_tokens, "token")] if usage.total_tokens else []
    if usage.cost is not None:
        facts.append(f"{'at least ' if usage.unpriced else ''}{dollars(usage.cost)}")
    return facts


def dollars(amount: Decimal) -> str:
    """`$0.000012`, `$0.35`, `$12.40`: cents, and for less than that two digits."""
    places = max(2, 1 - amount.adjusted()) if amount else 2
    return f"${amount:,.{places}f}"


def seconds(value: float) -> str:
    """`31 ms`, `4.2 s`, `2 min 5 s`."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 60 else f"{value // 60:.0f} min {value % 60:.0f} s"
