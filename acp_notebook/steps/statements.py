"""The statements of a script, one for each step of a run, and what they need to come before them."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from ..masking import MASK, is_reference
from .expressions import arguments, literal, name_like, used, way
from .isolate import isolated
from .keep import NotKept
from .plan import ITEM
from .references import LITERALLY, REFERENCE
from .source import with_secrets

_COMPARISONS = {"equals": "==", "not_equals": "!=", "greater_than": ">", "less_than": "<", "one_of": "in"}
#: What a script defines for itself where it needs it, with what that imports. `NAME` is what it is called.
_HELPERS: dict[str, tuple[tuple[str, ...], str]] = {
    "secret": (
        ("import os", "from getpass import getpass"),
        '''\
def NAME(name):
    """A secret, from the environment or typed."""
    return os.environ.get(name) or getpass(f"{name}: ")''',
    ),
    "typed": (
        ("from typing import get_type_hints", "from pydantic import TypeAdapter"),
        '''\
def NAME(tool):
    """The tool, its arguments made what it declares, as those of a model's call are."""
    hints = get_type_hints(tool, include_extras=True)

    def call(*context, **arguments):
        for name in arguments.keys() & hints.keys():
            arguments[name] = TypeAdapter(hints[name]).validate_python(arguments[name])
        return tool(*context, **arguments)

    return call''',
    ),
    "allowed": (
        (),
        '''\
