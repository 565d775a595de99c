"""Plan updates as they come over a wire: what the official schemas allow, and what is nearly that."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

Json = dict[str, Any]

_SCHEMAS = Path(__file__).parents[1] / "protocol" / "schemas"


def schema(version: str, definition: str) -> Draft202012Validator:
    """What checks a JSON value against one of the official definitions."""
    whole = json.loads((_SCHEMAS / f"{version}.json").read_text(encoding="utf-8"))
    return Draft202012Validator({**whole, "$ref": f"#/$defs/{definition}"})


def params(update: Any) -> Any:
    """The `params` of the notification, after a line of JSON."""
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    return json.loads(json.dumps(message))["params"]


texts = st.text(max_size=6) | st.sampled_from(["Load", "- [ ] plot", "a\nb", "\u202e", "𝒳"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
ids = st.sampled_from(["p1", "p2", "p3", ""])
statuses = st.sampled_from(["pending", "in_progress", "completed", "cancelled", "_blocked", "later"])
priorities = st.sampled_from(["high", "medium", "low", "_soon", "urgent"])
extras = st.dictionaries(st.sampled_from(["title", "id", "later", "_own", "text"]), values, max_size=2)
ours = st.fixed_dictionaries(
    {},
    optional={
        "acp-notebook/title": texts | values,
        "acp-notebook/id": texts | values,
        "acp-notebook/author": st.sampled_from(["person", "file", "replay", "model", "nobody"]) | values,
        "acp-notebook/undoes": st.integers(-1, 3) | values,
        "traceparent": values,
        "title": values,
    },
)
metas = st.none() | ours | st.dictionaries(texts, values, max_size=2)


def objects(members: dict[str, Any], more: Any = extras, meta: Any = metas) -> st.SearchStrategy[Json]:
    """Objects with these members, perhaps a `_meta`, and others that no schema names."""
    known = st.fixed_dictionaries(members, optional={"_meta": meta})
    return st.builds(lambda more, known: {**more, **known}, more, known)


def entries(statuses: Any = statuses, priorities: Any = priorities, meta: Any = metas) -> Any:
    entry = objects({"content": texts, "priority": priorities, "status": statuses}, meta=meta)
    return st.lists(entry, max_size=4)


def plans(entries: Any) -> st.SearchStrategy[Json]:
    """Plans of the types that are known."""
    uris = st.sampled_from(["file:///tmp/plan.md", "https://example.org/plan", "untitled:plan"])
    return (
        objects({"type": st.just("items"), "planId": ids, "entries": entries})
        | objects({"type": st.just("markdown"), "planId": ids, "content": texts})
        | objects({"type": st.just("file"), "planId": ids, "uri": uris})
    )


unknown_plans = objects(
    {"type": st.sampled_from(["_board", "hologram", ""]), "planId": ids},
    st.dictionaries(
        st.sampled_from(["entries", "content", "uri", "columns"]), values | entries(), max_size=3
    ),
    values,
)


def updates(plans: Any) -> st.SearchStrategy[Json]:
    return objects({"sessionUpdate": st.just("plan_update"), "plan": plans}) | objects(
        {"sessionUpdate": st.just("plan_removed"), "planId": ids}
    )


#: Updates that the schema of v2 allows.
valid_updates = updates(plans(entries()) | unknown_plans)


@st.composite
def nearly(draw: st.DrawFn, valid: st.SearchStrategy[Json]) -> Json:
    """A valid update in which up to three members or items are gone, or are something else."""
    update = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(0, 3))):
        places = list(_places(update))
        if places:
            container, key = places[draw(st.integers(0, len(places) - 1))]
            if draw(st.booleans()):
                del container[key]
            else:
                container[key] = draw(values)
    return update


def _places(value: Any, depth: int = 4) -> Iterator[tuple[Any, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inside:
        yield value, key
        if depth:
            yield from _places(member, depth - 1)


def normal(update: Json) -> Json:
    """The update without what means the same as leaving it out: `"_meta": null`."""

    def without(value: Json) -> Json:
        return {name: member for name, member in value.items() if name != "_meta" or member is not None}

    update = without(update)
    plan = update.get("plan", {})
    if plan.get("type") in ("items", "markdown", "file"):
        update["plan"] = plan = without(plan)
    if plan.get("type") == "items":
        plan["entries"] = [without(entry) for entry in plan["entries"]]
    if update.get("sessionUpdate") == "plan":
        update["entries"] = [without(entry) for entry in update["entries"]]
    return update
