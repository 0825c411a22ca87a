"""Counts that flow through columns, from left to right."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

from svctoolkit.display import Html, quantity
from svctoolkit.displayed import printable
from svctoolkit.pictures import _axes
from svctoolkit.pictures._canvas import OTHERS, WIDTH, Key, Numbers, Tone, figure, number, rect, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A name for each column, and the tone.
Flow: TypeAlias = tuple[tuple[str, ...], Tone]
_Link: TypeAlias = tuple[int, str, str, Tone]  # from a column to the next one
_Band: TypeAlias = tuple[float, float, float, float, float]
_MOST_NODES: Final = 10  # in a column
_MOST_LINKS: Final = 400
_NODE, _PITCH, _GAP, _TOP, _TALL = 10, 19, 6, 22, 260


@dataclass(frozen=True, slots=True)
class Sankey:
    """Counts by path: `flows` maps the names of a path, one for each of the `columns`, and its tone to a count.

    Each column shows its ten largest names, the rest together as `others`. `legend` explains the tones, `note` what
    is counted.
    """

    title: str
    columns: Sequence[str]
    flows: Mapping[Flow, int]
    legend: Sequence[Key] = ()
    thing: str = "event"
    note: str = ""

    def merged(self) -> dict[Flow, int]:
        """Return the counts with the small names of each column merged, the largest first."""
        names = [Counter[str]() for _ in self.columns]
        for (path, _), count in self.flows.items():
            for of, name in zip(names, path, strict=True):
                of[name] += count
        shown = [_shown(of) for of in names]
        merged = Counter[Flow]()
        for (path, tone), count in self.flows.items():
            merged[tuple(of[name] for of, name in zip(shown, path, strict=True)), tone] += count
        return dict(merged.most_common())

    def html(self) -> Html:
        """Return the picture; empty without counts."""
        flows = self.merged()
        total = sum(flows.values())
        if not total:
            return Html("")
        tones = {tone for _, tone in flows}
        of = Counter[str]()
        for (_, tone), count in flows.items():
            of[tone] += count
        keys = [key for key in self.legend if key.tone in tones]
        parts = ", ".join(f"{of[key.tone]:,} {key.name}" for key in keys)
        says = f"{quantity(total, self.thing)} by {', '.join(self.columns)}" + (f"; {parts}" if parts else "")
        names = {key.tone: key.name for key in keys}
        rows = [[*path, names.get(tone, ""), count] for (path, tone), count in flows.items()]
        shapes, height, left_out = _draw(self.columns, flows, total)
        notes = [*filter(None, [self.note]), *([f"{left_out:,} small flows are not drawn"] if left_out else [])]
        numbers = Numbers([*self.columns, "outcome", f"{self.thing}s"], rows)
        return figure(self.title, shapes, height, says=says, numbers=numbers, legend=keys, notes=notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` if matplotlib is missing."""
        ax, flows = _axes.axes(ax, 10, 6), self.merged()
        if flows:
            nodes, _ = _place(len(self.columns), flows, sum(flows.values()))
            links = _links(flows)
            bands = _bands(links, nodes, _TALL / sum(flows.values()))
            _axes.ribbons(ax, self.columns, [band for _, band in bands], [link[3] for link, _ in bands])
            places = [
                (node.x + _NODE, node.y + node.height / 2, name, node.count)
                for of in nodes
                for name, node in of.items()
            ]
            _axes.labels(ax, [(x, y, f" {name} {count:,}") for x, y, name, count in places])
        return ax


def _shown(names: Counter[str]) -> dict[str, str]:
    """Return name -> the name that is shown: its own, or that of the others."""
    if len(names) <= _MOST_NODES:
        return {name: name for name in names}
    largest = {name for name, _ in names.most_common(_MOST_NODES - 1)}
    others = f"{len(names) - len(largest):,} {OTHERS}"
    return {name: name if name in largest else others for name in names}


@dataclass(slots=True)
class _Node:
    x: float
    y: float
    height: float
    count: int
    left: float = 0.0  # how much of each side is taken by links
    right: float = 0.0


