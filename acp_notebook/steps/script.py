"""A run as Python: a statement for each step, which calls the tools with no agent and no plan.

References are plain expressions, a `for_each` is a comprehension, a `when` an `if`. What a person was asked
about is asked about again. Secrets are read from the environment, or typed; they are never in the script.
Values are passed as they are, while a plan gives each step copies of its own.
"""

from __future__ import annotations

import builtins
import json
import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..masking import MASK
from .paths import NoSuchPath, field_names, follow, index_of
from .plan import ITEM
from .references import LITERALLY, REFERENCE

_COMPARISONS = {"equals": "==", "not_equals": "!=", "greater_than": ">", "less_than": "<", "one_of": "in"}
_ALLOWED = '''\
def allowed(tool, **arguments):
    """Ask a person before a call; a no ends the script."""
    given = ", ".join(f"{name}={value!r:.200}" for name, value in arguments.items())
    if input(f"Run {tool}({given})? [y/N] ").strip().lower() not in ("y", "yes"):
        raise SystemExit(f"{tool} was not allowed")
    return True
'''
_SECRET = '''\
def secret(name):
    """A secret, from the environment or typed."""
    return os.environ.get(name) or getpass(f"{name}: ")
'''
_CONTEXT = "ctx = SimpleNamespace(deps=None)  # some tools take a RunContext: put in what they use of it\n"
#: Names that code gives to something in its module.
_BOUND = re.compile(r"^(?:async )?def (\w+)|^(\w+) =|import (\w+)|as (\w+)", re.MULTILINE)
#: What a script calls its own things.
_OWN = frozenset({"allowed", "secret", "os", "getpass", "asyncio", "main", "ctx", "SimpleNamespace", "item"})


@dataclass(frozen=True, slots=True)
class Script:
    """The code of a run: what comes first, and a statement for each step."""

    setup: str
    statements: tuple[str, ...]
    is_async: bool

    def text(self, title: str) -> str:
        """The script as a file."""
        body = "\n\n".join(self.statements)
        first, _, rest = self.setup.partition("\n")
        more = ["import asyncio"] if self.is_async else []
        head = "\n".join([json.dumps(title, ensure_ascii=False), first, "", *more, rest.lstrip("\n")])
        if self.is_async:  # inside a function the names are local, which changes nothing for the statements
            body = f"async def main():\n{textwrap.indent(body, '    ')}\n\n\nasyncio.run(main())"
        return f"{head.rstrip()}\n\n\n{body}\n"

    def notebook(self, title: str) -> str:
        """The script as a notebook: a cell for each step."""
        code = [cell for cell in (self.setup.strip(), *self.statements) if cell]
        cells = [_cell("markdown", title, 0), *(_cell("code", cell, n) for n, cell in enumerate(code, 1))]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, source: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"step-{number}",
        "metadata": {},
        "source": source.splitlines(True),
    }
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell


def script(
    steps: Sequence[Mapping[str, Any]], tools: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]
) -> Script:
    """The script of `steps` as they were sent. The `values` they had say how parts of one are reached."""
    named = {name: {**tool, "function": _called(tool["function"])} for name, tool in tools.items()}
    writer = _Writer(steps, named, values)
    statements = tuple(writer.statement(step) for step in steps)
    return Script(writer.setup(), statements, any(tool["is_async"] for tool in tools.values()))


