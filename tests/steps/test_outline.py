"""What steps would do, told before any of them runs. Pure: nothing here calls a tool."""

from __future__ import annotations

from typing import Any

from pydantic_core import SchemaValidator, core_schema

from acp_notebook.steps.check import check
from acp_notebook.steps.outline import Outline, entries, line, outline
from acp_notebook.steps.secrets import RunSecrets
from acp_notebook.steps.tools import StepOptions, StepTool
from harness.steps import reference, step

ANY = SchemaValidator(core_schema.any_schema())


def tool(name: str, *parameters: str, secret: str = "", **more: Any) -> StepTool:
    properties = {
        name: {"type": "string", "format": "password"} if name == secret else {} for name in parameters
    }
    schema = {"type": "object", "properties": properties}
    return StepTool(name, "", schema, {}, properties, frozenset(), frozenset(parameters), ANY, **more)


TOOLS = {
    one.name: one
    for one in (
        tool("make", "x", "y"),
        tool("login", "user", "pin", "token", secret="pin"),
        tool("drop", "x", gated=True, options=StepOptions(side_effects=True, timeout=5)),
        tool("read", "x", options=StepOptions(idempotent=True, retries=2)),
    )
}


def outlined(*steps: dict[str, Any], parallel: bool = False) -> Outline:
    checked = check(list(steps), TOOLS).steps
    return outline(
        checked, lambda step: "asks a person first" if step.tool.gated else None, parallel=parallel
    )


def call(**given: Any) -> str:
    return line(
        check([{"id": "a", "tool": "make", "args": {}}, {"id": "b", **given}], TOOLS).steps[1], RunSecrets()
    )


def test_references_are_arrows_which_no_text_can_look_like() -> None:
    assert call(tool="make", args={"x": reference("a", "p", 0), "y": "← a.p"}) == 'make(x=← a.p.0, y="← a.p")'
    assert call(tool="make", args={"x": [reference("a"), {"k": 1}]}) == 'make(x=[← a, {"k": 1}])'


def test_secrets_are_masked_by_name_and_by_declaration() -> None:
    args = {"user": "me", "pin": "4711-secret", "token": "sesame"}
    assert call(tool="login", args=args) == 'login(user="me", pin="••••••", token="••••••")'
    assert call(tool="login", args={"pin": reference("a")}) == "login(pin=← a)"
    steps = check([step("l", "login", **args)], TOOLS).steps
    known = RunSecrets(steps)
    assert known.texts == ["4711-secret", "sesame"]
    assert "4711-secret" not in repr(entries(steps, known)) and "sesame" not in repr(entries(steps, known))


def test_long_values_are_short_and_lines_stay_lines() -> None:
    shown = call(tool="make", args={"x": "a\nb" * 10_000, "y": list(range(10_000))})
    assert len(shown) <= 200 and "\n" not in shown and "…" in shown
    assert all(
        len(value) <= 2_000
        for e in entries(check([step("l", "make", x="y" * 9_000)], TOOLS).steps, RunSecrets())
        for value in e.meta["acp-notebook/step"]["arguments"].values()
    )  # type: ignore[index]


def test_circumstances_are_said() -> None:
    first, loop = (
        step("a", "make"),
        {**step("b", "read", x=reference("item")), "for_each": reference("a", "l")},
    )
    gated = {**step("c", "drop", x=1), "when": {"value": reference("a"), "greater_than": 3}}
    facts = [row.facts for row in outlined(first, loop, gated).rows]
    assert facts[0] == ()
    assert facts[1] == ("for each of ← a.l", "up to 3 tries")
    assert facts[2] == ("asks a person first", "only when ← a greater than 3", "side effects", "at most 5 s")


def test_stages_follow_references_and_side_effects_stand_alone() -> None:
    steps = [
        step("a", "make"),
        step("b", "make", x=reference("a")),
        step("c", "read"),
        step("d", "drop"),
        step("e", "read"),
        step("f", "make", x=reference("e")),
    ]
    together = [(row.stage, row.step_id) for row in outlined(*steps, parallel=True).rows]
    assert together == [(1, "a"), (1, "c"), (2, "b"), (3, "d"), (4, "e"), (5, "f")]
    assert [row.stage for row in outlined(*steps).rows] == [1, 2, 3, 4, 5, 6]


def test_every_form_is_harmless_and_shows_what_misleads() -> None:
    shown = outlined(step("a|<b>", "make", x="<script>alert(1)</script> \u202e *x* | `y` $z$"))
    bundle = shown._repr_mimebundle_()
    assert "<script" not in bundle["text/html"] and "a|&lt;b&gt;" in bundle["text/html"]
    assert "<script" not in bundle["text/markdown"] and "a\\|&lt;b>" in bundle["text/markdown"]
    assert "\\*x\\*" in bundle["text/markdown"] and "\\$z\\$" in bundle["text/markdown"]
    for text in bundle.values():
        assert "\u202e" not in text and "U+202E" in text
    assert "<script" not in shown.diagram


def test_an_id_cannot_look_like_another_step() -> None:
    shown = outlined(step("a\n2. z  look()", "make", x=1))
    assert str(shown).count("\n") == 1 and shown._repr_mimebundle_()["text/markdown"].count("\n") == 4


def test_the_diagram_follows_references_also_those_of_conditions() -> None:
    steps = (
        step("a", "make"),
        step("b", "make"),
        {**step("c", "make", x=reference("a")), "when": reference("b")},
    )
    assert [line.strip() for line in outlined(*steps).diagram.splitlines() if "-->" in line] == [
        "s1 --> s3",
        "s2 --> s3",
    ]
