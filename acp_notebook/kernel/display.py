"""Outputs of the running cell: shown once, replaced in place. Nothing happens where there is no IPython."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from .running import kernel, shell

Bundle = Mapping[str, Any]


def in_notebook() -> bool:
    """Whether outputs can be live: this process is a Jupyter kernel."""
    return kernel() is not None


def cell() -> tuple[int, int] | None:
    """What stands for the cell that runs now, or None outside of IPython."""
    ipython = shell()
    return None if ipython is None else (id(ipython), ipython.execution_count)


class Output:
    """An output of the running cell, made of a MIME bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._id = uuid4().hex
        self.show(bundle)

    def show(self, bundle: Bundle) -> None:
        """Show it in the running cell, too: `replace` then holds for all cells that do."""
        self._publish(bundle, update=False)

    def replace(self, bundle: Bundle) -> None:
        """Put `bundle` in the output's place, also in the saved notebook. A terminal shows it anew."""
        self._publish(bundle, update=in_notebook())

    def _publish(self, bundle: Bundle, update: bool) -> None:
        if bundle and shell() is not None:
            from IPython import display

            publish: Any = getattr(display, "publish_display_data")  # noqa: B009 (it has no types)
            publish(dict(bundle), transient={"display_id": self._id}, update=update)
