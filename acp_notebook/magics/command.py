"""What a subcommand is: a row of the table, and what its function is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import AcpError

if TYPE_CHECKING:
    from .magic import AcpMagics


@dataclass(frozen=True, slots=True)
class Place:
    """Where Tab was pressed: `words` are typed in full, `fragment` is the beginning of the next one."""

    words: tuple[str, ...]
    fragment: str
    variables: Mapping[str, Any]


#: What could be typed at a place; what does not begin with the fragment is left out later.
Completer = Callable[[Place], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Option:
    """`--name` and its value. What the value is called says how far it goes.

    None is a flag without a value; `TEXT` goes on to the next option; `JSON` is one JSON value; `NAME…` is
    several names; anything else is one word.
    """

    name: str
    help: str
    value: str | None = None
    complete: Completer | None = None

    @property
    def usage(self) -> str:
        return f"--{self.name} {self.value}" if self.value else f"--{self.name}"


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand. Its help is the docstring of `run`.

    `argument` is what follows the name, as the help shows it; `TEXT` is taken exactly as typed, so options
    are read only before it (`options_last`: also after it). `run_async` is what a subcommand that waits has
    beside `run`, to be awaited. `cell` says what a cell's body is, where one is taken.
    """

    name: str
    run: Callable[[Invocation], Any]
    argument: str = ""
    options: tuple[Option, ...] = ()
    complete: Completer | None = None
    run_async: Callable[[Invocation], Coroutine[Any, Any, Any]] | None = None
    cell: str | None = None
    options_last: bool = False

    @property
    def takes_text(self) -> bool:
        return self.argument == "TEXT"

    @property
    def usage(self) -> str:
        parts = [self.argument, *(f"[{option.usage}]" for option in self.options)]
        if self.takes_text:
            parts = [*parts[1:], parts[0]]
        return " ".join(filter(None, ["%acp", self.name, *parts]))

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.run) or "").partition("\n")[0]

    @property
    def details(self) -> str:
        return (inspect.getdoc(self.run) or "").partition("\n")[2].strip()


@dataclass(frozen=True, slots=True)
class Invocation:
    """A subcommand as it was typed.

    `text` is what is left besides the options, trimmed; `cell` the cell's body, or None for a line magic;
    `variables` are those that the line can see.
    """

    command: Command
    magics: AcpMagics
    text: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cell: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def words(self) -> list[str]:
        return self.text.split()

    def numbers(self, at_least: int = 1, at_most: int | None = None) -> list[int]:
        """The argument as numbers, separated by blanks or commas. Raises `AcpError` for too few or many."""
        words = self.text.replace(",", " ").split()
        if len(words) < at_least or (at_most is not None and len(words) > at_most):
            raise AcpError(f"this is used as {self.command.usage}")
        return [whole_number(word) for word in words]

    def variable(self, name: str) -> Any:
        """The value of a variable. Raises `AcpError` when there is none, naming those spelt alike."""
        try:
            return self.variables[name]
        except KeyError:
            raise AcpError(f"there is no variable {name!r}{alike(name, self.variables)}") from None


def whole_number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise AcpError(f"{word!r} is not a number") from None


def alike(name: str, known: Iterable[str]) -> str:
    """`: did you mean …?` when something known is spelt much like `name`, else nothing."""
    from difflib import get_close_matches  # takes longer to import than it is worth where nothing goes wrong

    close = get_close_matches(name, [other for other in known if not other.startswith("_")], n=3)
    return f": did you mean {' or '.join(close)}?" if close else ""
