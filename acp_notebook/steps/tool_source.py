"""Where tools are to be found outside of this process: what a script needs to call them."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, cast

from pydantic_ai.toolsets.abstract import ToolsetTool

from ..masking import masked
from .plan import Step
from .tools import function_schema

_PLAIN = (str, int, float, bool, bytes, type(None), list, dict, tuple, set)
#: Longest value that is written into a script. Characters.
_LONGEST = 2_000


def tool_sources(steps: Iterable[Step], tools: Mapping[str, ToolsetTool[Any]]) -> dict[str, dict[str, Any]]:
    """Of each tool that the steps call, by name: its code and how it is called, as JSON.

    `code` are the imports and definitions that `function` needs, itself the last; none when they are unknown.
    """
    used = {step.tool.name: step.tool for step in steps}
    found: dict[str, dict[str, Any]] = {}
    for name, tool in used.items():
        schema = function_schema(tools[name])
        function: Any = getattr(schema, "function", None)
        code, called = _code(function) if inspect.isfunction(function) else ([], name)
        found[name] = {
            "code": code,
            "function": called,
            "is_async": bool(getattr(schema, "is_async", False)),
            "takes_context": bool(getattr(schema, "takes_ctx", False)),
            "asks": tool.gated,
        }
    return found


def _code(function: Callable[..., Any]) -> tuple[list[str], str]:
    """What defines a function, and its name in there."""
    name, module = function.__qualname__, function.__module__
    if module != "__main__" and name.isidentifier() and _found(module, name) is function:
        return [f"from {module} import {name}"], name
    lines: dict[str, None] = {}
    try:
        _define(function, lines, set())
    except (OSError, TypeError, SyntaxError):  # its source is nowhere
        return [], function.__name__
    return list(lines), function.__name__


def _found(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _define(function: Callable[..., Any], lines: dict[str, None], seen: set[str]) -> None:
    """Add the source of a function without its decorators, after what it uses."""
    text, names = _function(function)
    _use(names, {**function.__globals__, **inspect.getclosurevars(function).nonlocals}, lines, seen)
    lines[text] = None


@lru_cache(maxsize=256)
def _function(function: Callable[..., Any]) -> tuple[str, tuple[str, ...]]:
    """The source of a function, and the names in it that are not its own.

    Annotations are not evaluated where a script says so at its beginning.
    """
    source = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(source).body
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # a lambda
        raise SyntaxError("no definition")
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    names = [*_names(*defaults), *_free(function.__code__)]
    return "\n".join(source.splitlines()[node.lineno - 1 :]), tuple(dict.fromkeys(names))


def _free(code: CodeType) -> Iterator[str]:
    yield from code.co_freevars
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
        elif isinstance(instruction.argval, CodeType):
            yield from _free(instruction.argval)


def _names(*nodes: ast.AST) -> Iterator[str]:
    for node in nodes:
        yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _define_class(kind: type, lines: dict[str, None], seen: set[str]) -> None:
    """Add the source of a class, after what it uses, also in annotations: pydantic evaluates them."""
    source = _class_source(kind)
    _use(_names(ast.parse(source)), vars(sys.modules[kind.__module__]), lines, seen)
    lines[source] = None


def _class_source(kind: type) -> str:
    """Raises `OSError` when it is nowhere."""
    try:
        return textwrap.dedent(inspect.getsource(kind)).rstrip()
    except (OSError, TypeError):  # it may be of a notebook, whose cells are no file of its module
        pass
    for cell in reversed([*linecache.cache.values()]):
        lines = cell[2] if len(cell) == 4 and cell[1] is None else []  # what is in no file
        for node in _body("".join(lines)):
            if isinstance(node, ast.ClassDef) and node.name == kind.__qualname__:
                first = min(part.lineno for part in (node, *node.decorator_list))
                return "".join(lines[first - 1 : node.end_lineno]).rstrip()
    raise OSError(f"the source of {kind.__qualname__} is nowhere")


def _body(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:  # a magic
        return []


def _use(names: Iterable[str], known: Mapping[str, Any], lines: dict[str, None], seen: set[str]) -> None:
    """Add what defines the names that are known and not yet defined."""
    for name in names:
        if name not in seen and name in known:
            seen.add(name)
            try:
                _use_one(name, known[name], lines, seen)
            except (OSError, TypeError, SyntaxError):
                lines[
                    f"# {name} is defined elsewhere, and not written here: {type(known[name]).__name__}"
                ] = None


def _is_plain(value: Any) -> bool:
    """Whether a value is written as Python's literals are, and is short."""
    if not isinstance(value, _PLAIN) or len(text := repr(cast(Any, value))) > _LONGEST:
        return False
    try:
        return ast.literal_eval(text) == value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def _use_one(name: str, value: Any, lines: dict[str, None], seen: set[str]) -> None:
    if isinstance(value, ModuleType):
        lines[f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}")] = None
        return
    module, real = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if _is_plain(value) and masked(value, name) == value:
        lines[f"{name} = {value!r}"] = None
    elif module not in (None, "__main__") and real and _found(module, real) is value:
        lines[f"from {module} import {real}" + ("" if real == name else f" as {name}")] = None
    elif inspect.isfunction(value):
        _define(value, lines, seen)
    elif isinstance(value, type):
        _define_class(value, lines, seen)
    else:
        raise TypeError("it is neither a module, a function, a class nor a plain value")
