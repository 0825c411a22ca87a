"""A grid in the page: its widget asks for the rows in view, and gets them from the kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

    `pick` is called with the key of the selected row: its number in `frame`, unless `show` gets other keys. `height` is
    the number of rows to see at once. A `plain` grid has no search, and no summaries of its columns. Thread-safe, so
    that the rows can change while they are used.
    """

    def __init__(self, label: str, pick: Callable[[int], None], *, height: int = 12, plain: bool = False) -> None:
        self._pick, self._plain = pick, plain
        self._rows = Rows(frame_of([]), plain=plain)
        self._lock = threading.RLock()
        self._mover = 0  # the thread that changes the widget, so that its changes are not the user's
        self.box = _grid_type()(label=label, height=height, plain=plain)
        self.box.observe(lambda _: self._arrange(), ["search", "sort", "descending"])
        self.box.observe(self._ask, "window")
        self.box.observe(lambda change: self._choose(change["new"]), "picked")

    # Any: whatever holds rows
    def show(self, data: Any, columns: Sequence[str] = (), keys: Sequence[int] | None = None) -> None:
        """Show other rows (see `frame_of`) with the current sorting and search, from the top, without a selection."""
        with self._moving():
            self._rows = Rows(frame_of(data, columns), keys, plain=self._plain)
            self.box.columns = self._rows.columns()
            self._arrange()

    # Any: whatever holds rows
    def update(self, data: Any, columns: Sequence[str], keys: Sequence[int], selected: int = -1) -> None:
        """Show the same rows with other content, or more or fewer of them: the view stays where it is.

        `selected` is the key of the row to show as selected. Rows with equal keys are the same row.
        """
        with self._moving():
            self._rows = Rows(frame_of(data, columns), keys, plain=self._plain)
            widths = {column["name"]: column["width"] for column in self.box.columns}
            news = self._rows.columns()
            # Columns that get narrower and wider while events arrive are hard to read.
            self.box.columns = [{**new, "width": max(new["width"], widths.get(new["name"], 0))} for new in news]
            self._arrange(selected, keep=True)

    def choose(self, key: int) -> None:
        """Select a row by its key, like a click."""
        self.box.picked = key

    def mark(self, key: int) -> None:
        """Show a row as selected, without a call of `pick`."""
        with self._moving():
            self.box.picked = key

    @property
    def frame(self) -> pd.DataFrame:
        """All rows, in their original order."""
        return self._rows.frame

    @property
    def found(self) -> list[int]:
        """The keys of the rows that the search finds, in the order of the grid."""
        return self._rows.keys_found()

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

    def _arrange(self, picked: int = -1, *, keep: bool = False) -> None:
        """Sort and search. With `keep`, the page stays at its rows; else it begins at the top."""
        box = self.box
        with self._moving(), box.hold_sync():
            self._rows.arrange(box.search, box.sort, descending=box.descending)
            place = self._rows.place(picked)
            counts = {"found": len(self._rows.found), "all": len(self._rows.frame), "version": self._version()}
            box.counts = counts | {"keep": keep, "place": place}
            box.picked = picked
            if not keep or not box.window:
                box.window = [0, _VIEW]
            self._send(*box.window)

    def _version(self) -> int:
        """A new number: rows with another one are out of date."""
        return int(self.box.counts.get("version", 0)) + 1

    def _ask(self, change: dict[str, Any]) -> None:
        """The page is scrolled to other rows."""
        if self._mover != threading.get_ident():
            self._send(*change["new"])

    def _send(self, first: int, last: int) -> None:
        with self._lock:
            cells, version = self._rows.cells(first, last), self.box.counts["version"]
            numbers = self._rows.keys_found(first, last)
            self.box.page = {"first": first, "cells": cells, "numbers": numbers, "version": version}

    def _choose(self, key: int) -> None:
        if key >= 0 and self._mover != threading.get_ident():
            self._pick(key)

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """A change of the widget that is not the user's."""
        with self._lock:
            before, self._mover = self._mover, threading.get_ident()
            try:
                yield
            finally:
                self._mover = before


@cache
def _grid_type() -> Any:
    import anywidget

    class GridView(anywidget.AnyWidget):  # type: ignore[misc]  # untyped if not installed
        """The page sets `search`, `sort`, `descending`, `window` (first and last row) and `picked` (a row's key)."""

        _esm = (_HERE / "view.js").read_text("utf-8")
        _css = (_HERE / "view.css").read_text("utf-8")
        label = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        plain = traitlets.Bool().tag(sync=True)
        columns = traitlets.List().tag(sync=True)
        counts = traitlets.Dict().tag(sync=True)
        page = traitlets.Dict().tag(sync=True)
        window = traitlets.List().tag(sync=True)
        search = traitlets.Unicode().tag(sync=True)
        sort = traitlets.Unicode().tag(sync=True)
        descending = traitlets.Bool().tag(sync=True)
        picked = traitlets.Int(-1).tag(sync=True)

    return GridView
