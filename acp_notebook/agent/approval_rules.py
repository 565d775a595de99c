"""Which calls a rule covers. In doubt an allowing rule covers nothing, and a denying one covers the call."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast
from unicodedata import normalize

from ..masking import masked
from ..protocol.rules import EXACT, Covers, Rule, canonical, exactly

#: Arguments that a shell runs, whatever the rule says of them.
COMMANDS = frozenset({"command", "cmd", "script", "bash"})
_PATHS = frozenset({"path", "file_path", "filename", "file", "folder", "directory"})
#: Paths that tools do not all read alike: a home folder, variables, escapes, blanks at an end, addresses.
_DOUBTFUL = re.compile(r"^[~\s]|\s$|[$%\x00-\x1f\x7f]|^[A-Za-z][\w+.-]+:" + (r"|\\" if os.sep == "/" else ""))
#: What makes more of a text than its pattern shows: folders above, line ends and other controls.
_MORE = re.compile(r"(?:^|[/\\])\.\.(?:$|[/\\])|[\x00-\x1f\x7f\x85\u2028\u2029]")

#: What makes more of a command than one plain command: separators, substitutions, redirections, groups, line
#: ends, and the other characters that some shell takes for one of these.
_SHELL = re.compile(r"[;|&`$<>(){}\\^%!\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
#: Commands that run what stands behind them: their first words say nothing.
_RUNNERS = frozenset(
    {"bash", "sh", "zsh", "dash", "ksh", "fish", "busybox", "env", "sudo", "doas", "su", "xargs", "parallel"}
    | {"exec", "eval", "command", "builtin", "nohup", "setsid", "time", "timeout", "nice", "ionice"}
    | {"stdbuf", "watch", "strace", "chroot", "ssh", "find"}
)
_ATOMS = frozenset({str, int, float, bool, type(None)})


def covering(rules: Iterable[Rule], tool: str, arguments: Mapping[str, Any], folder: Path) -> Rule | None:
    """The rule that answers a call, the first of those that deny before those that allow."""
    found = [rule for rule in rules if rule.tool == tool and covers(rule, arguments, folder)]
    return next((rule for rule in found if rule.decision == "deny"), found[0] if found else None)


def covers(rule: Rule, arguments: Mapping[str, Any], folder: Path) -> bool:
    """Whether a rule is about a call of its tool with `arguments`, as the model has written them."""
    what, deny = rule.covers, rule.decision == "deny"
    match what.kind:
        case "tool":
            return True
        case "exact":
            return what.value == _digest(arguments)
        case _:
            if what.argument not in arguments:
                return False
            value = arguments[what.argument]
    if what.kind == "equals":
        return _json(value) == what.value
    if not isinstance(value, str):
        return False
    if what.kind == "under":
        return _is_under(value, what.value, folder, deny)
    if what.kind == "command":
        words = what.value.split()
        if deny:
            return any(_begins(part, words) for part in _parts(value))
        return bool(words) and is_plain(value) and _words(value)[: len(words)] == words
    if deny:
        return any(fnmatchcase(text, what.value) for text in (value, os.path.normpath(value)))
    unsafe = _SHELL if what.argument in COMMANDS else _MORE
    return unsafe.search(value) is None and fnmatchcase(value, what.value)


def offered(arguments: Mapping[str, Any], folder: Path) -> Iterator[Covers]:
    """What a remembered answer to a call may cover: exactly the call, then what is wider."""
    yield EXACT
    secret = {name for name, value in arguments.items() if masked({name: value}) != {name: value}}
    for name, value in arguments.items():
        if name in secret or not isinstance(value, str) or len(value) > 200:
            continue
        if name in COMMANDS:
            if words := _first_words(value):
                yield Covers("command", name, words)
            continue
        if name in _PATHS and (parent := _parent(value, folder)) is not None:
            yield Covers("under", name, parent)
        yield Covers("equals", name, canonical(value))
    yield Covers("tool")


def is_json(value: Any) -> bool:
    """Whether a value is JSON as it is. Other objects can look the same in JSON and be different."""
    if type(value) is list:
        return all(map(is_json, cast("list[Any]", value)))
    if type(value) is dict:
        items = cast("dict[Any, Any]", value).items()
        return all(type(name) is str and is_json(item) for name, item in items)
    return type(value) in _ATOMS


def _digest(arguments: Mapping[str, Any]) -> str | None:
    try:
        return exactly(arguments).value
    except (TypeError, ValueError, RecursionError):
        return None


def _json(value: Any) -> str | None:
    try:
        return canonical(value)
    except (TypeError, ValueError, RecursionError):
        return None


# -- paths -----------------------------------------------------------------------------------------------


def _is_under(path: str, top: str, folder: Path, deny: bool) -> bool:
    """Whether a path is in the folder `top`, links and `..` followed.

    Both are relative to `folder`. A tool may take a path from where the process is now instead, so that has
    to lead there too.
    """
    try:
        root = os.path.realpath(os.path.join(folder, top))
        if _DOUBTFUL.search(path):
            return deny
        named = [os.path.join(base, path) for base in (folder, os.getcwd())]
        places = [os.path.realpath(place) for place in named]
        if deny:
            denied = [*places, *map(os.path.normpath, named)]
            return any(Path(_folded(place)).is_relative_to(_folded(root)) for place in denied)
        return all(Path(place).is_relative_to(root) for place in places)
    except (OSError, ValueError):
        return deny


def _folded(path: str) -> str:
    """The same for names that some file system takes for the same."""
    return normalize("NFKC", path).casefold()


def _parent(path: str, folder: Path) -> str | None:
    """The folder of a path inside `folder`, relative to it; None for one that is elsewhere."""
    try:
        root = Path(os.path.realpath(folder))
        parent = Path(os.path.realpath(root / path)).parent
        return parent.relative_to(root).as_posix() + "/" if not _DOUBTFUL.search(path) else None
    except (OSError, ValueError):
        return None


# -- commands --------------------------------------------------------------------------------------------


def is_plain(command: str) -> bool:
    """Whether a text is one plain command, and nothing that a shell would make more of."""
    return bool(command.strip()) and _SHELL.search(command) is None


def _parts(command: str) -> Iterator[str]:
    """What a shell could take for commands in a text: all of it, and whatever stands after a separator."""
    yield command
    yield from _SHELL.split(command)


def _begins(command: str, words: Sequence[str]) -> bool:
    """The same for any text, however the command is named, and anywhere behind one that runs another one."""
    found = _words(command)
    while found and "=" in found[0]:
        del found[0]
    if found and _name(found[0]) in _RUNNERS:
        inner = [word for part in found[1:] for word in _words(part)]
        return any(_same(inner[at:], words) for at in range(len(inner))) or _same(found, words)
    return _same(found, words)


def _same(found: Sequence[str], words: Sequence[str]) -> bool:
    return bool(words and found) and [_name(found[0]), *found[1 : len(words)]] == [
        _name(words[0]),
        *words[1:],
    ]


def _name(command: str) -> str:
    return os.path.basename(command).casefold()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that is not closed
        return command.split()


def _first_words(command: str) -> str | None:
    """The command and its subcommand, where the command is plain and does not just run another one."""
    found = _words(command)
    if not found or _name(found[0]) in _RUNNERS or "=" in found[0] or len(found[0].split()) != 1:
        return None
    if not is_plain(command):
        return None
    second = found[1:2] if found[1:] and re.fullmatch(r"[a-z][a-z-]*", found[1]) else []
    return " ".join([*found[:1], *second])
