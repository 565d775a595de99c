"""The patch from what is painted to what should be."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.views.html import Html, tag
from acp_notebook.views.parts import Memo, Part, Patch, Run, all_parts, assemble, diff, layout, slot_name


def parts(*keys: str, slot: str = "") -> list[Part]:
    return [Part(key, slot, tag("p", key)) for key in keys]


def patch(painted: Sequence[Part | Run], wanted: Sequence[Part | Run]) -> Patch:
    return diff(layout(painted), layout(wanted))


def applied(painted: list[Part], patch: Patch) -> dict[str, list[Part]]:
    """What static/acp.js does with a patch: slot → parts in order."""
    slots: dict[str, list[Part]] = {}
    for part in painted:
        if part.key not in patch.drop:
            slots.setdefault(part.slot, []).append(part)
    for key, html, *place in patch.set:
        (old,) = [part for row in slots.values() for part in row if part.key == key] or [None]
        new = Html(html) if html is not None else old.html
        if not place:
            row = slots[old.slot]
            row[row.index(old)] = old._replace(html=new)
            continue
        slot, after = place
        for row in slots.values():
            row[:] = [part for part in row if part.key != key]
        row = slots.setdefault(slot, [])
        at = 0 if after is None else [part.key for part in row].index(after) + 1
        row.insert(at, Part(key, slot, new))
    return {slot: row for slot, row in slots.items() if row}


def by_slot(wanted: list[Part]) -> dict[str, list[Part]]:
    return {slot: list(run) for slot, run in layout(wanted).items()}


SOME = st.lists(
    st.builds(
        Part, st.sampled_from("abcdefgh"), st.sampled_from(["", "s"]), st.sampled_from([Html("1"), Html("2")])
    ),
    unique_by=lambda part: part.key,
)


@given(SOME, SOME)
def test_a_patch_makes_the_page_what_is_wanted(painted: list[Part], wanted: list[Part]) -> None:
    assert applied(painted, patch(painted, wanted)) == by_slot(wanted)


def test_nothing_changed_is_nothing_sent() -> None:
    assert patch(parts("a", "b"), parts("a", "b")) == Patch([], [])


def test_only_what_changed_is_sent() -> None:
    before = parts(*"abcd")
    changed = [*before[:2], Part("c", "", Html("<p>new</p>")), before[3]]
    assert patch(before, changed) == Patch([("c", "<p>new</p>")], [])
    assert patch(before, parts(*"abcde")) == Patch([("e", "<p>e</p>", "", "d")], [])
    assert patch(before, parts(*"acd")) == Patch([], ["b"])
    assert patch(before, parts(*"abxcd")) == Patch([("x", "<p>x</p>", "", "b")], [])


def test_a_part_that_moves_is_not_sent_again() -> None:
    before = parts(*"abcdefgh")
    assert patch(before, parts(*"bcdefgha")) == Patch([("a", None, "", "h")], [])
    assert patch(before, parts(*"habcdefg")) == Patch([("h", None, "", None)], [])
    assert patch(before, parts(*"abfcdegh")) == Patch([("f", None, "", "b")], [])
    assert patch(before, [*parts(*"abcdefg"), *parts("h", slot="a")]) == Patch(
        [("h", "<p>h</p>", "a", None)], []
    )


def test_a_run_is_kept_as_it_is() -> None:
    rows = tuple(parts("x", "y", slot="s"))
    made = layout([*parts("s"), rows, *parts("t"), *parts("u", "v", slot="t"), ()])
    assert made["s"] is rows and list(made) == ["", "s", "t"]
    assert [part.key for part in all_parts(made)] == list("stxyuv")
    assert [part.key for part in layout([rows, *parts("z", slot="s")])["s"]] == list("xyz")


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
    memo.inner("turn", 1)("k", make, other, True, "x")
    memo.inner("turn", 1)("k", make, other, True, "x")
    assert len(made) == 4
    memo.inner("turn", 2)("k", make, other, True, "x")
    assert len(made) == 5


def test_memo_looks_into_inputs_that_belong_together() -> None:
    memo = Memo()
    one = object()
    first = memo("k", list, Part("a", "b", one))
    assert memo("k", list, Part("a", "b", one)) is first
    assert memo("k", list, Part("a", "c", one)) is not first


def test_slot_names_of_any_id() -> None:
    assert slot_name("plan", 'a.b"\u202e') == "plan.a~2eb~22~202e"
    assert slot_name("plan", "a.b") != slot_name("plan.a", "b")