def NAME(tool, /, **arguments):
    """Ask a person before a call; a no ends the script."""
    given = ", ".join(f"{name}={value!r:.200}" for name, value in arguments.items())
    if input(f"Run {tool}({given})? [y/N] ").strip().lower() not in ("y", "yes"):
        raise SystemExit(f"{tool} was not allowed")
    return True''',
    ),
    "ctx": (
        ("from types import SimpleNamespace",),
        "NAME = SimpleNamespace(deps=None)  # some tools take a RunContext: put in what they use of it",
    ),
    "deepcopy": (("from copy import deepcopy",), ""),
}
#: Names that a script imports or binds in a way that cannot be changed.
_OWN = frozenset(
    {"os", "getpass", "asyncio", "main", "SimpleNamespace", "deepcopy", "TypeAdapter", "get_type_hints"}
)

#: The arguments that a step ran with where a person had changed them: by element, of a whole step under None.
Edits = Mapping[int | None, Mapping[str, Any]]


class Writer:
    """Writes one script. It is written from its end: what the statements need comes into the setup."""

    def __init__(
        self,
        steps: Sequence[Mapping[str, Any]],
        tools: Mapping[str, Mapping[str, Any]],
        values: Mapping[str, Any],
    ) -> None:
        self._tools = tools
        self._values = values
        self._needed: set[str] = set()
        self._typed: set[str] = set()
        self._conditional: dict[str, str] = {}
        self._loops = {step["id"]: step["for_each"] for step in steps if "for_each" in step}
        self._left = Counter(name for step in steps for name in self._uses(step))
        taken = {*_OWN, *dir(builtins), *keyword.kwlist}
        taken.update(*(_names(code) for tool in tools.values() for code in tool["code"]))
        taken.update(tool["function"] for tool in tools.values())
        self._own = {name: _free(name, taken) for name in ("secret", "typed", "allowed", "ctx", "item", "at")}
        self._own["deepcopy"] = "deepcopy"
        self._names: dict[str, str] = {}
        for step in steps:
            for key, end in ((step["id"], ""), (f"{step['id']}\0runs", "_runs")):
                self._names[key] = _free(name_like(f"{step['id']}{end}", "step"), taken)

    def _uses(self, step: Mapping[str, Any]) -> Iterator[str]:
        """The steps that a step looks at, as often as it does so."""
        loop = step.get("for_each")
        for name in used([step["args"], loop, step.get("when")]):
            yield next(iter(loop[REFERENCE])) if loop is not None and name == ITEM else name

    def _need(self, name: str) -> str:
        self._needed.add(name)
        return self._own[name]

    # -- what comes first ----------------------------------------------------------------------------

    def setup(self) -> str:
        """Imports, helpers and tools, and last those made of other ones."""
        code: dict[str, None] = {}
        for name, tool in self._tools.items():
            stand_in = (
                f"def {tool['function']}(**arguments):\n"
                f"    raise NotImplementedError({f'{name} cannot be imported: call it here'!r})"
            )
            code.update(dict.fromkeys(self._with_secrets(part) for part in tool["code"] or [stand_in]))
        helpers = [(name, *_HELPERS[name]) for name in _HELPERS if name in self._needed]
        imports = {line: None for line in code if line.startswith(("from ", "import "))}
        imports.update((line, None) for _, lines, _ in helpers for line in lines)
        own = [text.replace("NAME", self._own[name]) for name, _, text in helpers if text]
        typed = [
            f"{tool['function']} = {self._own['typed']}({tool['function']})"
            for name, tool in self._tools.items()
            if name in self._typed
        ]
        parts = [*sorted(imports, key=_first), *_spaced([*own, *(c for c in code if c not in imports)])]
        return "\n".join(["from __future__ import annotations\n", *parts, *_spaced(typed)]).strip("\n") + "\n"

    def _with_secrets(self, code: str) -> str:
        if MASK not in code:
            return code
        return with_secrets(code, lambda name: f"{self._need('secret')}({_constant(name)!r})")

    # -- steps ---------------------------------------------------------------------------------------

    def statement(self, step: Mapping[str, Any], edits: Edits) -> str:
        """One step: its result gets its name, if its condition holds and what it needs is there."""
        step_id, name = step["id"], self._names[step["id"]]
        conditions = self._conditions(step)
        loop = step.get("for_each")
        if loop is None:
            call, asks = self._call(step, edits.get(None, step["args"]))
            code = f"{asks}\n{name} = {call}" if asks else f"{name} = {call}"
        else:
            code = f"{name} = {self._each(step, loop, edits)}"
        if conditions:
            flag = self._conditional[step_id] = self._names[f"{step_id}\0runs"]
            code = f"{flag} = {' and '.join(conditions)}\nif {flag}:\n{textwrap.indent(code, '    ')}"
        return f"# {_comment(step_id)}: {_comment(step['tool'])}\n{code}"

    def _each(self, step: Mapping[str, Any], loop: Any, edits: Edits) -> str:
        item, at = self._own["item"], self._own["at"]
        over = self._reference(loop, None, to_pass=False)
        call, asks = self._call(step, step["args"])
        if not edits:
            return f"[{call} for {item} in {over}{f' if {asks}' if asks else ''}]"
        call = f"{asks} and {call}" if asks else call
        for element, args in edits.items():
            edited, asks = self._call(step, args)
            edited = f"{asks} and {edited}" if asks else edited
            call = f"({edited}) if {at} == {element} else {call}"
        return f"[{call} for {at}, {item} in enumerate({over})]"

    def _call(self, step: Mapping[str, Any], args: Mapping[str, Any]) -> tuple[str, str]:
        """The call of a step's tool, and the question before it."""
        tool, loop = self._tools[step["tool"]], step.get("for_each")
        given = {name: self._expression(value, (step["id"], name), loop) for name, value in args.items()}
        if any(self._is_made(tool, name, value, loop) for name, value in args.items()):
            self._need("typed")
            self._typed.add(step["tool"])
        context = [self._need("ctx")] if tool["takes_context"] else []
        call = f"{'await ' if tool['is_async'] else ''}{tool['function']}({arguments(given, *context)})"
        if not tool["asks"]:
            return call, ""
        hidden = f"{self._own['secret']}("
        shown = {name: repr(MASK) if hidden in code else code for name, code in given.items()}
        return call, f"{self._need('allowed')}({arguments(shown, repr(step['tool']))})"

    def _is_made(self, tool: Mapping[str, Any], name: str, value: Any, loop: Any) -> bool:
        """Whether the tool gets another value than is written: a date for a text, a float for an integer."""
        kind = tool.get("types", {}).get(name)
        if kind is None or kind == "other":
            return kind is not None
        if is_reference(value):
            _, value = self._found(value, loop)
        return type(value).__name__ != kind

    def _conditions(self, step: Mapping[str, Any]) -> list[str]:
        looked_at = dict.fromkeys(used([step["args"], step.get("for_each"), step.get("when")]))
        found = [self._conditional[other] for other in looked_at if other in self._conditional]
        when = step.get("when")
        if when is None:
            return found
        reference = when if REFERENCE in when else when["value"]
        value = self._reference(reference, None, to_pass=False)
        compared = [
            f"{value} {_COMPARISONS[name]} {self._expression({LITERALLY: other}, (step['id'], 'when'), None)}"
            for name, other in when.items()
            if name in _COMPARISONS
        ]
        return [*found, *(compared or [f"bool({value})"])]

    # -- values --------------------------------------------------------------------------------------

    def _expression(self, value: Any, place: tuple[str, ...], loop: Any, *, plain: bool = False) -> str:
        if isinstance(value, dict):
            mapping = cast("dict[str, Any]", value)
            if not plain and REFERENCE in mapping:
                return self._reference(mapping, loop)
            if not plain and set(mapping) == {LITERALLY}:
                return self._expression(mapping[LITERALLY], place, loop, plain=True)
            items = (
                f"{key!r}: {self._expression(item, (*place, key), loop, plain=plain)}"
                for key, item in mapping.items()
            )
            return f"{{{', '.join(items)}}}"
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return f"[{', '.join(self._expression(item, place, loop, plain=plain) for item in items)}]"
        if isinstance(value, str) and MASK in value:
            return f"{self._need('secret')}({_constant('_'.join(place))!r})"
        return literal(value)

    def _found(self, reference: Mapping[str, Any], loop: Any) -> tuple[str, Any]:
        """What a reference refers to as code, and the value there, as far as it is known."""
        ((other, path),) = reference[REFERENCE].items()
        if loop is not None and other == ITEM:
            ((source, over),) = loop[REFERENCE].items()
            _, value = way("", self._values.get(source), (*over, 0))
            return way(self._own["item"], value, path)
        return way(self._names[other], self._values.get(other), path)

    def _reference(self, reference: Mapping[str, Any], loop: Any, *, to_pass: bool = True) -> str:
        code, value = self._found(reference, loop)
        ((other, _),) = reference[REFERENCE].items()
        if loop is not None and other == ITEM:
            other, in_each = next(iter(loop[REFERENCE])), False
        else:
            in_each = loop is not None
        self._left[other] -= 1
        again = in_each or self._left[other] > 0
        known = other in self._values
        if not to_pass or not again or (known and (value is None or _stays(value))):
            return code
        return f"{self._need('deepcopy')}({code})"


def _stays(value: Any) -> bool:
    """Whether a run passes on a value as itself, also one that was not kept."""
    return isinstance(value, NotKept) or isolated(value) is value


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


def _names(code: str) -> set[str]:
    """All names in code: what it binds, and what it uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
    return found


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken; it is from now on."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def _constant(name: str) -> str:
    """A name of an environment variable."""
    return re.sub(r"\W+", "_", name).upper()


def _comment(text: str) -> str:
    """A text in a comment: in one line, whatever is in it."""
    return "".join(c if c.isprintable() else "�" for c in text)[:100]