def _draw(columns: Sequence[str], flows: Mapping[Flow, int], total: int) -> tuple[list[str], float, int]:
    nodes, height = _place(len(columns), flows, total)
    links = _links(flows)
    largest = dict(links.most_common(_MOST_LINKS))
    shapes = _ribbons(largest, nodes, _TALL / total)
    shapes += [rect(node.x, node.y, _NODE, node.height, "node") for of in nodes for node in of.values()]
    room = WIDTH / len(columns) - _NODE - 14
    for column, (title, of) in enumerate(zip(columns, nodes, strict=True)):
        shapes.append(text(column * WIDTH / len(columns), 12, title, room=room, kind="dim"))
        for name, node in of.items():
            shapes += _label(name, node, room)
    return shapes, height, len(links) - len(largest)


def _label(name: str, node: _Node, room: float) -> list[str]:
    """Return the name and the count, on two lines if the node is tall enough."""
    x, middle = node.x + _NODE + 5, node.y + max(node.height, _PITCH - _GAP) / 2 + 4
    count = f"{node.count:,}"
    if node.height < 2 * _PITCH:
        return [text(x, middle, name, room=room, kind="halo", more=count)]
    return [text(x, middle - 8, name, room=room, kind="halo"), text(x, middle + 8, count, room=room, kind="halo")]


def _place(columns: int, flows: Mapping[Flow, int], total: int) -> tuple[list[dict[str, _Node]], float]:
    """Return the nodes of each column, the largest first, with enough room for a line of text each."""
    step = WIDTH / columns
    placed, bottom = list[dict[str, _Node]](), 0.0
    for column in range(columns):
        counts = Counter[str]()
        for (path, _), count in flows.items():
            counts[path[column]] += count
        y, of = float(_TOP), {}
        for name, count in sorted(counts.items(), key=lambda item: (item[0].endswith(OTHERS), -item[1])):
            height = max(_TALL * count / total, 1.0)
            of[name] = _Node(column * step, y, height, count)
            y += max(height + _GAP, _PITCH)
        placed.append(of)
        bottom = max(bottom, y)
    return placed, bottom


def _links(flows: Mapping[Flow, int]) -> Counter[_Link]:
    links = Counter[_Link]()
    for (path, tone), count in flows.items():
        for column in range(len(path) - 1):
            links[column, path[column], path[column + 1], tone] += count
    return links


def _bands(links: Mapping[_Link, int], nodes: Sequence[Mapping[str, _Node]], scale: float) -> list[tuple[_Link, _Band]]:
    """Return x, y, the other x and y, and the thickness of each link.

    At each node they are in the order of their other ends, so that few cross.
    """
    ends: dict[_Link, list[float]] = defaultdict(list)

    def other_left(link: _Link) -> tuple[int, float, float]:
        return link[0], nodes[link[0]][link[1]].y, nodes[link[0] + 1][link[2]].y

    def other_right(link: _Link) -> tuple[int, float, float]:
        return link[0], nodes[link[0] + 1][link[2]].y, nodes[link[0]][link[1]].y

    for link in sorted(links, key=other_left):
        node = nodes[link[0]][link[1]]
        ends[link].append(node.y + node.right)
        node.right += links[link] * scale
    for link in sorted(links, key=other_right):
        node = nodes[link[0] + 1][link[2]]
        ends[link].append(node.y + node.left)
        node.left += links[link] * scale
    bands = list[tuple[_Link, _Band]]()
    for link, count in links.items():
        column, name, other, _ = link
        x, to = nodes[column][name].x + _NODE, nodes[column + 1][other].x
        bands.append((link, (x, ends[link][0], to, ends[link][1], max(count * scale, 1.0))))
    return bands


def _ribbons(links: Mapping[_Link, int], nodes: Sequence[Mapping[str, _Node]], scale: float) -> list[str]:
    return [
        _ribbon(*band, link[3], f"{link[1]} → {link[2]}: {links[link]:,}") for link, band in _bands(links, nodes, scale)
    ]


def _ribbon(x: float, y: float, to: float, end: float, thick: float, tone: Tone, title: str) -> str:
    middle = number((x + to) / 2)
    x_, to_, y_, end_ = number(x), number(to), number(y + thick / 2), number(end + thick / 2)
    path = f"M{x_} {y_}C{middle} {y_} {middle} {end_} {to_} {end_}"
    return (
        f'<path class="ribbon {tone}" stroke-width="{number(thick)}" d="{path}">'
        f"<title>{escape(printable(title[:400]))}</title></path>"
    )
