"""Lines of a text that change, go or come, while all others stay as they are, with their line breaks."""

from __future__ import annotations

import re
from collections import defaultdict

_BREAK = re.compile(r"(\r\n|\n|\r)")


class Lines:
    """A text by lines, and what shall become of them, by their numbers (from 0)."""

    def __init__(self, text: str) -> None:
        pieces = _BREAK.split(text)
        self.lines = pieces[::2]
        self.breaks = [*pieces[1::2], ""]
        self.replaced: dict[int, list[str]] = {}
        self.gone: set[int] = set()
        self.before: defaultdict[int, list[str]] = defaultdict(list)
        self.after: defaultdict[int, list[str]] = defaultdict(list)

    def now(self, number: int) -> list[str]:
        """What will stand in the place of a line."""
        return self.replaced.get(number, [self.lines[number]])

    def changed(self) -> str:
        """The text as it shall be. Where lines have gone, the blank lines around them do not add up."""
        written: list[tuple[str, str]] = []
        gap = False
        for number, line in enumerate(self.lines):
            written += [(new, "") for new in self.before[number]]
            if number in self.gone:
                gap = True
            else:
                if gap and not line.strip():
                    if not written and number < len(self.lines) - 1:
                        continue
                    _drop_blank(written)
                gap = False
                written += [(new, self.breaks[number]) for new in self.now(number)]
            if new := self.after[number]:
                if gap and not new[0]:
                    _drop_blank(written)
                gap = False
                written += [(line, "") for line in new]
        if gap:
            _drop_blank(written)
        usual = next(filter(None, self.breaks), "\n")
        lines = [line + (end or usual) for line, end in written[:-1]]
        return "".join([*lines, *(line for line, _ in written[-1:])])


def _drop_blank(written: list[tuple[str, str]]) -> None:
    while written and not written[-1][0].strip():
        written.pop()
