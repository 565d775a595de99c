"""What `%load_ext acp_notebook` and `%unload_ext acp_notebook` do. All that is hooked in comes out again."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

#: What takes each shell back to how it was.
_loaded: dict[Any, ExitStack] = {}


def load_ipython_extension(shell: Any) -> None:
    """Register the magics and hooks. Done twice, it does nothing the second time."""
    if shell in _loaded:
        return
    from .kernel.lane import lane
    from .kernel.transform import AwaitTransform
    from .magics.complete import matcher
    from .magics.magic import AcpMagics
    from .magics.question import AcpQuestion
    from .magics.table import COMMANDS
    from .notebook import close_all
    from .plan import Plan

    with ExitStack() as undo:
        undo.callback(lane.close)
        undo.callback(close_all)
        magics = AcpMagics(shell)
        _registered(undo, shell, magics)
        waiting = [command.name for command in COMMANDS.values() if command.run_async]
        _appended(undo, shell.input_transformers_post, AwaitTransform(shell, waiting))
        _appended(undo, shell.input_transformer_manager.token_transformers, AcpQuestion)
        _appended(undo, shell.Completer.custom_matchers, matcher(shell))
        plans = shell.display_formatter.mimebundle_formatter
        undo.callback(_put_back(plans.type_printers, Plan))
        plans.for_type(Plan, magics.plan_bundle)
        _loaded[shell] = undo.pop_all()


def unload_ipython_extension(shell: Any) -> None:
    """Close the sessions, with their turns and widgets, and take everything out that loading put in.

    `%reload_ext` unloads first: that is no reason to end a session, so nothing happens then.
    """
    if shell not in _loaded or _reloading():
        return
    _loaded.pop(shell).close()


def _reloading() -> bool:
    from IPython.core.extensions import ExtensionManager

    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not ExtensionManager.reload_extension.__code__:
        frame = frame.f_back
    return frame is not None


def _appended(undo: ExitStack, items: list[Any], item: Any) -> None:
    items.append(item)
    undo.callback(items.remove, item)


def _registered(undo: ExitStack, shell: Any, magics: Any) -> None:
    """Register magics. IPython has no way to take them out again, or to bring back what they replaced."""
    manager = shell.magics_manager
    for kind, names in magics.magics.items():
        table = manager.magics[kind]
        for name in names:
            undo.callback(_put_back(table, name))
    undo.callback(manager.registry.pop, type(magics).__name__, None)
    undo.callback(shell.configurables.remove, magics)
    shell.register_magics(magics)


def _put_back(table: dict[Any, Any], key: Any) -> Callable[[], None]:
    """What makes `table[key]` again what it is now."""
    before = table.get(key)

    def put_back() -> None:
        if before is None:
            table.pop(key, None)
        else:
            table[key] = before

    return put_back
