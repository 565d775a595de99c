"""Settings as fields: what each type of option is, in which order, and what stays as it was."""

from __future__ import annotations

import re

from acp_notebook.protocol.messages import ConfigOption, ConfigValue
from acp_notebook.session.state import SessionState
from acp_notebook.views.parts import Memo, assemble
from acp_notebook.views.session import render_session
from acp_notebook.views.settings import settings

MODE = ConfigOption(
    "mode", "Mode", "mode", "ask", (ConfigValue("ask", "Ask"), ConfigValue("agent", "Agent", "All."))
)
FAST = ConfigOption("fast", "Fast", "", True, type="boolean", description="Quick answers.")
SLIDER = ConfigOption("_x", "Vendor", "_vendor", 3, type="slider")
MODELS = ConfigOption(
    "model",
    "Model",
    "model",
    "m350",
    tuple(ConfigValue(f"m{n}", f"M{n}" if n else "m0", group="Group <1>") for n in range(357)),
)


def made(*options: ConfigOption, controls: bool = True) -> list[str]:
    return [part.html for part in settings(options, "s", controls)]


def test_cfg_07_odd_options() -> None:
    vendor, fast, mode, models = (made(option)[0] for option in (SLIDER, FAST, MODE, MODELS))
    assert "data-config" not in vendor and '<bdi class="acp-value">3</bdi>' in vendor
    assert '<input type="checkbox" data-config="fast" checked>' in fast and 'title="Quick answers."' in fast
    assert (
        '<option value="ask" selected>Ask</option><option value="agent" title="All.">Agent</option>' in mode
    )
    assert 'list="acp-values-' in models and 'value="m350"' in models and "<select" not in models
    assert models.count("<option") == 357
    assert '<option value="m0">Group &lt;1&gt;</option>' in models
    assert '<option value="m350">Group &lt;1&gt;: M350</option>' in models


def test_unknown_categories_stand_behind_the_others_in_their_own_order() -> None:
    order = [re.sub("<[^>]+>", "", html).split()[0] for html in made(SLIDER, FAST, MODE)]
    assert order == ["Fast", "Mode", "Other", "Vendor"]
    assert "Other" not in "".join(made(SLIDER))


def test_groups_are_labelled_in_a_select() -> None:
    values = ConfigValue("a", "A"), ConfigValue("b", "B", group="More"), ConfigValue("c", "C", group="More")
    [html] = made(ConfigOption("size", "Size", "", "b", values))
    assert re.search(
        r'<option value="a">A</option><optgroup label="More"><option value="b" selected>B</option>'
        r'<option value="c">C</option></optgroup>',
        html,
    )


def test_a_value_that_is_not_offered_is_shown_as_the_one_in_effect() -> None:
    [html] = made(ConfigOption("thinking", "Thinking", "thought_level", "on", MODE.values))
    assert html.startswith('<label class="acp-setting"><bdi>Thinking</bdi>')
    assert '<option value="on" selected>on</option>' in html


def test_without_controls_the_names_of_the_values_are_read() -> None:
    html = "".join(made(MODE, FAST, MODELS, controls=False))
    assert re.sub("<[^>]+>", "", html).split() == ["Mode", "Ask", "Fast", "on", "Model", "M350"]
    assert "data-config" not in html


def test_a_turn_that_goes_on_does_not_send_the_settings_again() -> None:
    memo = Memo()
    before = {part.key: part for part in render_session(SessionState("s", "a", "m", config=(MODELS,)), memo)}
    running = SessionState("s", "a", "m", status="running", config=(MODELS,))
    after = {part.key: part for part in render_session(running, memo)}
    changed = {key for key in before if after.get(key) != before[key]}
    assert "head" in changed and not any("settings" in key for key in changed)
    assert "m350" in assemble(after.values())
