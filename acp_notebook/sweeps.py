"""Sweeps as people see them: in the cell that runs one, live, and wherever one is a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .kernel.display import Output, cell, in_notebook
from .session import sweep as client

if TYPE_CHECKING:
    from .views.widget import View


class Sweep(client.Sweep):
    """A sweep that shows itself: a table, and while it runs the turn that is at it, then a picture."""

    _cell: Any = None
    _table: Output | None = None
    _below: Output | None = None
    _view: View | None = None

    def start(self) -> None:
        if self._cell is None:
            self._cell = cell()
        super().start()

    def _show(self) -> None:
        """Show what has changed, in the cell that has begun it; a terminal shows the end alone."""
        from .views.sweep import sweep_bundle

        if self._cell is None:
            return
        row, view = self.current, None
        if not in_notebook():
            if row is None:
                Output(sweep_bundle(self))
            return
        self._table = _put(self._table, sweep_bundle(self, picture=False))
        if row is None or row.turn is None:
            below = sweep_bundle(self, table=False)
        else:
            from .views.widget import turn_view

            view = turn_view(row.session, row.turn.number)
            below = view.bundle()
        self._below = _put(self._below, below)
        if self._view is not None:
            self._view.close()
        self._view = view

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from .views.sweep import sweep_bundle

        return sweep_bundle(self)

    def _ipython_display_(self) -> None:
        if self._cell is None or self._cell != cell():
            Output(self._repr_mimebundle_())


def _put(output: Output | None, bundle: dict[str, Any]) -> Output:
    if output is None:
        return Output(bundle)
    output.replace(bundle)
    return output
