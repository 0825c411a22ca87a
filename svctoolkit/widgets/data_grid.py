"""A table of any size to sort, search and scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.grid.grid import Grid

if TYPE_CHECKING:
    import pandas as pd


class DataGrid(controls.Explorer):
    """A result, a frame, Arrow data (pyarrow, Polars, DuckDB) or a list of dicts as a grid.

    >>> DataGrid(replay("month.ndjson", workspace))  # doctest: +SKIP

    The rows stay in the kernel. A click on a column sorts, the search finds text in any column (`refused`), in one
    (`status: failed`), or numbers (`http_status >= 400`). `selected` is the selected row by column. Raises
    `ConfigError` for data without rows.
    """

    # Any: whatever holds rows
    def __init__(self, data: Any, *, caption: str = "Rows") -> None:
        self._caption, self._grid = caption, Grid(caption, self._pick)
        self._grid.show(data)
        super().__init__([self._grid.box])

    def frame(self) -> pd.DataFrame:
        """Return the rows that the search finds, all columns, in the order of the grid."""
        return self._grid.found_frame()

    def static(self) -> Html:
        """The first rows as a table."""
        return display.page(self._grid.static(self._caption))

    def __repr__(self) -> str:
        return f"<DataGrid: {len(self._grid.frame):,} rows>"

    # Any: an anywidget, which marimo shows as it is
    def _display_(self) -> Any:
        return self._grid.box

    def _pick(self, number: int) -> None:
        self._select(**{str(name): value for name, value in self._grid.frame.iloc[number].items()})
