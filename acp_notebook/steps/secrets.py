"""The secrets of one run: they are masked wherever anything is told of it, whichever step tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

from pydantic import BaseModel, SecretBytes, SecretStr

from ..log import recent
from ..masking import forms, marked, marked_where, redacted, says_secret, secret_values, secrets_in
from .isolate import ATOMS
from .paths import NoSuchPath, follow
from .plan import ITEM, Step
from .references import Place, Reference, resolve
from .tools import StepTool


@dataclass(frozen=True, slots=True)
class _Way:
    """Where in a result a value is that is passed on as a secret: at `path`, and `inside` each element."""

    name: str
    path: Place
    inside: Place | None = None

    def values(self, result: Any) -> Iterator[Any]:
        try:
            found = follow(result, self.path)
        except NoSuchPath:
            return
        if self.inside is None:
            yield found
        elif isinstance(found, list | tuple):
            for item in cast("Sequence[Any]", found):
                try:
                    yield follow(item, self.inside)
                except NoSuchPath:
                    continue


class RunSecrets:
    """What is known of the secrets of a run by now: `texts`, the longest first, as they may stand in others.

    At first those are the secrets among the arguments of all steps, literal ones and those of a condition.
    A result adds to them what a step passes on as a secret, and each `SecretStr`.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.texts: list[str] = []
        self._ways: dict[str, list[_Way]] = {}
        for step in steps:
            self._add_step(step)

    def add(self, args: Any, schema: Any) -> None:
        """Take up the secrets among the arguments of a call, JSON-like, by the schema of its tool."""
        self._know(secrets_in(marked(args, schema)))

    def _add_step(self, step: Step) -> None:
        references: dict[str, Reference] = {}

        def stand_in(reference: Reference) -> str:
            name = f"\0{len(references)}"
            references[name] = reference
            return name

        given: dict[str, Any] = defaults(step.tool)
        given |= {name: resolve(node, stand_in) for name, node in step.args.items()}
        found = list(secret_values(marked(given, step.tool.parameters)))
        if step.when is not None:
            *_, last = (step.when.value.step, *map(str, step.when.value.path))
            found += secret_values(step.when.other, last)
        for name, value in found:
            if isinstance(value, str) and (reference := references.get(value)) is not None:
                self._follow(step, reference, name if says_secret(name) else "secret")
            else:
                self._know(forms(value))

    def _follow(self, step: Step, reference: Reference, name: str) -> None:
        if reference.step != ITEM or step.for_each is None:
            self._ways.setdefault(reference.step, []).append(_Way(name, reference.path))
        else:
            way = _Way(name, step.for_each.path, reference.path)
            self._ways.setdefault(step.for_each.step, []).append(way)

    def learn(self, step_id: str, result: Any) -> None:
        """Take up the secrets in what a step returned."""
        if self._ways:
            for way in self._ways.get(step_id, ()):
                for value in way.values(result):
                    self._know(secrets_in({way.name: _told(value)}))
        if type(result) not in ATOMS and not _is_flat(result):
            with suppress(RecursionError):  # it holds itself
                self._know([text for secret in _secrets(result) for text in forms(secret)])

    def _know(self, texts: Iterable[str]) -> None:
        if new := set(texts).difference(self.texts):
            self.texts[:] = sorted({*self.texts, *new}, key=len, reverse=True)
            recent.hide(new)

    def marked(self, value: Any) -> Any:
        """`value`, JSON-like, with the texts marked that have one of them in it."""
        return marked_where(value, self.texts)

    def masked(self, value: Any) -> Any:
        """`value`, JSON-like, without them."""
        return redacted(value, self.texts) if self.texts else value


def defaults(tool: StepTool) -> dict[str, Any]:
    """What a tool takes for arguments that are called secrets, where a step says nothing else."""
    return {
        name: schema["default"]
        for name, schema in tool.properties.items()
        if says_secret(name) and isinstance(schema, dict) and "default" in schema
    }


def _is_flat(value: Any) -> bool:
    """Whether a value is a mapping or a list of nothing but texts, numbers and the like, as most are."""
    if type(value) is dict:
        return ATOMS.issuperset(map(type, cast("dict[Any, Any]", value).values()))
    return type(value) is list and ATOMS.issuperset(map(type, cast("list[Any]", value)))


def _told(value: Any) -> Any:
    """A value as JSON-like data, with what it hides told."""
    return next(_secrets(value), None) if isinstance(value, SecretStr | SecretBytes) else value


def _secrets(value: Any) -> Iterator[str]:
    """What is declared as a secret in a value, at any depth that Python's own data has."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode("utf-8", "replace")
    elif isinstance(value, Mapping):
        yield from _within(cast("Mapping[Any, Any]", value).values())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from _within(cast("Iterable[Any]", value))
    elif isinstance(value, BaseModel):
        yield from _within(value.__dict__.values())
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _within(getattr(value, field.name, None) for field in fields(value))


def _within(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if type(value) not in ATOMS:
            yield from _secrets(value)
