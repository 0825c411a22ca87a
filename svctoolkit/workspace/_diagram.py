"""A workspace as a diagram: sources on the left, destinations on the right, lines between them.

Text between the elements is not drawn; it is for views that remove SVG tags and keep the text.
"""

from __future__ import annotations

from html import escape

from svctoolkit.display import Html, quantity
from svctoolkit.workspace._items import Destination, Source
from svctoolkit.workspace._model import Workspace

_ROW, _HEIGHT, _TOP = 62, 46, 8
_SOURCE, _CODE, _DESTINATION = (8, 210), (300, 150), (530, 242)  # x and width of the three columns
_WIDTH = 780
_MOST = 30  # rows; with more, only the table is shown


def diagram(workspace: Workspace) -> Html:
    """Return the diagram as SVG; empty for an empty workspace, or for one that is too large."""
    sources, destinations = list(workspace.sources.values()), list(workspace.destinations.values())
    rows = max(len(sources), len(destinations))
    if not rows or rows > _MOST:
        return Html("")
    places = {d.key: _y(number, len(destinations), rows) for number, d in enumerate(destinations)}
    shapes = [_line(source, _y(i, len(sources), rows), places, workspace) for i, source in enumerate(sources)]
    shapes += [_source(source, _y(i, len(sources), rows)) for i, source in enumerate(sources)]
    shapes += [_destination(d, places[d.key]) for d in destinations]
    title = f"Workspace {workspace.name}"
    summary = f"{quantity(len(sources), 'source')}, {quantity(len(destinations), 'destination')}"
    summary += "; the table below shows the same"
    return Html(
        f'<svg class="diagram" role="img" viewBox="0 0 {_WIDTH} {rows * _ROW + _TOP}" '
        f'aria-label="{escape(title)}: {summary}"><title>{escape(title)}</title>: '
        f"<desc>{summary}</desc>. {''.join(shapes)}</svg>"
    )


def _y(number: int, count: int, rows: int) -> float:
    """Return the middle of a box; columns with fewer boxes are centred vertically."""
    return _TOP + _ROW * (number + (rows - count) / 2) + _HEIGHT / 2


def _source(source: Source, y: float) -> str:
    return _box(_SOURCE, y, source.name, source.type, enabled=source.enabled)


def _destination(destination: Destination, y: float) -> str:
    x, width = _DESTINATION
    drawn = _box((x, width), y, destination.name, destination.type, enabled=destination.enabled)
    if not destination.transformation:
        return drawn
    code_x, code_width = _CODE
    style = "" if destination.enabled else " off"
    return (
        f'<path class="edge{style}" d="M{code_x + code_width} {y}H{x}"/>'
        + _box((code_x, code_width), y, destination.transformation, "transformation", enabled=True)
        + drawn
    )


def _line(source: Source, y: float, places: dict[str, float], workspace: Workspace) -> str:
    start = _SOURCE[0] + _SOURCE[1]
    paths = []
    for connection in source.connections:
        if connection.destination not in places:
            continue
        destination, to = workspace.destinations[connection.destination], places[connection.destination]
        end = _CODE[0] if destination.transformation else _DESTINATION[0]
        middle = (start + _CODE[0]) / 2
        style = "" if connection.enabled and source.enabled and destination.enabled else " off"
        curve = f"M{start} {y}C{middle} {y} {middle} {to} {_CODE[0]} {to}H{end}"
        paths.append(f'<path class="edge{style}" d="{curve}"/>')
    return "".join(paths)


def _box(column: tuple[int, int], y: float, name: str, kind: str, *, enabled: bool) -> str:
    x, width = column
    room = width // 8 - 2
    label = name if len(name) <= room else f"{name[: room - 1]}…"
    below = kind if enabled else f"{kind}, disabled"
    return (
        f'<g class="node{"" if enabled else " off"}">'
        f'<rect x="{x}" y="{y - _HEIGHT / 2}" width="{width}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + 12}" y="{y - 3}">{escape(label)}</text> ('
        f'<text class="below" x="{x + 12}" y="{y + 14}">{escape(below[: width // 7])}</text>) </g>'
    )
