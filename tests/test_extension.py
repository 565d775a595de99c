"""Loading hooks things in, unloading takes all of them out again, and reloading keeps what runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pydantic_ai import Agent, Tool

from acp_notebook import Call, Say, ScriptedModel, Session, current
from harness.cells import Cells, started
from harness.sessions import pending, until
from harness.wire import Frontend


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with started() as shell:
        load_lazy: Any = getattr(shell.magics_manager, "load_all_lazy_magics", None)
        if load_lazy:  # IPython 9 brings its own magics in when they are first used
            load_lazy()
        yield shell


def hooks(shell: InteractiveShell) -> dict[str, Any]:
    """Everything in a shell that an extension can hang itself into."""
    manager: Any = shell.magics_manager
    formatter: Any = shell.display_formatter
    return {
        "events": {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()},
        "cleanup": list(shell.input_transformers_cleanup),
        "lines": list(shell.input_transformer_manager.line_transforms),
        "tokens": list(shell.input_transformer_manager.token_transformers),
        "post": list(shell.input_transformers_post),
        "syntax trees": list(shell.ast_transformers),
        "matchers": list(shell.Completer.custom_matchers),
        "magics": {kind: set(table) for kind, table in manager.magics.items()},
        "registry": set(manager.registry),
        "configurables": list(shell.configurables),
        "formatters": {mime: dict(f.type_printers) for mime, f in formatter.formatters.items()},
        "bundles": dict(formatter.mimebundle_formatter.type_printers),
        "displays": dict(formatter.ipython_display_formatter.type_printers),
        "variables": set(shell.user_ns),
        "display hook": (sys.displayhook, sys.excepthook, shell.custom_exceptions),
    }


def gated() -> Agent[None, str]:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("gate")
        yield Say(result.text)

    return Agent(model, name="gated", tools=[Tool(lambda: "open", name="gate", requires_approval=True)])


def running_session(cells: Cells) -> Session:
    cells.run('%config AcpMagics.on_unattended = "wait"')
    cells.variables["agent"] = gated()
    cells.run("%acp start agent\n%acp ask --bg go")
    session = current()
    assert session is not None
    until(session, pending(1))
    return session


def test_unloading_leaves_nothing_behind(shell: InteractiveShell, no_threads_left: None) -> None:
    before = hooks(shell)
    shell.run_line_magic("load_ext", "acp_notebook")
    cells = Cells(shell)
    session = running_session(cells)
    turn = session.turns[-1]
    for name in ("agent", *(name for name in shell.user_ns if name.startswith("_"))):
        if name not in before["variables"]:
            del shell.user_ns[name]
    shell.run_line_magic("unload_ext", "acp_notebook")
    assert turn.stop_reason == "cancelled"
    assert session.state.closed
    assert current() is None
    assert hooks(shell) == before
    assert "UsageError: Line magic function `%acp` not found." in cells.try_run("%acp status").text


def test_nb_04_load_ext_twice(shell: InteractiveShell) -> None:
    """The field case says `%acp prompt`: it is `ask` here. A session in this process has no child."""
    cells = Cells(shell)
    before = hooks(shell)
    cells.run("%load_ext acp_notebook")
    loaded = hooks(shell)
    session = running_session(cells)
    seen: list[object] = []
    session.subscribe(lambda state, event: seen.append(event))
    for line in ("%load_ext acp_notebook", "%reload_ext acp_notebook", "import acp_notebook as a"):
        cells.run(line)
        assert {**hooks(shell), "variables": ()} == {**loaded, "variables": ()}
        assert current() is session
        assert session.turns[-1].running
    cells.run("a.load_ipython_extension(get_ipython())")
    assert {**hooks(shell), "variables": ()} == {**loaded, "variables": ()}
    cells.run("%acp plan add Load")
    assert len(seen) == 1  # one update, not one for each time that the extension was loaded
    cells.run("%acp approve")
    assert session.turns[-1].wait(20).text == "open"
    cells.run("%unload_ext acp_notebook")
    assert {**hooks(shell), "variables": ()} == {**before, "variables": ()}
    cells.run("%load_ext acp_notebook\n%acp start demo")


def test_a_setting_survives_a_reload(shell: InteractiveShell) -> None:
    cells = Cells(shell)
    cells.run('%load_ext acp_notebook\n%config AcpMagics.on_unattended = "allow"\n%reload_ext acp_notebook')
    assert cells.run("%config AcpMagics.on_unattended").value == "allow"


def test_a_magic_of_the_user_s_own_comes_back(shell: InteractiveShell) -> None:
    shell.register_magic_function(lambda line: f"mine: {line}", "line", "acp")
    cells = Cells(shell)
    cells.run("%load_ext acp_notebook")
    assert "idle" in cells.run("%acp start\n%acp status").text
    cells.run("%unload_ext acp_notebook")
    assert cells.run("%acp status").value == "mine: status"


def test_settings_of_the_kernel_s_start_hold() -> None:
    with started(AcpMagics={"on_unattended": "allow"}) as shell:
        cells = Cells(shell)
        cells.run("%load_ext acp_notebook")
        cells.variables["agent"] = gated()
        assert cells.run("%acp start agent\nt = %acp ask go\nt.text").value == "open"


def test_loading_is_silent_and_brings_nothing_heavy() -> None:
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "acp_notebook")
heavy = ("pydantic_ai", "pydantic", "anywidget", "ipywidgets", "ipykernel", "jupyter_client", "nest_asyncio2")
print(*[name for name in heavy if name in sys.modules])
"""
    found = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (found.stdout, found.stderr) == ("\n", "")


@pytest.mark.once
def test_in_a_kernel_unloading_closes_the_widgets(notebook_kernel: Frontend) -> None:
    page = notebook_kernel
    page.run("%load_ext acp_notebook")
    page.run("import threading; threads = set(threading.enumerate())")
    page.run("%acp start demo\n%acp plan add Load\n%acp plan")
    page.run("%acp")
    page.run("%acp ask --bg Clean the survey data")
    assert len(page.widgets()) == 3
    page.run("%unload_ext acp_notebook")
    page.wait(lambda: not page.widgets(), what="the end of all widgets")
    # pyzmq keeps a thread of its own from the first large message on
    ours = "not type(t).__module__.startswith('zmq.')"
    assert page.value(f"[t.name for t in set(threading.enumerate()) - threads if {ours}]") == []
    assert "`%acp` not found" in page.execute("%acp status").stderr
    page.run(
        "%load_ext acp_notebook\n%acp start demo\nt = %acp ask hello\nassert t.stop_reason == 'end_turn'"
    )
