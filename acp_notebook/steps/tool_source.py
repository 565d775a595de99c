"""Where tools are to be found outside of this process: what a script needs to call them."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

from pydantic_ai.toolsets.abstract import ToolsetTool

from ..masking import says_secret
from .plan import Step
from .tools import function_schema

_PLAIN = (str, int, float, bool, bytes, type(None))


def tool_sources(steps: Iterable[Step], tools: Mapping[str, ToolsetTool[Any]]) -> dict[str, dict[str, Any]]:
    """Of each tool that the steps call, by name: its code and how it is called, as JSON.

    `code` are lines that define `function`, empty when nothing can be said of it.
    """
    used = {step.tool.name: step.tool for step in steps}
    found: dict[str, dict[str, Any]] = {}
    for name, tool in used.items():
        schema = function_schema(tools[name])
        function: Any = getattr(schema, "function", None)
        code, called = _code(function) if inspect.isfunction(function) else ("", name)
        found[name] = {
            "code": code,
            "function": called,
            "is_async": bool(getattr(schema, "is_async", False)),
            "takes_context": bool(getattr(schema, "takes_ctx", False)),
            "asks": tool.gated,
        }
    return found


@lru_cache(maxsize=256)
def _code(function: Callable[..., Any]) -> tuple[str, str]:
    """Lines that define a function, and its name in them."""
    name, module = function.__qualname__, function.__module__
    if module != "__main__" and name.isidentifier() and _found(module, name) is function:
        return f"from {module} import {name}", name
    lines: dict[str, None] = {}
    try:
        _define(function, lines, set())
    except (OSError, TypeError, SyntaxError):  # its source is nowhere
        return "", function.__name__
    return "\n".join(lines), function.__name__


def _found(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _define(function: Callable[..., Any], lines: dict[str, None], seen: set[str]) -> None:
    """Add the source of a function without its decorators, after what it uses."""
    source = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(source).body
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # a lambda
        raise SyntaxError("no definition")
    closed = inspect.getclosurevars(function).nonlocals
    for part in ast.walk(_without_annotations(node)):
        if isinstance(part, ast.Name) and part.id not in seen:
            seen.add(part.id)
            if part.id in closed:
                _use(part.id, closed[part.id], lines, seen)
            elif part.id in function.__globals__:
                _use(part.id, function.__globals__[part.id], lines, seen)
    text = "\n".join(source.splitlines()[node.lineno - 1 :])
    lines[f"\n\n{text}\n" if lines else f"{text}\n"] = None


def _without_annotations(tree: ast.AST) -> ast.AST:
    """They are not evaluated where the script says so at its beginning."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns, node.decorator_list = None, []
    return tree


def _use(name: str, value: Any, lines: dict[str, None], seen: set[str]) -> None:
    if isinstance(value, ModuleType):
        lines[f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}")] = None
        return
    module, real = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(value, _PLAIN) and not says_secret(name):
        lines[f"{name} = {value!r}"] = None
    elif inspect.isfunction(value) and module == "__main__":
        _define(value, lines, seen)
    elif module not in (None, "__main__") and real and _found(module, real) is value:
        lines[f"from {module} import {real}" + ("" if real == name else f" as {name}")] = None
    else:
        lines[f"# {name} is defined elsewhere, as is not written here: {type(value).__name__}"] = None
