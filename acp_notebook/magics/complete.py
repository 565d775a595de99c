"""Tab after `%acp`, from the table of subcommands."""

# IPython's decorators are only partly typed:
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from .command import Command, Place
from .suggest import names_after
from .table import COMMANDS

_MAGIC = re.compile(r"\s*(?:(?P<cell>%%acp)|(?:[^%=#]+=\s*)?%acp)\s+(?P<line>.*)")


def matcher(shell: Any) -> Any:
    """An entry for `shell.Completer.custom_matchers` (API v2)."""

    def acp_matcher(context: CompletionContext) -> Any:
        found = _MAGIC.fullmatch(context.text_until_cursor)
        if found is None or (found["cell"] and context.cursor_line > 0):
            return {"completions": []}
        line = found["line"]
        if found["cell"] and line.startswith("-"):
            line = f"ask {line}"
        hidden = set(shell.user_ns_hidden)
        variables = {name: value for name, value in shell.user_ns.items() if name not in hidden}
        fragment, words = suggestions(line, variables)
        return {
            "completions": [SimpleCompletion(word, type="acp") for word in words],
            "matched_fragment": fragment,
            "suppress": True,  # Jedi and the others know nothing of this line
            "ordered": True,
        }

    mark: Any = context_matcher
    return mark(identifier="acp_notebook", priority=1000)(acp_matcher)


def suggestions(line: str, variables: Mapping[str, Any]) -> tuple[str, list[str]]:
    """How `%acp` and `line` could go on: the fragment that is being typed, and what it could become."""
    typed, fragment = line[: len(line) - len(line.split(" ")[-1])], line.split(" ")[-1]
    place = Place(tuple(typed.split()), fragment, variables)
    return fragment, list(dict.fromkeys(word for word in _candidates(place) if word.startswith(fragment)))


def _candidates(place: Place) -> Iterator[str]:
    command, words = _command(place.words)
    if not words:
        yield from names_after(COMMANDS, place.words)
    if command is not None:
        yield from _of(command, Place(words, place.fragment, place.variables))


def _command(words: tuple[str, ...]) -> tuple[Command | None, tuple[str, ...]]:
    """The subcommand that is typed in full, if any, and the words after it."""
    for count in range(min(len(words), 2), 0, -1):
        if command := COMMANDS.get(" ".join(words[:count])):
            return command, words[count:]
    return None, words


def _of(command: Command, place: Place) -> Iterator[str]:
    named = {option.name: option for option in command.options}
    arguments: list[str] = []
    words = iter(place.words)
    for word in words:
        option = named.get(word.removeprefix("--")) if word.startswith("--") else None
        if option is None:
            arguments.append(word)
        elif option.value and next(words, None) is None:  # its value is being typed
            yield from option.complete(place) if option.complete else ()
            return
    if command.complete and not place.fragment.startswith("-"):
        yield from command.complete(Place(tuple(arguments), place.fragment, place.variables))
    if command.takes_text and arguments and not command.options_last:
        return  # options are read only before a text
    used = {word.removeprefix("--") for word in place.words}
    yield from (f"--{name}" for name in named if name not in used)
