"""Display a history as a trend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.history.cells import Cell, merge_fields
from svctoolkit.history.model import RECENT_DAYS, History
from svctoolkit.history.shown import change_lines, change_table
from svctoolkit.history.sketches import distinct_count, quantile

_BARS = "▁▂▃▄▅▆▇█"
_MOST_DAYS = 60  # of a sparkline
_COLUMNS = ["field", "in", "types", "null or empty", "distinct", "median", "first seen", "last seen"]


@shows(History, "text")
def text(history: History) -> str:
    """Return what changed in the last week, and the events of each name by day; with one name, its fields."""
    return "\n".join(_lines(history))


def _lines(history: History) -> Iterator[str]:
    yield head(history)
    changes = history.changes()
    if changes:
        yield f"  the last {RECENT_DAYS} days, compared with the days before ({history.basis()}):"
        yield from (f"    {line}" for line in change_lines(changes))
    names = _names(history)
    width = max(map(len, names), default=0)
    for name, cells in names.items():
        counts = _by_day(history, cells)
        yield f"  {name:<{width}}  {sum(cell.events for cell in cells):,}  {_spark(counts)}"
    if len(names) == 1:
        rows = [[str(value) for value in row] for row in _fields(next(iter(names.values())))]
        widths = [max(len(row[n]) for row in [_COLUMNS, *rows]) for n in range(len(_COLUMNS))]
        for row in [_COLUMNS, *rows]:
            yield "    " + "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip()


def head(history: History) -> str:
    """Return `9,027 events, 14 names, 2026-01-05 to 2026-02-03`."""
    days = history.days
    span = f", {days[0]} to {days[1]}" if days else ""
    return f"{display.quantity(history.events, 'event')}, {display.quantity(len(_names(history)), 'name')}{span}"


def _names(history: History) -> dict[str, list[Cell]]:
    names: dict[str, list[Cell]] = {}
    for cell in history.cells():
        names.setdefault(cell.title, []).append(cell)
    return dict(sorted(names.items(), key=lambda item: (-sum(cell.events for cell in item[1]), item[0])))


def _by_day(history: History, cells: Sequence[Cell]) -> list[int]:
    """Return the number of events of each of the last days of the history."""
    if history.days is None:
        return []
    first, last = history.days
    first = max(first, last - timedelta(days=_MOST_DAYS - 1))
    counts = dict.fromkeys((first + timedelta(days=n) for n in range((last - first).days + 1)), 0)
    for cell in cells:
        if cell.day and (day := date.fromisoformat(cell.day)) in counts:
            counts[day] += cell.events
    return list(counts.values())


def _spark(counts: Sequence[int]) -> str:
    most = max(counts, default=0)
    return "".join(_BARS[min(7, count * 8 // most)] if count else "·" for count in counts) if most else ""


def _fields(cells: Sequence[Cell]) -> Iterator[list[str]]:
    """Yield a row for each field of the events of one name."""
    events = sum(cell.examined for cell in cells)
    for path in sorted({path for cell in cells for path in cell.fields}):
        having = [cell for cell in cells if path in cell.fields]
        count = merge_fields(cell.fields[path] for cell in having)
        days = sorted(cell.day for cell in having if cell.day) or [""]
        middle, values = quantile(count.numbers, 0.5), sum(count.types.values())
        yield [
            path,
            f"{min(1.0, count.present / events):.1%}",
            ", ".join(f"{kind} {many:,}" for kind, many in sorted(count.types.items(), key=lambda item: -item[1])),
            f"{count.nulls / values:.1%}" if count.nulls else "",
            f"about {distinct_count(count.distinct):,}" if count.distinct else "",
            f"{middle:g}" if middle is not None else "",
            days[0],
            days[-1],
        ]


@shows(History)
def page(history: History) -> Html:
    """Return the notebook display, which is kept when the notebook is saved."""
    return display.page(display.section(head(history)), *_blocks(history))


@shows(History, "document")
def whole_page(history: History) -> str:
    """Return a complete page."""
    return display.document("Trend", head(history), display.page(*_blocks(history)))


def _blocks(history: History) -> Iterator[Html]:
    if changes := history.changes():
        yield change_table(changes, f"the last {RECENT_DAYS} days, compared with the days before")
    names = _names(history)
    rows = [[name, sum(c.events for c in cells), _spark(_by_day(history, cells))] for name, cells in names.items()]
    yield display.table(["name", "events", "by day"], rows, caption="volumes")
    for number, (name, cells) in enumerate(names.items()):
        yield display.more(name, display.table(_COLUMNS, list(_fields(cells))), is_open=not number)
