"""Code with its keywords, strings, comments and numbers marked: enough to read a preview by, nothing more."""

from __future__ import annotations

import re

from .html import Html, join, tag, text

_PYTHON = (
    "False None True and as assert async await break case class continue def del elif else except finally "
    "for from global if import in is lambda match nonlocal not or pass raise return try while with yield"
)
_BASH = (
    "case do done elif else esac export fi for function if in local read return set then unset until while "
    "cd cp echo exit kill mv rm source sudo"
)
_SQL = (
    "add all alter and as asc begin between by case commit create cross delete desc distinct drop else end "
    "except exists from full grant group having if in index inner insert intersect into is join left like "
    "limit not null offset on or order outer primary references revoke right rollback select set table then "
    "transaction truncate union unique update using values view when where with"
)
# A string or comment without an end goes to the end of its line or of the text: nothing is ever left over.
_DOUBLE = r'"(?:\\[\s\S]|[^"\\\n])*"?'
_SINGLE = r"'(?:\\[\s\S]|[^'\\\n])*'?"
_NUMBER = r"(?<![\w.])\d[\w.]*"


def _grammar(string: str, comment: str, words: str, flags: int = 0) -> re.Pattern[str]:
    keyword = rf"\b(?:{'|'.join(words.split())})\b"
    return re.compile(f"(?P<c>{comment})|(?P<s>{string})|(?P<n>{_NUMBER})|(?P<k>{keyword})", flags)


_GRAMMARS = {
    "python": _grammar(
        rf'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|{_DOUBLE}|{_SINGLE}', r"#.*", _PYTHON
    ),
    "bash": _grammar(r""""(?:\\[\s\S]|[^"\\])*"?|'[^']*'?""", r"(?<![^\s;&|(])#.*", _BASH),
    "sql": _grammar(r"""'(?:''|[^'])*'?|"[^"\n]*"?""", r"--.*|/\*[\s\S]*?(?:\*/|\Z)", _SQL, re.IGNORECASE),
    "json": _grammar(_DOUBLE, r"(?!)", "true false null"),
}
_ALIASES = {"py": "python", "python3": "python", "sh": "bash", "shell": "bash", "zsh": "bash"}


def highlighted(code: str, language: str) -> Html:
    """`code` as HTML; of a language that is not known as plain text."""
    language = language.lower()
    grammar = _GRAMMARS.get(_ALIASES.get(language, language))
    if grammar is None:
        return text(code)
    made: list[Html] = []
    done = 0
    for match in grammar.finditer(code):
        if match.start() == match.end():
            continue
        made.append(text(code[done : match.start()]))
        made.append(tag("span", match[0], class_=f"acp-{match.lastgroup}"))
        done = match.end()
    return join([*made, text(code[done:])])