@dataclass(slots=True)
class _Writer:
    steps: Sequence[Mapping[str, Any]]
    tools: Mapping[str, Mapping[str, Any]]
    values: Mapping[str, Any]
    names: dict[str, str] = field(default_factory=dict[str, str])
    conditional: dict[str, str] = field(default_factory=dict[str, str])
    has_secrets: bool = False

    def __post_init__(self) -> None:
        taken = {*_OWN, *dir(builtins), *keyword.kwlist}
        for tool in self.tools.values():
            taken |= {
                tool["function"],
                *(name for names in _BOUND.findall("\n".join(tool["code"])) for name in names),
            }
        for step in self.steps:
            for key, end in ((step["id"], ""), (f"{step['id']}\0runs", "_runs")):
                plain = re.sub(r"\W+", "_", step["id"]).strip("_") + end
                plain = plain if plain.isidentifier() else f"step_{plain}"
                name, number = plain, 2
                while name in taken:
                    name, number = f"{plain}_{number}", number + 1
                taken.add(name)
                self.names[key] = name

    def setup(self) -> str:
        """Imports, helpers and tools."""
        parts = ["from __future__ import annotations\n"]
        if self.has_secrets:
            parts.append("import os\nfrom getpass import getpass\n")
        if any(tool["takes_context"] for tool in self.tools.values()):
            parts.append("from types import SimpleNamespace\n")
        code: dict[str, None] = {}
        for name, tool in self.tools.items():
            stand_in = (
                f"def {tool['function']}(**arguments):\n"
                f"    raise NotImplementedError({f'{name} cannot be imported: call it here'!r})"
            )
            code.update(dict.fromkeys(tool["code"] or [stand_in]))
        imports = [line for line in code if line.startswith(("from ", "import "))]
        parts.append("\n".join([*sorted(imports, key=_first), *_spaced(c for c in code if c not in imports)]))
        if self.has_secrets:
            parts.append(f"\n\n{_SECRET}")
        if any(tool["asks"] for tool in self.tools.values()):
            parts.append(f"\n\n{_ALLOWED}")
        if any(tool["takes_context"] for tool in self.tools.values()):
            parts.append(f"\n\n{_CONTEXT}")
        return "\n".join(parts).strip("\n") + "\n"

    def statement(self, step: Mapping[str, Any]) -> str:
        """One step: its result gets its name, if its condition holds and what it needs is there."""
        step_id, tool = step["id"], self.tools[step["tool"]]
        loop = step.get("for_each")
        given = {name: self._expression(value, (step_id, name), loop) for name, value in step["args"].items()}
        code = f"{'await ' if tool['is_async'] else ''}{tool['function']}({_arguments(given, tool)})"
        asks = ""
        if tool["asks"]:
            shown = {n: repr(MASK) if "secret(" in given[n] else given[n] for n in given}
            asks = f"allowed({_arguments({'': repr(step['tool']), **shown})})"
        name = self.names[step_id]
        if loop is not None:
            where = f" if {asks}" if asks else ""
            code = (
                f"{name} = [{code} for item in {self._expression(loop, (step_id, 'for_each'), None)}{where}]"
            )
        else:
            code = f"{asks}\n{name} = {code}" if asks else f"{name} = {code}"
        conditions = self._conditions(step)
        if conditions:
            flag = self.conditional[step_id] = self.names[f"{step_id}\0runs"]
            code = f"{flag} = {' and '.join(conditions)}\nif {flag}:\n{textwrap.indent(code, '    ')}"
        return f"# {_comment(step_id)}: {_comment(step['tool'])}\n{code}"

    def _conditions(self, step: Mapping[str, Any]) -> list[str]:
        used = dict.fromkeys(_used([step["args"], step.get("for_each"), step.get("when")]))
        found = [self.conditional[other] for other in used if other in self.conditional]
        when = step.get("when")
        if when is None:
            return found
        reference = when if REFERENCE in when else when["value"]
        value = self._expression(reference, (step["id"], "when"), None)
        others = [(name, other) for name, other in when.items() if name in _COMPARISONS]
        compared = [f"{value} {_COMPARISONS[name]} {other!r}" for name, other in others] or [f"bool({value})"]
        return [*found, *compared]

    def _expression(self, value: Any, place: tuple[str, ...], loop: Any) -> str:
        if isinstance(value, dict):
            mapping = cast("dict[str, Any]", value)
            if REFERENCE in mapping:
                ((other, path),) = mapping[REFERENCE].items()
                return self._reference(other, path, loop)
            if set(mapping) == {LITERALLY}:
                return repr(mapping[LITERALLY])
            items = (
                f"{key!r}: {self._expression(item, (*place, key), loop)}" for key, item in mapping.items()
            )
            return f"{{{', '.join(items)}}}"
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return f"[{', '.join(self._expression(item, place, loop) for item in items)}]"
        if value == MASK:
            self.has_secrets = True
            return _secret(place)
        return repr(value)

    def _reference(self, other: str, path: Sequence[str | int], loop: Any) -> str:
        if loop is not None and other == ITEM:
            ((source, way),) = loop[REFERENCE].items()
            return _way("item", self.values.get(source), (*way, 0), path)
        return _way(self.names[other], self.values.get(other), (), path)


def _first(line: str) -> tuple[bool, str]:
    """Sorts imports, those of whole modules first."""
    return line.startswith("from "), line


def _spaced(code: Iterable[str]) -> Iterable[str]:
    """Definitions with two empty lines around them; names of values follow one another."""
    after = True
    for part in code:
        is_long = "\n" in part
        yield ("\n\n" if is_long or after else "") + part
        after = is_long


def _called(function: str) -> str:
    """The name of a function that a stand-in may be defined by: that of a tool may be any text."""
    plain = re.sub(r"\W+", "_", function)
    return plain if plain.isidentifier() and not keyword.iskeyword(plain) else f"tool_{plain}"


def _secret(place: Iterable[str]) -> str:
    name = re.sub(r"\W+", "_", "_".join(place)).upper()
    return f"secret({name!r})"


def _way(code: str, value: Any, before: Sequence[str | int], path: Sequence[str | int]) -> str:
    """The expression for a path, by what there is on the way; without that, as keys and indexes."""
    try:
        value = follow(value, tuple(before))
    except NoSuchPath:
        value = None
    for key in path:
        code += _part(value, key)
        try:
            value = follow(value, (key,))
        except NoSuchPath:
            value = None
    return code


def _part(value: Any, key: str | int) -> str:
    """One key of a path as code: an attribute only where the value has a field that is called so."""
    if isinstance(value, Mapping):
        other = str(key) if isinstance(key, int) else index_of(key)
        return f"[{(other if key not in value and other in value else key)!r}]"
    if isinstance(value, list | tuple):
        if key in getattr(cast(Any, value), "_fields", ()):
            return f".{key}"
        index = index_of(key)
        return f"[{(key if index is None else index)!r}]"
    name = field_names(value).get(str(key), "")
    return f".{name}" if name and _is_name(name) else f"[{key!r}]"


def _arguments(given: Mapping[str, str], tool: Mapping[str, Any] | None = None) -> str:
    """As a call has them. A name that is no identifier goes by a mapping."""
    parts = ["ctx"] if tool is not None and tool["takes_context"] else []
    parts += [code if not name else f"{name}={code}" for name, code in given.items() if _is_name(name)]
    odd = [f"{name!r}: {code}" for name, code in given.items() if not _is_name(name)]
    return ", ".join([*parts, *([f"**{{{', '.join(odd)}}}"] if odd else [])])


def _is_name(name: str) -> bool:
    return not name or (name.isidentifier() and not keyword.iskeyword(name))


def _used(value: Any) -> Iterable[str]:
    """The steps that are referred to, at any depth."""
    if isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        if REFERENCE in mapping:
            yield from mapping[REFERENCE]
        elif set(mapping) != {LITERALLY}:
            for item in mapping.values():
                yield from _used(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _used(item)


def _comment(text: str) -> str:
    """A text in a comment: in one line, whatever is in it."""
    return "".join(c if c.isprintable() else "�" for c in text)[:100]
