"""`%acp help`, and the text of `%acp?`: the table of subcommands for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..errors import AcpError
from ..notebook import current
from ..protocol.messages import AvailableCommand
from ..text import plain
from .command import Command, Invocation, alike

_NOTE = (
    "%acp help CMD explains one. TEXT is taken exactly as typed: options come before it, and -- ends them."
)


def help(call: Invocation) -> None:
    """List the subcommands, or explain one."""
    commands = call.magics.commands
    name = " ".join(call.words).removeprefix("%acp ")
    if not name:
        print(overview(commands))
        if (session := current()) is not None and session.commands:
            print("\nPrompts that are not sent to the model, as in %acp ask /mode:\n")
            print("\n".join(_slash_commands(session.commands)))
        return
    found = [command for other, command in commands.items() if other == name or other.startswith(f"{name} ")]
    if not found:
        raise AcpError(f"there is no %acp {name}{alike(name, commands) or ': %acp help lists what there is'}")
    print(explained(found[0]))
    if found[1:]:
        print("\n" + "\n".join(_rows(found[1:])))


def overview(commands: Mapping[str, Command]) -> str:
    """One line a subcommand."""
    return "\n".join(
        ["Talk to an agent, and watch its plan.", "", *_rows(list(commands.values())), "", _NOTE]
    )


def explained(command: Command) -> str:
    """One subcommand with its options."""
    lines = [command.usage, "", command.summary]
    if command.details:
        lines += ["", command.details]
    if command.cell:
        lines += ["", f"%%acp {command.name} takes a cell: {command.cell}."]
    if command.options:
        width = max(len(option.usage) for option in command.options)
        lines += ["", *(f"  {option.usage:{width}}  {option.help}" for option in command.options)]
    return "\n".join(lines)


def _slash_commands(commands: Sequence[AvailableCommand]) -> Iterator[str]:
    names = [plain(f"/{command.name}" + f" [{command.hint}]" * bool(command.hint)) for command in commands]
    width = min(max(map(len, names)), 45)
    for name, command in zip(names, commands, strict=True):
        yield f"  {name:{width}}  {plain(' '.join(command.description.split()))}"


def _rows(commands: list[Command]) -> list[str]:
    names = [" ".join(filter(None, ["%acp", command.name, command.argument])) for command in commands]
    width = max(map(len, names))
    return [f"  {name:{width}}  {command.summary}" for name, command in zip(names, commands, strict=True)]
