"""A grid in the page: its widget asks for the rows in view, and gets them from the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.widgets._base.grid.rows import Rows, frame_of

if TYPE_CHECKING:
    import pandas as pd

_HERE = Path(__file__).parent
_STATIC = 15  # rows of the static view
_VIEW = 60  # rows that are sent before the page asks


class Grid:
    """A table that can be sorted, searched and scrolled; `box` is its widget. Only the rows in view are in the page.

    `pick` is called with the number of the selected row in `frame`. `height` is the number of rows to see at once.
    """

    def __init__(self, label: str, pick: Callable[[int], None], *, height: int = 12) -> None:
        self._pick, self._rows = pick, Rows(frame_of([]))
        self._moving = False
        self.box = _grid_type()(label=label, height=height)
        self.box.observe(lambda _: self._arrange(), ["search", "sort", "descending"])
        self.box.observe(self._ask, "window")
        self.box.observe(lambda change: self._choose(change["new"]), "picked")

    # Any: whatever holds rows
    def show(self, data: Any, columns: Sequence[str] = ()) -> None:
        """Show other rows (see `frame_of`) with the current sorting and search, without a selection."""
        self._rows = Rows(frame_of(data, columns))
        self.box.columns = self._rows.columns()
        self._arrange()

    def choose(self, number: int) -> None:
        """Select a row by its number in `frame`, like a click."""
        self.box.picked = number

    def mark(self, number: int) -> None:
        """Show a row as selected, without a call of `pick`."""
        self._moving = True
        try:
            self.box.picked = number
        finally:
            self._moving = False

    @property
    def frame(self) -> pd.DataFrame:
        """All rows, in their original order."""
        return self._rows.frame

    @property
    def found(self) -> list[int]:
        """The numbers of the rows that the search finds, in the order of the grid."""
        return [int(number) for number in self._rows.found]

    def found_frame(self) -> pd.DataFrame:
        """The rows that the search finds, in the order of the grid."""
        return self._rows.frame.iloc[self._rows.found]

    def static(self, caption: str) -> Html:
        """The first rows as a table, for views without widgets."""
        count, of = len(self._rows.found), len(self._rows.frame)
        shown = min(count, _STATIC)
        words = f"{count:,}{f' of {of:,}' if count < of else ''} rows"
        if not count:
            words = "no matching rows" if of else "no rows"
        elif shown < count:
            words = f"1 to {shown} of {words}"
        heads = [
            Html(f"{display.html(column['name'])}<br>{column['bars']}") if column["bars"] else column["name"]
            for column in self._rows.columns()
        ]
        return display.table(heads, self._rows.cells(0, shown), caption=f"{caption}: {words}")

    def _arrange(self) -> None:
        box = self.box
        self._rows.arrange(box.search, box.sort, descending=box.descending)
        self._moving = True
        try:
            with box.hold_sync():
                box.counts = {"found": len(self._rows.found), "all": len(self._rows.frame), "version": self._version()}
                box.picked, box.window = -1, [0, _VIEW]
                self._send(0, _VIEW)
        finally:
            self._moving = False

    def _version(self) -> int:
        """A new number: rows with another one are out of date."""
        return int(self.box.counts.get("version", 0)) + 1

    def _ask(self, change: dict[str, Any]) -> None:
        """The page is scrolled to other rows."""
        if not self._moving:
            self._send(*change["new"])

    def _send(self, first: int, last: int) -> None:
        found = self._rows.found
        numbers = [int(number) for number in found[first:last]]
        cells, version = self._rows.cells(first, last), self.box.counts["version"]
        self.box.page = {"first": first, "cells": cells, "numbers": numbers, "version": version}

    def _choose(self, number: int) -> None:
        if number >= 0 and not self._moving:
            self._pick(number)


@cache
def _grid_type() -> Any:
    import anywidget

    class GridView(anywidget.AnyWidget):  # type: ignore[misc]  # untyped if not installed
        """The page sets `search`, `sort`, `descending`, `window` (first and last row) and `picked` (a row's number)."""

        _esm = (_HERE / "view.js").read_text("utf-8")
        _css = (_HERE / "view.css").read_text("utf-8")
        label = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        columns = traitlets.List().tag(sync=True)
        counts = traitlets.Dict().tag(sync=True)
        page = traitlets.Dict().tag(sync=True)
        window = traitlets.List().tag(sync=True)
        search = traitlets.Unicode().tag(sync=True)
        sort = traitlets.Unicode().tag(sync=True)
        descending = traitlets.Bool().tag(sync=True)
        picked = traitlets.Int(-1).tag(sync=True)

    return GridView
