"""Config options from the wire: what is valid as it is, of the rest what can be shown."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook.protocol import v2
from acp_notebook.protocol.messages import ConfigOption, ConfigOptionUpdate, ConfigValue, Fault

Json = dict[str, Any]


def read(*options: Any) -> tuple[tuple[ConfigOption, ...], list[str]]:
    update, *faults = v2.read(
        {"update": {"sessionUpdate": "config_option_update", "configOptions": list(options)}}
    )
    assert isinstance(update, ConfigOptionUpdate)
    return update.options, [fault.text for fault in faults if isinstance(fault, Fault)]


ODD: list[Json] = [
    {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": True},
    {
        "id": "ctx",
        "name": "Context",
        "category": "model_config",
        "type": "select",
        "currentValue": "big",
        "options": [{"value": "big", "name": "Big"}],
    },
    {"id": "_x", "name": "Vendor", "category": "_vendor", "type": "slider", "currentValue": 3},
    {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "m350",
        "options": [
            {
                "group": "g1",
                "name": "Group",
                "options": [{"value": f"m{n}", "name": f"M{n}"} for n in range(357)],
            }
        ],
    },
]


def test_cfg_07_odd_options() -> None:
    options, faults = read(*ODD)
    assert faults == []
    assert [(option.id, option.type, option.category, option.current) for option in options] == [
        ("fast", "boolean", "", True),
        ("ctx", "select", "model_config", "big"),
        ("_x", "slider", "_vendor", 3),
        ("model", "select", "model", "m350"),
    ]
    assert len(options[3].values) == 357
    assert options[3].values[350] == ConfigValue("m350", "M350", group="Group")


def test_names_of_both_versions_and_what_may_be_left_out() -> None:
    options, faults = read(
        {"configId": "effort", "currentValue": "high", "options": [{"value": "low"}, {"value": "high"}]},
        {"id": "web", "currentValue": False, "description": "Search."},
        {
            "id": "groups",
            "currentValue": "b",
            "options": [{"value": "a"}, {"group": "g", "options": [{"value": "b"}]}],
        },
    )
    assert faults == []
    assert options == (
        ConfigOption(
            "effort", "effort", "", "high", (ConfigValue("low", "low"), ConfigValue("high", "high"))
        ),
        ConfigOption("web", "web", "", False, type="boolean", description="Search."),
        ConfigOption("groups", "groups", "", "b", (ConfigValue("a", "a"), ConfigValue("b", "b", group="g"))),
    )


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (7, "option 1: it is a number, not an object"),
        ({"name": "Fast"}, "option 1: its 'id' is null, not a text"),
        (
            {"id": "f", "type": "boolean", "currentValue": "yes"},
            "the text 'yes', which does not fit its type",
        ),
        (
            {"id": "f", "type": "select"},
            "the value of 'f' is null, which does not fit its type the text 'select'",
        ),
        ({"id": "f", "type": 7, "currentValue": True}, "does not fit its type a number"),
    ],
)
def test_one_that_cannot_be_shown_is_left_out_and_said(option: Any, why: str) -> None:
    options, [fault] = read(option, ODD[0], ODD[0])
    assert [option.id for option in options] == ["fast"]
    assert why in fault
    assert "option 3: there is one 'fast' before it" in fault


def test_what_is_no_list_changes_nothing() -> None:
    [fault] = v2.read({"update": {"sessionUpdate": "config_option_update", "configOptions": {"id": "x"}}})
    assert isinstance(fault, Fault)
    assert (fault.kind, "'configOptions' is an object, not a list" in fault.text) == ("update refused", True)
