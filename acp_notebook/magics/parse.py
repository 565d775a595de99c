"""What follows `%acp`, taken apart: a subcommand, its options, and text exactly as it was typed.

Nothing here is shell-like: in a text, quotes, backslashes and `#` stand for themselves, on every system.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import AcpError
from .command import Command, Option, alike

_OPTION = re.compile(r"--([A-Za-z][\w-]*)(=|\s+|$)")
_END = re.compile(r"--(?:\s+|$)")
_WORD = re.compile(r"\S+")
#: A remark behind a subcommand that takes no free text, as people write them after code.
_COMMENT = re.compile(r"#(?=\s|$)")
_NAME = re.compile(r"""\"[^"]*"|'[^']*'|[^\s,]+""")
_LISTED = re.compile(rf"(?:{_NAME.pattern})(?:,(?:{_NAME.pattern}))*")
_QUOTED = re.compile(r"""(["'])(.*?)\1(?=\s|$)\s*""", re.DOTALL)


def find_command(line: str, commands: Mapping[str, Command]) -> tuple[Command, str]:
    """The subcommand that a line begins with, and what follows it. Raises `AcpError` when there is none."""
    first, rest = _split(line)
    second, after = _split(rest)
    if second and f"{first} {second}" in commands:
        return commands[f"{first} {second}"], after
    within = [name.partition(" ")[2] for name in commands if name.startswith(f"{first} ")]
    if within and second and not second.startswith("-"):
        hint = alike(second, within) or f": use {', '.join(within)}"
        raise AcpError(f"there is no %acp {first} {second}{hint}")
    if first not in commands:
        hint = alike(first, commands) or ": %acp help lists what there is"
        prompt = f"; to send a prompt: %acp ask {first} …" if rest else ""
        raise AcpError(f"there is no %acp {first}{hint}{prompt}")
    return commands[first], rest


def _split(text: str) -> tuple[str, str]:
    """The first word, and what follows it."""
    first, rest = [*text.split(None, 1), "", ""][:2]
    return first, rest.strip()


def parse(command: Command, line: str, *, in_cell: bool = False) -> tuple[dict[str, Any], str]:
    """Options by name (flags are True) and the text that is left, trimmed.

    `in_cell`: the line is the first of a cell magic, so names need no end. Raises `AcpError` in one line.
    """
    return _Line(command, line.strip(), in_cell).parse()


class _Line:
    """Reads one line from left to right."""

    def __init__(self, command: Command, line: str, in_cell: bool) -> None:
        self.command = command
        self.rest = line
        self.in_cell = in_cell
        self.values: dict[str, Any] = {}
        self.words: list[str] = []

    def parse(self) -> tuple[dict[str, Any], str]:
        free = self.command.takes_text
        while self.rest:
            if end := _END.match(self.rest):
                return self.values, " ".join([*self.words, self.rest[end.end() :]]).strip()
            if option := self._option():
                self._read(option)
            elif free or _COMMENT.match(self.rest):
                break
            else:
                self._skip_word()
        if not free:
            return self.values, unquoted(" ".join(self.words))
        if self.command.options_last:
            self._read_from_the_end()
        return self.values, self.rest.strip()

    def _option(self) -> Option | None:
        """Step over the name of an option, when one comes next."""
        match = _OPTION.match(self.rest)
        if match is None:
            return None
        option = next((option for option in self.command.options if option.name == match[1]), None)
        if option is None:
            known = ", ".join(f"--{option.name}" for option in self.command.options) or "no options"
            hint = "; put -- before a text that begins so" if self.command.takes_text else ""
            raise AcpError(f"--{match[1]} is not an option here: this takes {known}{hint}")
        if option.value is None and match[2] == "=":
            raise AcpError(f"--{option.name} takes no value")
        self.rest = self.rest[match.end() :]
        return option

    def _read(self, option: Option) -> None:
        match option.value:
            case None:
                self.values[option.name] = True
                return
            case "TEXT":
                value = self._text()
            case "JSON":
                value = self._json(option)
            case "NAME…":
                value = [*self.values.get(option.name, ()), *self._names()]
            case _:
                value = self._word()
        if value in ("", []):
            raise AcpError(f"--{option.name} needs a value: --{option.name} {option.value}")
        self.values[option.name] = value

    def _word(self) -> str:
        match = _QUOTED.match(self.rest) or _WORD.match(self.rest)
        if match is None or _next_option(self.rest, self.command.options) == 0:
            return ""
        self.rest = self.rest[match.end() :].lstrip()
        return match[2] if match.re is _QUOTED else match[0]

    def _skip_word(self) -> None:
        word = _WORD.match(self.rest)
        assert word is not None
        self.words.append(word[0])
        self.rest = self.rest[word.end() :].lstrip()

    def _text(self) -> str:
        """Up to the next option. Quotes around the whole of it are taken off."""
        quoted = _QUOTED.match(self.rest)
        if quoted:
            after = self.rest[quoted.end() :]
            if not after or not self.words or _next_option(after, self.command.options) == 0:
                self.rest = after
                return quoted[2]
        end = _next_option(self.rest, self.command.options)
        value, self.rest = self.rest[:end], self.rest[end:]
        return value.strip()

    def _json(self, option: Option) -> Any:
        quote = "'" if self.rest.startswith("'") else ""
        try:
            value, end = json.JSONDecoder().raw_decode(self.rest, len(quote))
        except json.JSONDecodeError as error:
            raise AcpError(
                f"--{option.name} {self.rest} is not JSON: {error.msg} at character {error.pos + 1}"
            ) from None
        self.rest = self.rest[end:].removeprefix(quote).lstrip()
        return value

    def _names(self) -> list[str]:
        """`a,b`; or several words where it is plain that they are names: up to `--`, or above a cell."""
        end = _next_option(self.rest, self.command.options)
        terminator = re.search(r"(?:^|\s)--(?=\s|$)", self.rest[:end])
        if terminator:
            listed, self.rest = self.rest[: terminator.start()], self.rest[terminator.start() :].lstrip()
        elif self.in_cell:
            listed, self.rest = self.rest[:end], self.rest[end:]
        else:
            found = _LISTED.match(self.rest)
            listed = found[0] if found else ""
            self.rest = self.rest[len(listed) :].lstrip()
        return [name.strip("\"'") for name in _NAME.findall(listed)]

    def _read_from_the_end(self) -> None:
        """Options after the text, as `plan add` has them: each at the end, a value is one word."""
        valued = "|".join(option.name for option in self.command.options if option.value)
        flags = "|".join(option.name for option in self.command.options if not option.value) or "(?!)"
        last = re.compile(rf"(?:^|\s)--(?:({valued})(?:=|\s+)(\S+)|({flags}))\s*$")
        while match := last.search(self.rest):
            self.values[match[1] or match[3]] = match[2] or True
            self.rest = self.rest[: match.start()]


def _next_option(text: str, options: Sequence[Option]) -> int:
    """Where the next of these options begins; the text's length when there is none."""
    if not options:
        return len(text)
    names = "|".join(option.name for option in options)
    match = re.search(rf"(?:(?<=\s)|^)--(?:{names})(?=\s|=|$)", text)
    return match.start() if match else len(text)


def unquoted(text: str) -> str:
    """A text without the quotes around the whole of it."""
    quoted = _QUOTED.match(text)
    return quoted[2] if quoted and quoted.end() == len(text) else text
