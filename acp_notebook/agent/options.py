"""The host application's own options among a session's settings."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from itertools import count
from typing import Any, cast

from ..errors import AcpError, ConfigError
from ..plan import DEFAULT_PLAN_ID
from ..protocol.messages import ConfigOption, Fault
from ..protocol.options import read_options
from ..protocol.plans import Remarks
from .adapter import ConfigOptionsProvider
from .config import choice
from .providers import PATIENCE, Calls
from .values import described, explain


class HostOptions:
    """The options of a provider, as it said last.

    `taken` are ids that the session has options of its own for, `tell` is told what is wrong in those of the
    provider, and `changed` is called when an answer that took its time has changed them.
    """

    FAILED = "the host's options could not be read, so the last ones stand"

    def __init__(
        self,
        provider: ConfigOptionsProvider,
        calls: Calls,
        taken: Collection[str],
        tell: Callable[[Fault], object],
        changed: Callable[[], object],
    ) -> None:
        self.options: tuple[ConfigOption, ...] = ()
        self._provider = provider
        self._calls = calls
        self._taken = taken
        self._tell = tell
        self._changed = changed
        self._faults: list[Fault] = []
        self._numbers = count(1)
        self._newest = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.read()

    def read(self) -> None:
        """Read the options again: at once, or when the provider has answered. Never raises."""
        if (reading := self._read(next(self._numbers))) is not None:
            task = asyncio.get_running_loop().create_task(reading, name="acp host's options")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _read(self, number: int) -> Coroutine[Any, Any, None] | None:
        with self._calls.guarded(self.FAILED):
            found = self._provider.get_config_options(*self._arguments())
            if inspect.isawaitable(found):
                return self._read_later(found, number)
            self._take(found, number)
        return None

    async def _read_later(self, reply: Awaitable[Any], number: int) -> None:
        with self._calls.guarded(self.FAILED):
            async with asyncio.timeout(PATIENCE):
                found = await reply
            self._take(found, number)
            self._changed()

    def set(self, option: ConfigOption, value: str | bool) -> Awaitable[None] | None:
        """Ask the provider for a value. What is in effect then is what it answers.

        Raises `ConfigError`, as does the awaitable of a provider that takes its time.
        """
        if option.type == "select":
            choice(option, value)
        elif option.type != "boolean":
            raise ConfigError(f"option {option.id!r} is of type {option.type!r}, which can only be shown")
        elif not isinstance(value, bool):
            raise ConfigError(f"option {option.id!r} is either on or off, and {value!r} is neither")
        number = next(self._numbers)
        try:
            reply = self._provider.set_config_option(*self._arguments(), option.id, value)
        except Exception as error:
            raise _refused(option, value, error) from error
        if inspect.isawaitable(reply):
            return self._set_later(option, value, reply, number)
        return self._answered(reply, number)

    async def _set_later(
        self, option: ConfigOption, value: str | bool, reply: Awaitable[Any], number: int
    ) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                found = await reply
        except Exception as error:
            raise _refused(option, value, error) from error
        if (reading := self._answered(found, number)) is not None:
            await reading

    def _answered(self, found: Any, number: int) -> Coroutine[Any, Any, None] | None:
        if found is None:  # it does not say, so it is asked
            return self._read(number)
        with self._calls.guarded(self.FAILED):
            self._take(found, number)
        return None

    def _take(self, found: Any, number: int) -> None:
        if number < self._newest:  # a later question was answered before
            return
        remarks = Remarks("the host's options")
        options: list[ConfigOption] = []
        for option in read_options(_plain(found), remarks):
            if option.id in self._taken:
                remarks.add("option skipped", f"the session has its own {option.id!r}")
            else:
                options.append(option)
        self.options, self._newest = tuple(options), number
        faults = list(remarks.faults())
        if faults != self._faults:
            self._faults = faults
            for fault in faults:
                self._tell(fault)
        self._calls.succeeded()

    def _arguments(self) -> tuple[Any, Any]:
        return self._calls.context(DEFAULT_PLAN_ID), self._calls.agent


def _plain(found: Any) -> list[Any]:
    """What a provider returned, as ACP has it: options of ours, mappings, or objects of ACP's Python SDK."""
    if found is None:
        return []
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Collection):
        raise ConfigError(f"{described(found)} is not a list of options")
    options: list[Any] = list(cast("Collection[Any]", found))
    return [o.model_dump(mode="json", by_alias=True) if hasattr(o, "model_dump") else o for o in options]


def _refused(option: ConfigOption, value: str | bool, error: Exception) -> ConfigError:
    """The refusal of a value, in a line, with the reason that a JSON-RPC error has in its `data`."""
    why = str(error) if isinstance(error, AcpError) else explain(error)
    data: Any = getattr(error, "data", None)
    reason: Any = cast("Mapping[str, Any]", data).get("reason", data) if isinstance(data, Mapping) else data
    more = f" ({reason})" if reason and str(reason) not in why else ""
    return ConfigError(f"{option.name}: {value!r} was refused: {why}{more}")
