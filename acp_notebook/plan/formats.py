"""The formats in which plans are read and written. A new one is a row in `FORMATS` and its functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import PlanError
from . import csv, in_place, json, markdown, mermaid, outline, page
from .display import as_html, as_text
from .model import Plan, PlanEntry

__all__ = [
    "FORMATS",
    "Format",
    "as_html",
    "as_text",
    "format_of",
    "parse",
    "parse_all",
    "update",
    "write",
    "write_all",
]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    `label` is what people call it; `suffixes` are its file name endings, the usual one first; `mime` is its
    MIME type. `write` takes one or several plans, and `parse` gives those that a text holds. `update` changes
    a text so that it holds another plan, and leaves all else as it is. `mark` is what a file begins with.
    """

    label: str
    suffixes: tuple[str, ...]
    mime: str
    write: Callable[[Sequence[Plan]], str]
    parse: Callable[[str], tuple[Plan, ...]] | None = None
    update: Callable[[str, Plan], str] | None = None
    mark: str = ""


def parse(text: str, format: str | None = None) -> Plan:
    """Read a plan from `text`, in the format of that name or, when None, in the one it looks like.

    Raises `PlanError` when there is no plan in it, or more than one, or no such format.
    """
    plans = parse_all(text, format)
    if len(plans) != 1:
        ids = ", ".join(repr(plan.plan_id) for plan in plans)
        raise PlanError(f"this holds {len(plans)} plans, {ids}: read them with %acp plan set FILE")
    return plans[0]


def parse_all(text: str, format: str | None = None) -> tuple[Plan, ...]:
    """Read all plans from `text`: one, or as many as `write_all` wrote. Otherwise as `parse`."""
    name = format or guess(text)
    if (read := _named(name).parse) is None:
        readable = ", ".join(name for name, format in FORMATS.items() if format.parse)
        raise PlanError(f"plans are not read from {name}: use {readable}")
    return read(text.removeprefix("\ufeff"))


def write(plan: Plan, format: str) -> str:
    """Write the plan in the format of that name. Raises `PlanError` when it cannot be, or for other names."""
    return write_all([plan], format)


def write_all(plans: Sequence[Plan], format: str) -> str:
    """Write plans as one text. `parse_all` reads them back where the format can be read."""
    return _LONE_SURROGATES.sub("\ufffd", _named(format).write(plans))


def update(text: str, plan: Plan, format: str) -> str:
    """The text of a file that holds a plan, made to hold `plan`'s title and entries; all else stays as it is.

    Raises `PlanError` when that cannot be done.
    """
    body = text.removeprefix("\ufeff")
    before = parse(body, format)
    if _holds(before, plan, titles=(None, before.title)):
        return text
    edit = _named(format).update
    refused = "it cannot be changed in place so that it holds this plan: write it anew with --force"
    if edit is None or plan.type != "items" or before.type != "items":
        raise PlanError(refused)
    after = edit(body, plan)
    try:
        # A title that the file has no place for stays what it was.
        done = _holds(parse(after, format), plan, titles=(plan.title, before.title))
    except PlanError as error:
        raise PlanError(refused) from error
    if not done or _LONE_SURROGATES.search(after):
        raise PlanError(refused)
    return text[: len(text) - len(body)] + after


def _holds(found: Plan, wanted: Plan, titles: tuple[str | None, ...]) -> bool:
    """Whether a plan that was read is the wanted one, as far as every format can say, with such a title."""
    return (
        (found.type, found.content, found.uri) == (wanted.type, wanted.content, wanted.uri)
        and tuple(map(_bare, found)) == tuple(map(_bare, wanted))
        and wanted.title in titles
    )


def _bare(entry: PlanEntry) -> PlanEntry:
    return replace(entry, meta=None, raw=None)


def format_of(suffix: str) -> str:
    """The name of the format for a file name, or for its ending (`.md`). Raises `PlanError` for others."""
    ending = "." + suffix.rpartition(".")[2].lower()
    for name, format in FORMATS.items():
        if ending in format.suffixes:
            return name
    if ending == ".org":
        raise PlanError(
            f"{suffix!r} is an Org file, which is neither read nor written: use Markdown, a .md file with "
            "one task a line as '- [ ] text'"
        )
    known = ", ".join(ending for format in FORMATS.values() for ending in format.suffixes)
    raise PlanError(f"{suffix!r} is not the name of a plan file: use one that ends with {known}")


# An object, or a list that cannot be a box (`[ ] task`) or a link (`[text](…)`).
_JSON = re.compile(r'\s*(?:\{|\[\s*(?:["{]|\]\s*$))')
# A list of mappings, or a member that holds one.
_YAML = re.compile(
    r"^(?:- +(?:content|status|priority|id|step|text|task|title): |"
    r"(?:entries|todos|plan|tasks|steps): *(?:#.*)?\n *- )",
    re.MULTILINE,
)
_BOX = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[.?\] |^---[ \t]*\n(?:.*\n)*?---[ \t]*\n", re.MULTILINE)
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def guess(text: str) -> str:
    """The name of the format that a text looks like; Markdown, which is for people, if no other."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if _JSON.match(text):
        return "json"
    if _YAML.search(text) and not _BOX.search(text) and (_reads(text, "yaml") or not _reads(text, "md")):
        return "yaml"
    return "csv" if csv.has_header(text) else "md"


def _reads(text: str, format: str) -> bool:
    try:
        return bool(parse_all(text, format))
    except PlanError:
        return False


def _named(format: str) -> Format:
    try:
        return FORMATS[format]
    except KeyError:
        raise PlanError(f"{format!r} is not a plan format: use {', '.join(FORMATS)}") from None


# PyYAML takes time to import.


def _parse_yaml(text: str) -> tuple[Plan, ...]:
    from . import yaml

    return yaml.parse(text)


def _write_yaml(plans: Sequence[Plan]) -> str:
    from . import yaml

    return yaml.write(plans)


def _update_yaml(text: str, plan: Plan) -> str:
    from .in_place import yaml

    return yaml.update(text, plan)


FORMATS: dict[str, Format] = {
    "md": Format(
        "Markdown",
        (".md", ".markdown"),
        "text/markdown",
        markdown.write,
        markdown.parse,
        in_place.update_markdown,
    ),
    "json": Format("JSON", (".json",), "application/json", json.write, json.parse, in_place.update_json),
    "yaml": Format("YAML", (".yaml", ".yml"), "application/yaml", _write_yaml, _parse_yaml, _update_yaml),
    # Without a byte order mark Excel reads CSV files in its own code page; other readers pass over it.
    "csv": Format("CSV", (".csv",), "text/csv", csv.write, csv.parse, in_place.update_csv, mark="\ufeff"),
    "html": Format("HTML page", (".html", ".htm"), "text/html", page.write),
    "mermaid": Format("Mermaid diagram", (".mmd", ".mermaid"), "text/vnd.mermaid", mermaid.write),
    "ipynb": Format("Notebook", (".ipynb",), "application/x-ipynb+json", outline.write),
}
