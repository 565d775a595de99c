"""The patch from what is painted to what should be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.views.html import Html, tag
from acp_notebook.views.parts import Memo, Part, Patch, assemble, diff, slot_name


def parts(*keys: str, slot: str = "") -> list[Part]:
    return [Part(key, slot, tag("p", key)) for key in keys]


def applied(painted: list[Part], patch: Patch) -> dict[str, list[Part]]:
    """What static/acp.js does with a patch: slot → parts in order."""
    slots: dict[str, list[Part]] = {}
    for part in painted:
        if part.key not in patch.drop:
            slots.setdefault(part.slot, []).append(part)
    for key, slot, after, html in patch.set:
        for row in slots.values():
            row[:] = [part for part in row if part.key != key]
        row = slots.setdefault(slot, [])
        at = 0 if after is None else [part.key for part in row].index(after) + 1
        row.insert(at, Part(key, slot, Html(html)))
    return {slot: row for slot, row in slots.items() if row}


def by_slot(wanted: list[Part]) -> dict[str, list[Part]]:
    slots: dict[str, list[Part]] = {}
    for part in wanted:
        slots.setdefault(part.slot, []).append(part)
    return slots


SOME = st.lists(
    st.builds(
        Part, st.sampled_from("abcdefgh"), st.sampled_from(["", "s"]), st.sampled_from([Html("1"), Html("2")])
    ),
    unique_by=lambda part: part.key,
)


@given(SOME, SOME)
def test_a_patch_makes_the_page_what_is_wanted(painted: list[Part], wanted: list[Part]) -> None:
    assert applied(painted, diff(painted, wanted)) == by_slot(wanted)


def test_nothing_changed_is_nothing_sent() -> None:
    assert diff(parts("a", "b"), parts("a", "b")) == Patch([], [])


def test_only_what_changed_is_sent() -> None:
    before = parts(*"abcd")
    changed = [*before[:2], Part("c", "", Html("<p>new</p>")), before[3]]
    assert diff(before, changed) == Patch([("c", "", "b", "<p>new</p>")], [])
    assert diff(before, parts(*"abcde")) == Patch([("e", "", "d", "<p>e</p>")], [])
    assert diff(before, parts(*"acd")) == Patch([], ["b"])
    assert diff(before, parts(*"abxcd")) == Patch([("x", "", "b", "<p>x</p>")], [])


def test_assemble_puts_parts_into_their_slots() -> None:
    made = assemble(
        [
            Part("root", "", tag("div", data_slot="in", title="<x>")),
            Part("a", "in", tag("p", tag("b", data_slot="deep"), "!")),
            Part("c", "deep", tag("i", "c")),
            Part("b", "in", tag("p", 'data-slot="in">')),
        ]
    )
    assert made == ('<div title="&lt;x&gt;"><p><b><i>c</i></b>!</p><p>data-slot=&quot;in&quot;&gt;</p></div>')


def test_memo_keeps_what_was_made_of_the_same() -> None:
    memo = Memo()
    made: list[object] = []

    def make(*given: object) -> list[object]:
        made.append(given)
        return [given]

    one, other = object(), object()
    first = memo("k", make, one, 1, "x")
    assert memo("k", make, one, 1, "".join(["x"])) is first
    assert memo("k", make, other, 1, "x") is not first
    assert memo("k", make, other, True, "x") == [(other, True, "x")]
    memo.scope(2)
    assert memo("k", make, other, True, "x") and len(made) == 4


def test_slot_names_of_any_id() -> None:
    assert slot_name("plan", 'a.b"\u202e') == "plan.a~2eb~22~202e"
    assert slot_name("plan", "a.b") != slot_name("plan.a", "b")
