"""`%acp`: the session's panel, which acts on the session and follows it wherever a change comes from."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from harness.jupyter import App, NotebookPage
from harness.live import SURVEY, card, setting, view

Use = Callable[..., NotebookPage]


def test_it_shows_the_session(use_notebook: Use, app: App) -> None:
    page = use_notebook(["%load_ext acp_notebook", "%acp"], app)
    page.run(0)
    page.run(1)
    panel = view(page, 1)
    expect(panel.locator(".acp-agent")).to_have_text("demo")
    expect(panel.locator(".acp-model")).to_contain_text("no language model")
    expect(panel.get_by_role("status")).to_have_text("ready")
    expect(setting(panel, "Mode")).to_have_value("agent")
    expect(setting(panel, "Thinking")).to_have_value("default")
    expect(panel.locator(".acp-plan")).to_contain_text("No steps yet.")
    expect(panel.get_by_role("button", name="Cancel turn")).to_have_count(0)


def test_selectors_and_magics_change_the_same_session(use_notebook: Use, app: App) -> None:
    page = use_notebook(
        [
            SURVEY,
            "%acp",
            "%acp",
            "print(current().mode, current().effort)",
            "%acp mode plan",
            "%acp effort low",
        ],
        app,
    )
    for index in range(3):
        page.run(index)
    first, second = view(page, 1), view(page, 2)
    setting(first, "Mode").select_option("ask")
    setting(second, "Thinking").select_option("high")
    expect(setting(second, "Mode")).to_have_value("ask")
    expect(setting(first, "Thinking")).to_have_value("high")
    page.run(3)
    expect(page.output(3)).to_have_text("ask high")
    page.run(4)
    page.run(5)
    for panel in (first, second):
        expect(setting(panel, "Mode")).to_have_value("plan")
        expect(setting(panel, "Thinking")).to_have_value("low")


#: A session with a switch of the host's own, one that stays on, and a model to choose among very many.
RICH = (
    SURVEY
    + """
from acp_notebook import AdapterConfig, ConfigOption

class Switches:
    web = True
    def get_config_options(self, session, agent):
        return [ConfigOption("web", "Web search", "", self.web, type="boolean"),
                ConfigOption("safe", "Safe", "", True, type="boolean")]
    def set_config_option(self, session, agent, config_id, value):
        if config_id == "web":
            self.web = value

