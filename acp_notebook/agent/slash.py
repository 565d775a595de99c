"""Slash commands: prompts that do not reach the model, because the whole of them is a command."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

from ..errors import ConfigError
from ..plan import DEFAULT_PLAN_ID
from ..protocol.messages import AvailableCommand, ConfigOption
from .adapter import SlashCommandProvider, SlashCommandRequest
from .providers import PATIENCE, Calls

#: A command that was recognised. It ends with what there is to say, or None when the prompt is for the model.
Obey: TypeAlias = Callable[[], Coroutine[Any, Any, str | None]]

#: Category of an option → the command that shows and sets it. Others go by the option's id.
_NAMES = {"mode": "mode", "thought_level": "effort", "model": "model"}

#: A hint, and an answer, name so many values.
NAMED = 20


class SlashCommands:
    """The commands of a session: a mode's id for each mode, one for each option, and the host's own.

    Where two have the same name, the first of them is meant. `options` gives the options as they are now,
    and `set_option` sets one, at once or when an awaitable ends.
    """

    def __init__(
        self,
        options: Callable[[], Iterable[ConfigOption]],
        set_option: Callable[[str, str | bool], object],
    ) -> None:
        self.host: HostCommands | None = None
        self._options = options
        self._set = set_option

    def available(self) -> tuple[AvailableCommand, ...]:
        """All commands, in the order in which they are shown."""
        commands: dict[str, AvailableCommand] = {}
        for command in (*self._own(), *(self.host.commands if self.host is not None else ())):
            commands.setdefault(command.name, command)
        return tuple(commands.values())

    def find(self, prompt: str) -> Obey | None:
        """The command that a prompt is, None for others: a name alone, or with an argument that is valid."""
        match = re.fullmatch(r"/(\S+)(?:\s+(.+))?", prompt.strip(), re.DOTALL)
        if match is None:
            return None
        name, argument = match[1], match[2]
        options = list(self._options())
        if argument is None:
            for option in options:
                if option.category == "mode" and any(value.value == name for value in option.values):
                    return partial(self._obey, option.id, name)
        for option in options:
            if (name == option.id or name == _NAMES.get(option.category)) and _can_be_set(option):
                if argument is None:
                    return partial(self._show, option.id)
                value = _value(option, argument)
                return None if value is None else partial(self._obey, option.id, value)
        return self.host.find(name, argument, prompt) if self.host is not None else None

    def _own(self) -> Iterator[AvailableCommand]:
        options = [option for option in self._options() if _can_be_set(option)]
        for option in options:
            if option.category == "mode":
                for value in option.values:
                    about = value.description or f"Switches to this {option.name.lower()}."
                    yield AvailableCommand(value.value, about)
        for option in options:
            name = _NAMES.get(option.category, option.id)
            if not re.search(r"[\s/]", name):
                yield AvailableCommand(name, f"Shows or sets {option.name}.", "|".join(_few(option)))

    async def _obey(self, option_id: str, value: str | bool) -> str:
        answer = self._set(option_id, value)
        if inspect.isawaitable(answer):
            await answer
        option = self._option(option_id)
        return f"{option.name}: {option.current_name}."

    async def _show(self, option_id: str) -> str:
        option = self._option(option_id)
        return f"{option.name}: {option.current_name}. Choices: {', '.join(_few(option))}."

    def _option(self, option_id: str) -> ConfigOption:
        for option in self._options():
            if option.id == option_id:
                return option
        raise ConfigError(f"there is no option {option_id!r} any more")


def _can_be_set(option: ConfigOption) -> bool:
    return option.type in ("select", "boolean")


def _value(option: ConfigOption, argument: str) -> str | bool | None:
    """The value that an argument stands for, None when the option has none of this name."""
    if option.type == "boolean":
        return {"on": True, "off": False}.get(argument)
    return argument if any(value.value == argument for value in option.values) else None


def _few(option: ConfigOption) -> list[str]:
    if option.type == "boolean":
        return ["on", "off"]
    values = [value.value for value in option.values]
    return values if len(values) <= NAMED else [*values[:NAMED], "…"]


class HostCommands:
    """The commands of a provider, as it said last. `changed` is called when they are others than before."""

    FAILED = "the host's slash commands could not be read, so the last ones stand"

    def __init__(self, provider: SlashCommandProvider, calls: Calls, changed: Callable[[], object]) -> None:
        self.commands: tuple[AvailableCommand, ...] = ()
        self._provider = provider
        self._calls = calls
        self._changed = changed
        self._tasks: set[asyncio.Task[None]] = set()
        self.read()

    def read(self) -> None:
        """Read the commands again: at once, or when the provider has answered. Never raises."""
        with self._calls.guarded(self.FAILED):
            found = self._provider.available_commands(self._calls.context(DEFAULT_PLAN_ID), self._calls.agent)
            if inspect.isawaitable(found):
                task = asyncio.get_running_loop().create_task(self._read(found), name="acp host's commands")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._take(found)

    async def _read(self, reply: Awaitable[Iterable[AvailableCommand]]) -> None:
        with self._calls.guarded(self.FAILED):
            async with asyncio.timeout(PATIENCE):
                found = await reply
            self._take(found)
            self._changed()

    def _take(self, found: Iterable[AvailableCommand]) -> None:
        commands = tuple(found)
        for command in commands:
            if not isinstance(command, AvailableCommand) or not re.fullmatch(r"[^\s/]+", command.name):  # pyright: ignore
                raise ConfigError(f"{command!r} is none: use AvailableCommand(name, description)")
        self.commands = commands
        self._calls.succeeded()

    def find(self, name: str, argument: str | None, prompt: str) -> Obey | None:
        """One of the commands; an argument belongs only to those with a hint of what it is."""
        command = next((command for command in self.commands if command.name == name), None)
        if command is None or (argument is not None and command.hint is None):
            return None
        return partial(self._obey, name, argument, prompt)

    async def _obey(self, name: str, argument: str | None, prompt: str) -> str | None:
        request = SlashCommandRequest(
            name=name,
            argument=argument,
            raw_prompt=prompt,
            session=self._calls.context(DEFAULT_PLAN_ID),
            agent=self._calls.agent,
        )
        result = self._provider.handle_command(request)
        if inspect.isawaitable(result):
            result = await result
        return (result.text or "") if result is not None and result.handled else None
