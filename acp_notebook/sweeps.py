"""Sweeps as people see them: in the cell that runs one, live, and wherever one is a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .kernel.display import Output, cell, in_notebook
from .session import sweep as client

if TYPE_CHECKING:
    from .views.widget import View


class Sweep(client.Sweep):
    """A sweep that shows itself: a table, the turns, live and then folded, and at the end a picture."""

    _cell: Any = None
    _table: Output | None = None
    _live: tuple[client.SweepRow, View, Output] | None = None

    def start(self) -> None:
        if self._cell is None:
            self._cell = cell()
        super().start()

    def _show(self) -> None:
        """Show what has changed, in the cell that has begun it; a terminal shows the end alone."""
        from .views import sweep as view

        if self._cell is None:
            return
        row = self.current
        if not in_notebook():
            if row is None:
                Output(view.sweep_bundle(self))
            return
        table = view.bundle(view.table_piece(self))
        if self._table is None:
            self._table = Output(table)
        else:
            self._table.replace(table)
        if self._live is not None:
            before, live, output = self._live
            output.replace(view.bundle(view.turn_piece(before), styled=False))
            live.close()
        self._live = None if row is None else self._show_live(row)
        if row is None and (picture := view.picture_piece(self)):
            Output(view.bundle(picture, styled=False))

    def _show_live(self, row: client.SweepRow) -> tuple[client.SweepRow, View, Output]:
        from .views.widget import turn_view

        assert row.turn is not None  # which runs
        live = turn_view(row.session, row.turn.number)
        return row, live, Output(live.bundle())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from .views.sweep import sweep_bundle

        return sweep_bundle(self)

    def _ipython_display_(self) -> None:
        if self._cell is None or self._cell != cell():
            Output(self._repr_mimebundle_())