models = [(f"m{n}", model) for n in range(357)]
config = AdapterConfig(config_options_provider=Switches())
Session(agent, name="rich", model="m350", models=models, config=config)
"""
)


def test_settings_of_every_kind_change_from_both_sides(use_notebook: Use) -> None:
    shown = "s = current(); print(s.mode, s.effort, s.model, s.config_options[-2].current)"
    changes = "%acp mode ask\n%acp effort low\n%acp model m7\n%acp config web on"
    page = use_notebook([RICH, "%acp", shown, changes])
    page.run(0)
    page.run(1)
    panel = view(page, 1)
    web, model = panel.get_by_role("checkbox", name="Web search"), setting(panel, "Model")
    expect(model).to_have_value("m350")
    expect(web).to_be_checked()
    setting(panel, "Mode").select_option("plan")
    setting(panel, "Thinking").select_option("high")
    web.uncheck()
    model.fill("m123")
    model.press("Enter")
    expect(model).to_have_value("m123")
    page.run(2)
    expect(page.output(2)).to_have_text("plan high m123 False")
    page.run(3)
    expect(setting(panel, "Mode")).to_have_value("ask")
    expect(setting(panel, "Thinking")).to_have_value("low")
    expect(model).to_have_value("m7")
    expect(web).to_be_checked()
    model.fill("m3000")
    model.press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("model 'm3000' is not offered: use m")
    expect(model).to_have_value("m7")
    panel.get_by_role("checkbox", name="Safe").click()
    expect(panel).to_contain_text("Safe: False was not taken; in effect is True.")
    expect(panel.get_by_role("checkbox", name="Safe")).to_be_checked()


def test_a_refused_choice_shows_the_value_in_effect(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp"])
    page.run(0)
    page.run(1)
    mode = setting(view(page, 1), "Mode")
    mode.evaluate("(select) => select.add(new Option('Reckless', 'reckless'))")  # as an outdated page might
    mode.select_option("reckless")
    expect(view(page, 1).get_by_role("alert")).to_contain_text("'reckless'")
    expect(mode).to_have_value("agent")


def test_a_mode_chosen_while_a_turn_runs_holds_from_its_next_step(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp", "%acp ask --out turn drop survey"])
    page.run(0)
    page.run(1)
    page.start(2)
    expect(card(page, 1)).to_be_visible()
    setting(view(page, 1), "Mode").select_option("plan")
    expect(setting(view(page, 1), "Mode")).to_be_enabled()
    card(page, 1).get_by_role("button", name="Allow once").click()
    page.wait_done(2)
    expect(view(page, 2).locator(".acp-message")).to_contain_text("may not be used in mode 'plan'")


def test_a_turn_in_the_background_is_answered_from_the_panel(use_notebook: Use, app: App) -> None:
    page = use_notebook(
        [SURVEY, "%acp", "%acp ask --bg --out turn drop survey", "print(turn.running, turn.text)"], app
    )
    for index in range(3):
        page.run(index)  # the cell is done at once
    expect(card(page, 2)).to_be_visible()
    card(page, 1).get_by_role("button", name="Allow once").click()
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")
    expect(view(page, 1).get_by_role("status")).to_have_text("ready")
    expect(view(page, 2).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")
    expect(view(page, 2).get_by_role("button")).to_have_count(0)
    page.run(3)
    expect(page.output(3)).to_have_text("False The answer is: dropped from survey.")


def test_a_turn_in_the_background_is_cancelled_from_the_panel(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp", "%acp ask --bg drop survey", "%acp status"])
    for index in range(3):
        page.run(index)
    expect(card(page, 1)).to_be_visible()
    view(page, 1).get_by_role("button", name="Cancel turn").click()
    expect(view(page, 1).get_by_role("status")).to_have_text("ready · last turn cancelled")
    expect(view(page, 2)).to_contain_text("The turn was cancelled.")
    page.run(3)
    expect(page.output(3)).to_contain_text("turn 1 cancelled")


# -- plan ------------------------------------------------------------------------------------------------


def test_the_plan_is_edited_in_the_panel(use_notebook: Use, app: App) -> None:
    shown = "for entry in current().plan: print(entry.content, entry.status, end='; ')"
    page = use_notebook([SURVEY, "%acp", shown], app)
    page.run(0)
    page.run(1)
    panel = view(page, 1)
    entries = panel.locator("li.acp-entry")
    field = panel.get_by_label("Add a step")
    expect(field).to_be_enabled()  # the kernel has answered: before, keys would go to Jupyter
    for number, step in enumerate(("load", "clean", "report"), 1):
        field.click()
        page.tab.keyboard.type(step)
        page.tab.keyboard.press("Enter")
        assert field.input_value() == ""  # at once, not only when the kernel has answered
        expect(entries).to_have_count(number)
    entries.nth(0).hover()
    entries.nth(0).get_by_role("button", name="Mark as done").click()
    expect(entries.nth(0)).to_have_attribute("data-status", "completed")
    entries.nth(2).hover()
    entries.nth(2).get_by_role("button", name="Move up").click()
    expect(entries.nth(1)).to_contain_text("report")
    entries.nth(2).hover()
    entries.nth(2).get_by_role("button", name="Remove").click()
    expect(entries).to_have_count(2)
    page.run(2)
    expect(page.output(2)).to_have_text("load completed; report pending;")


def test_magics_change_the_plan_in_every_view(use_notebook: Use) -> None:
    edits = (
        "%acp plan add look --priority high\n%acp plan add 'drop rows'\n%acp plan done 1\n%acp plan move 2 1"
    )
    page = use_notebook([SURVEY, "%acp", "%acp plan", edits, "current().set_plan(['from Python'])"])
    for index in range(4):
        page.run(index)
    for place in (1, 2):
        expect(view(page, place).locator("li.acp-entry .acp-text")).to_have_text(
            ["drop rows, pending", "look, completed, high priority"]
        )
    page.run(4)
    for place in (1, 2):
        expect(view(page, place).locator("li.acp-entry .acp-text")).to_have_text(["from Python, pending"])


# -- pages -----------------------------------------------------------------------------------------------


def test_two_pages_on_one_notebook(open_notebook: Use) -> None:
    page = open_notebook(
        [SURVEY + "%acp plan add look", "%acp", "%acp mode plan", "%acp ask --bg drop survey"]
    )
    page.run(0)
    page.run(1)
    page.save()
    other = open_notebook(page.path)
    expect(setting(view(other, 1), "Mode")).to_be_enabled()
    page.run(2)
    expect(setting(view(other, 1), "Mode")).to_have_value("plan")
    setting(view(other, 1), "Mode").select_option("agent")
    expect(setting(view(page, 1), "Mode")).to_have_value("agent")
    page.run(3)
    card(other, 1).get_by_role("button", name="Allow once").click()
    for panel in (view(page, 1), view(other, 1)):
        expect(panel.locator(".acp-message")).to_have_text("The answer is: dropped from survey.")
    assert page.errors == other.errors == []


def test_after_a_reload_an_approval_can_still_be_answered(open_notebook: Use, app: App) -> None:
    """Jupyter does not reconnect a running cell to its outputs, but what was saved of them is live again."""
    page = open_notebook([SURVEY, "%acp", "%acp ask --out turn drop survey", "print(turn.text)"], app=app)
    page.run(0)
    page.run(1)
    page.start(2)
    expect(card(page, 2)).to_be_visible()
    page.save()
    page.tab.reload()
    for place in (1, 2):
        expect(card(page, place).get_by_role("button", name="Allow once")).to_be_visible()
    card(page, 2).get_by_role("button", name="Allow once").click()
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")
    page.run(3)
    expect(page.output(3)).to_have_text("The answer is: dropped from survey.")
    assert page.errors == []


def test_after_a_reload_the_cell_keeps_the_turn(open_notebook: Use) -> None:
    page = open_notebook([SURVEY, "%acp ask drop survey", "1"])
    page.run(0)
    page.start(1)
    expect(card(page, 1)).to_be_visible()
    page.save()
    page.tab.reload()
    card(page, 1).get_by_role("button", name="Allow once").click()
    page.run(2)
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")
