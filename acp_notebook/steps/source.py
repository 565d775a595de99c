"""Python source without the secrets that stand in it: what a parameter, a variable or a key is given that is
called as secrets are.

Of these texts `MASK` stands in the source; a script has it ask for them.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..masking import MASK, forms, redacted, says_secret

_LITERAL = repr(MASK)
_TEXTS = frozenset({tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})


class _Piece(NamedTuple):
    """A piece of a line or of several: 1-based lines, columns in characters."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def without_secrets(source: str, known: Sequence[str] = ()) -> str:
    """`source` with its secrets masked, and the `known` ones, also in its texts and comments."""
    found = [*_secrets(source)]
    texts = {text for _, node in found for value in _values(node) for text in forms(value)}
    masked = _replaced(source, [_piece(source, node, _LITERAL) for _, node in found])
    everything = sorted({*texts, *known}, key=len, reverse=True)
    if not any(text in masked for text in everything):
        return masked
    pieces = [
        _Piece(token.start, token.end, redacted(token.string, everything))
        for token in tokenize.generate_tokens(io.StringIO(masked).readline)
        if token.type in _TEXTS
    ]
    return _replaced(masked, pieces)


def with_secrets(source: str, ask: Callable[[str], str]) -> str:
    """`source` with the code that `ask` gives for a name in place of each masked secret that has one."""
    pieces = [
        _piece(source, node, ask(name))
        for name, node in _secrets(source)
        if isinstance(node, ast.Constant) and node.value == MASK
    ]
    return _replaced(source, pieces)


def _secrets(source: str) -> Iterator[tuple[str, ast.expr]]:
    """The texts in code that are secrets by what they are given to, each with that name."""
    seen: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        for name, value in _named(node):
            for text in _texts(value) if says_secret(name) else ():
                if id(text) not in seen:
                    seen.add(id(text))
                    yield name, text


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What in a node is given to which names."""
    match node:
        case ast.arguments():
            given = [*node.posonlyargs, *node.args]
            yield from _pairs([a.arg for a in given][len(given) - len(node.defaults) :], node.defaults)
            yield from _pairs([a.arg for a in node.kwonlyargs], node.kw_defaults)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _assigned(target, value)
        case ast.NamedExpr(target=target, value=value):
            yield from _assigned(target, value)
        case ast.keyword(arg=str() as name, value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            yield from _pairs(list(map(_text, keys)), values)
        case ast.Call(args=args):  # os.environ.get("TOKEN", "…")
            yield from _pairs(list(map(_text, args)), args[1:])
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
            for one in sides:
                for other in sides:
                    yield from _assigned(one, other)
        case _:
            pass


def _pairs(names: Sequence[str | None], values: Sequence[ast.expr | None]) -> Iterator[tuple[str, ast.expr]]:
    for name, value in zip(names, values, strict=False):
        if name is not None and value is not None:
            yield name, value


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name, value
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            yield name, value
        case ast.Tuple(elts=targets) if isinstance(value, ast.Tuple):
            for one, part in zip(targets, value.elts, strict=False):
                yield from _assigned(one, part)
        case _:
            pass


def _texts(node: ast.expr) -> Iterator[ast.expr]:
    """The texts that a value is made of: not those by which it is looked up."""
    match node:
        case ast.Constant(value=str() | bytes() as value) if value:
            yield node
        case ast.JoinedStr(values=parts) if any(isinstance(part, ast.Constant) for part in parts):
            yield node
        case ast.BinOp(left=left, right=right):
            yield from _texts(left)
            yield from _texts(right)
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                yield from _texts(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from _texts(part)
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one)
            yield from _texts(other)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as text)):  # "…".encode()
            yield from _texts(text)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name[:1].isupper():
            for part in args:  # SecretStr("…")
                yield from _texts(part)
        case _:
            pass


def _values(node: ast.expr) -> Iterator[str]:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    for part in parts:
        if isinstance(part, ast.Constant) and part.value != MASK:
            yield part.value if isinstance(part.value, str) else repr(part.value)[2:-1]


def _piece(source: str, node: ast.expr, text: str) -> _Piece:
    """Where a node stands: the columns of the syntax tree are those of UTF-8."""
    lines = source.split("\n")
    assert node.end_lineno is not None and node.end_col_offset is not None
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    end = len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
    return _Piece((node.lineno, start), (node.end_lineno, end), text)


def _replaced(source: str, pieces: Sequence[_Piece]) -> str:
    """`source` with each piece, none of which overlap, as its text says."""
    lines = source.split("\n")
    for (first, start), (last, end), text in sorted(pieces, reverse=True):
        before, after = lines[first - 1][:start], lines[last - 1][end:]
        lines[first - 1 : last] = (before + text + after).split("\n")
    return "\n".join(lines)
