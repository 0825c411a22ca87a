"""The coverage of a plan as a heat map: events down, what is covered across."""

from __future__ import annotations

from collections.abc import Iterable

from svctoolkit.pictures import Cell, HeatMap
from svctoolkit.plans.coverage import EVENTS, GROUPS

_COLUMNS = {EVENTS: "event"}


def coverage_map(covered: Iterable[tuple[str, str]], missing: Iterable[tuple[str, str]]) -> HeatMap:
    """Return the picture of (group, item) pairs of `svctoolkit.plans.coverage`."""
    items = dict.fromkeys(missing, False) | dict.fromkeys(covered, True)
    names = [item for group, item in items if group == EVENTS]
    cells: dict[tuple[str, str], Cell] = {}
    # The longest name first: an event may be called like the beginning of another one.
    ordered = sorted(names, key=len, reverse=True)
    for (group, item), is_covered in items.items():
        event = next((name for name in ordered if item == name or item.startswith(f"{name}: ")), "")
        if event:
            key = event, _COLUMNS.get(group, group)
            part, total = cells.get(key, (0, 0))
            cells[key] = Cell(part + is_covered, total + 1)
    return HeatMap("Coverage of the tracking plan", sorted(names), [_COLUMNS.get(g, g) for g in GROUPS], cells)
