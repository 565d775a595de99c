"""Where tools are to be found outside of this process: what a script needs to call them."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import ModuleType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic_ai import RunContext
from pydantic_ai.toolsets.abstract import ToolsetTool

from ..masking import masked
from .definitions import annotated, assignment, class_source, function_source, is_plain, names_in
from .plan import Step
from .source import without_secrets
from .tools import Sharable, function_schema

#: Types that nothing else is made into: of what JSON has, they take what is theirs.
_AS_IT_IS = frozenset({Any, object, str, type(None), list, dict})
_NUMBERS = frozenset({int, float, bool})
#: A script does without this package. Where it is there, as in a notebook that runs one, the mark is its own.
_SHARABLE = """\
try:
    from acp_notebook import Sharable{renamed}
except ImportError:

    class {name}:
        pass"""
#: How a line begins that stands for what cannot be written.
_UNKNOWN = "# "


def tool_sources(
    steps: Iterable[Step], tools: Mapping[str, ToolsetTool[Any]], secrets: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """Of each tool that the steps call, by name: its code and how it is called, as JSON without secrets.

    `code` are the imports and definitions that `function` needs, itself the last; none when they are unknown.
    `types` are those of the parameters for which another value may be made of one that is sent: int, float
    or bool where it is one of these, else `other`.
    """
    used = {step.tool.name: step.tool for step in steps}
    found: dict[str, dict[str, Any]] = {}
    for name, tool in used.items():
        schema = function_schema(tools[name])
        function: Any = getattr(schema, "function", None)
        source = _Source(function) if inspect.isfunction(function) else None
        code = list(source.lines) if source is not None else []
        found[name] = {
            "code": [without_secrets(part, secrets) for part in code] if secrets else code,
            "function": source.name if source is not None else name,
            "is_async": bool(getattr(schema, "is_async", False)),
            "takes_context": bool(getattr(schema, "takes_ctx", False)),
            "asks": tool.gated,
            "types": source.types if source is not None and code else {},
        }
    return found


class _Source:
    """What defines a function: `lines` of code, none when it is nowhere; `name` is what they call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.lines: dict[str, None] = {}
        self.types = types(function)
        name, module = function.__qualname__, function.__module__
        self.name = function.__name__
        self._seen: set[str] = set()
        if module != "__main__" and name.isidentifier() and _found(module, name) is function:
            self.lines[f"from {module} import {name}"] = None
            return
        try:
            if self.types:
                self._annotations(function)
            self._define(function)
        except (OSError, TypeError, SyntaxError):  # its source is nowhere
            self.lines.clear()

    def _annotations(self, function: Callable[..., Any]) -> None:
        """Add what the annotations need; where that cannot be written, they are not looked at."""
        names = annotated(function)
        given = function.__annotations__
        local = {name: given[of] for of, name in names if isinstance(given.get(of), type)}
        self._use([name for _, name in names], {**local, **_known(function)}, function.__module__)
        if any(line.startswith(_UNKNOWN) for line in self.lines):
            self.lines, self.types = {}, {}
            self._seen.clear()

    def _define(self, function: Callable[..., Any]) -> None:
        """Add the source of a function without its decorators, after what it uses."""
        text, names = function_source(function)
        self._use(names, _known(function), function.__module__)
        self.lines[text] = None

    def _define_class(self, kind: type) -> None:
        """Add the source of a class, after what it uses, also in annotations: pydantic evaluates them."""
        source = class_source(kind)
        home = kind.__module__
        self._use(names_in(ast.parse(source)), vars(sys.modules[home]), home)
        self.lines[source] = None

    def _use(self, names: Iterable[str], known: Mapping[str, Any], home: str) -> None:
        """Add what defines the names that are known, in the module `home`, and not yet defined."""
        for name in names:
            if name not in self._seen and name in known:
                self._seen.add(name)
                try:
                    self._use_one(name, known[name], home)
                except (OSError, TypeError, SyntaxError):
                    kind = type(known[name]).__name__
                    self.lines[f"{_UNKNOWN}{name} is defined elsewhere, and not written here: {kind}"] = None

    def _use_one(self, name: str, value: Any, home: str) -> None:
        if isinstance(value, ModuleType):
            renamed = "" if value.__name__ == name else f" as {name}"
            self.lines[f"import {value.__name__}{renamed}"] = None
            return
        module, real = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if is_plain(value):
            self.lines[f"{name} = {masked(value, name)!r}"] = None
        elif value is Sharable:
            renamed = "" if name == "Sharable" else f" as {name}"
            self.lines[_SHARABLE.format(name=name, renamed=renamed)] = None
        elif module not in (None, "__main__") and real and _found(module, real) is value:
            self.lines[f"from {module} import {real}" + ("" if real == name else f" as {name}")] = None
        elif inspect.isfunction(value):
            self._define(value)
        elif isinstance(value, type):
            self._define_class(value)
        elif home != "__main__" and _found(home, name) is value:
            self.lines[f"from {home} import {name}"] = None
        elif get_origin(value) is not None or isinstance(value, TypeVar):
            node, text = assignment(home, name)
            self._use(names_in(node), vars(sys.modules[home]), home)
            self.lines[text] = None
        else:
            raise TypeError("it is neither a module, a function, a class, a type nor a plain value")


@lru_cache(maxsize=256)
def types(function: Callable[..., Any]) -> dict[str, str]:
    """The parameters of a function whose types may make something else of a value, by what they are."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:
        return {}
    found = {name: _unmarked(hint) for name, hint in hints.items() if name != "return"}
    return {
        name: kind.__name__ if kind in _NUMBERS else "other"
        for name, kind in found.items()
        if not _takes_json(kind) and RunContext not in (kind, get_origin(kind))
    }


def _unmarked(hint: Any) -> Any:
    """A type without the mark that says that it takes what earlier steps returned."""
    marks = getattr(hint, "__metadata__", ())
    return hint.__origin__ if marks and all(m is Sharable or isinstance(m, Sharable) for m in marks) else hint


def _takes_json(hint: Any) -> bool:
    """Whether a type takes of JSON what is its own as it is, and nothing else."""
    kind = get_origin(hint)
    if kind in (list, dict, Union, UnionType):
        return all(_takes_json(_unmarked(inside)) for inside in get_args(hint))
    return kind is Literal or (kind is not Annotated and hint in _AS_IT_IS)


def _found(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _known(function: Callable[..., Any]) -> dict[str, Any]:
    return {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
