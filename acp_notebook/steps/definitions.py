"""The source of functions, classes and types, also of those that a notebook defines; without secrets."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, cast

from .source import without_secrets

_PLAIN = (str, int, float, bool, bytes, type(None), list, dict, tuple, set)
#: Longest value that is written into a script. Characters.
_LONGEST = 2_000


@lru_cache(maxsize=256)
def function_source(function: Callable[..., Any]) -> tuple[str, tuple[str, ...]]:
    """The source of a function without its decorators, and the names in it that are not its own.

    Annotations are not evaluated where a script says so at its beginning. Raises `OSError`, `SyntaxError`.
    """
    source, node = _definition(function)
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    names = [*names_in(*defaults), *_free(function.__code__)]
    text = "\n".join(source.split("\n")[node.lineno - 1 :])
    return without_secrets(text.rstrip()), tuple(dict.fromkeys(names))


def _definition(function: Callable[..., Any]) -> tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    source = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(source).body
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # a lambda
        raise SyntaxError("no definition")
    return source, node


def annotated(function: Callable[..., Any]) -> list[tuple[str, str]]:
    """The names in the annotations of a function, each after that of the parameter, or `return`."""
    _, node = _definition(function)
    given = [
        *node.args.posonlyargs,
        *node.args.args,
        *node.args.kwonlyargs,
        node.args.vararg,
        node.args.kwarg,
    ]
    notes = [(one.arg, one.annotation) for one in given if one is not None]
    return [(of, name) for of, note in [*notes, ("return", node.returns)] if note for name in _noted(note)]


def _noted(note: ast.expr) -> Iterator[str]:
    """The names in an annotation, also in one that is a text."""
    yield from names_in(note)
    for part in ast.walk(note):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from names_in(*_body(part.value))


def _free(code: CodeType) -> Iterator[str]:
    yield from code.co_freevars
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
        elif isinstance(instruction.argval, CodeType):
            yield from _free(instruction.argval)


def names_in(*nodes: ast.AST) -> Iterator[str]:
    """The names that stand in code."""
    for node in nodes:
        yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def class_source(kind: type) -> str:
    """The source of a class. Raises `OSError` when it is nowhere."""
    try:
        source = textwrap.dedent(inspect.getsource(kind)).rstrip()
    except (OSError, TypeError):  # it may be of a notebook
        _, source = _statement("", lambda node: _defines(node, kind.__qualname__))
    return without_secrets(source)


def assignment(module: str, name: str) -> tuple[ast.stmt, str]:
    """The statement in a module that gives a name its value. Raises `OSError` when it is nowhere."""
    node, source = _statement(module, lambda node: _assigns(node, name))
    return node, without_secrets(source)


def _defines(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == name


def _assigns(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _statement(module: str, is_it: Callable[[ast.stmt], bool]) -> tuple[ast.stmt, str]:
    """The last such statement of the cells of a notebook, or of a module. Raises `OSError` for none."""
    cells = [cell[2] for cell in linecache.cache.values() if len(cell) == 4 and cell[1] is None]  # in no file
    file = getattr(sys.modules.get(module), "__file__", None)
    for lines in [*reversed(cells), linecache.getlines(file) if file else []]:
        for node in reversed(_body("".join(lines))):
            if is_it(node):
                decorators = getattr(node, "decorator_list", ())
                first = min(part.lineno for part in (node, *decorators))
                return node, "".join(lines[first - 1 : node.end_lineno]).rstrip()
    raise OSError("it is nowhere")


def _body(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:  # a magic
        return []


def is_plain(value: Any) -> bool:
    """Whether a value is written as Python's literals are, and is short."""
    if not isinstance(value, _PLAIN) or len(text := repr(cast(Any, value))) > _LONGEST:
        return False
    try:
        return ast.literal_eval(text) == value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
