"""A table with search, sorting, paging and selection; its rows stay in the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.widgets._base import controls

_PAGE = 15  # rows per page
_LEAST = 4
_WIDEST = 60  # maximum characters of a cell
_SPACE = "\N{NO-BREAK SPACE}"  # list options collapse other spaces


class Table:
    """Rows of cells under `columns`; `box` is the control. `pick` is called with the number of the selected row.

    A search finds rows with a string in any cell, or in one column with `column: text`. Sorting is stable; numbers come
    before texts. `show` replaces `rows`.
    """

    def __init__(self, label: str, columns: Sequence[str], pick: Callable[[int], None]) -> None:
        self._columns, self._pick = list(columns), pick
        self.rows: Sequence[Sequence[object]] = ()
        self._order: list[int] = []
        self._page = 0
        self._moving = False
        self._search = controls.text(f"Search {label.lower()}", placeholder="text, or column: text")
        self._search.continuous_update = True
        self._sort = controls.choice("Sort by", [("original order", ""), *((name, name) for name in columns)])
        self._down = controls.checkbox("descending")
        self._list = controls.listing(label, [], rows=_PAGE)
        self._list.add_class("svc-log")
        self._list.add_class("svc-headed")
        self._note, self._head = controls.html(), controls.html()
        self._back = controls.button("Previous", lambda: self._turn(-1), icon="chevron-left")
        self._next = controls.button("Next", lambda: self._turn(1), icon="chevron-right")
        for control in (self._search, self._sort, self._down):
            control.observe(lambda _: self._arrange(), "value")
        self._list.observe(lambda change: self._choose(change["new"]), "value")
        self.box = controls.group(
            "",
            controls.bar(self._search, self._sort, self._down),
            self._head,
            self._list,
            controls.bar(self._back, self._next, self._note),
        )

    def show(self, rows: Sequence[Sequence[object]]) -> None:
        """Show new rows with the current sorting and search, without a selection."""
        self.rows = rows
        self._arrange()

    def choose(self, number: int | None) -> None:
        """Select a row of this page, like a click."""
        self._list.value = number

    @property
    def found(self) -> Sequence[int]:
        """The numbers of the rows that the search finds, in the order of the table."""
        return self._order

    def static(self, caption: str) -> Html:
        """The current page as a table, for views without widgets."""
        rows = [self.rows[n] for n in self._on_page()]
        return display.table(self._columns, rows, caption=f"{caption}: {self._words()}")

    def _arrange(self) -> None:
        text = self._search.value.strip().lower()
        name, colon, of_column = text.partition(":")
        names = [column.lower() for column in self._columns]
        places = [names.index(name.strip())] if colon and name.strip() in names else list(range(len(names)))
        sought = of_column.strip() if len(places) == 1 and colon else text
        fitting = range(len(self.rows))
        order = [n for n in fitting if not sought or any(sought in str(self.rows[n][p]).lower() for p in places)]
        if self._sort.value:
            place = self._columns.index(self._sort.value)
            order.sort(key=lambda n: _key(self.rows[n][place]), reverse=self._down.value)
        self._order, self._page = order, 0
        self._paint()

    def _turn(self, by: int) -> None:
        self._page += by
        self._paint()

    def _on_page(self) -> list[int]:
        return self._order[self._page * _PAGE : (self._page + 1) * _PAGE]

    def _paint(self) -> None:
        numbers = self._on_page()
        cells = [[_text(cell) for cell in self.rows[n]] for n in numbers]
        widths = [max([len(name), *(len(row[place]) for row in cells)]) for place, name in enumerate(self._columns)]
        lines = [(_line(row, widths), n) for row, n in zip(cells, numbers, strict=True)]
        self._moving = True
        try:
            with self._list.hold_sync():
                self._list.rows = max(_LEAST, len(lines))
                self._list.options, self._list.value = lines, None
        finally:
            self._moving = False
        self._head.value = (
            f'<div class="svc-head" aria-hidden="true">{display.html(_line(self._columns, widths))}</div>'
        )
        self._note.value = display.page(Html(f'<span role="status">{self._words()}</span>'))
        self._back.disabled = self._page == 0
        self._next.disabled = (self._page + 1) * _PAGE >= len(self._order)

    def _words(self) -> str:
        if not self._order:
            return "no matching rows" if self.rows else "no rows"
        first, numbers = self._page * _PAGE, self._on_page()
        of = f" (of {len(self.rows):,})" if len(self._order) < len(self.rows) else ""
        return f"{first + 1:,} to {first + len(numbers):,} of {len(self._order):,}{of}"

    # Any: the value of the list
    def _choose(self, number: Any) -> None:
        if number is not None and not self._moving:
            self._pick(number)


def _key(cell: object) -> tuple[int, Any]:
    return (0, cell) if isinstance(cell, (int, float)) else (1, str(cell))


def _text(cell: object) -> str:
    """A cell on one line; long paths and names keep their end, sentences their beginning."""
    flat = " ".join((f"{cell:,}" if isinstance(cell, int) else str(cell)).split())
    if len(flat) <= _WIDEST:
        return flat
    return f"{flat[: _WIDEST - 1]}…" if " " in flat else f"…{flat[1 - _WIDEST :]}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).replace(" ", _SPACE)
