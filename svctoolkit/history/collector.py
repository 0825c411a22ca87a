"""Counts events for a history. Values are kept until the end of a chunk only, and then become sketches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any
from zlib import crc32

from svctoolkit import personal
from svctoolkit.events import Event
from svctoolkit.history.cells import Cell, FieldCount, Key, Part, merge_cells, merge_fields
from svctoolkit.history.sketches import buckets, distinct
from svctoolkit.history.values import KINDS, event_time, type_of
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable

_FIRST = 10  # events of a cell that are examined in any case,
_MOST_FIRST = 200  # but not more in a chunk: the cost stays within a tenth of a replay
_ONE_IN = 32  # of all others
_ITEMS = 3  # of a list
_MOST_FIELDS = 500  # per cell; limits memory if keys contain values
_MOST_CELLS = 5_000  # per chunk; limits memory if names or versions contain values
#: Members that are different in each event: counting their values says nothing.
_ENVELOPE = frozenset({"messageId", "originalTimestamp", "receivedAt", "rudderId", "sentAt", "timestamp"})


class _Node:
    """A path in the events of a cell, and the values there. `present` counts events, for paths in lists."""

    __slots__ = ("below", "last", "path", "present", "values")

    def __init__(self, path: str) -> None:
        self.path = path
        self.below: dict[str, _Node] = {}
        self.values: list[Any] = []
        self.last = self.present = 0


class _Open:
    """A cell that still grows."""

    __slots__ = ("events", "examined", "outcomes", "paths", "root")

    def __init__(self) -> None:
        self.events = self.examined = self.paths = 0
        self.root = _Node("")
        self.outcomes: dict[str, dict[str, int]] = {}

    def examine(self, event: Mapping[str, Json]) -> None:
        self.examined += 1
        self._walk(event, self.root)

    def _walk(self, value: Mapping[str, Any], owner: _Node) -> None:
        below = owner.below
        for key, inner in value.items():
            node = below.get(key) or self._node(owner, key)
            kind = type(inner)
            if kind is dict and inner:
                self._walk(inner, node)
            elif kind is list and inner and type(inner[0]) is dict:
                self._walk_list(inner, node)
            else:
                node.values.append(inner)

    def _walk_list(self, items: list[Any], owner: _Node) -> None:
        """Count the members of the items of a list; a member in two items is in one event."""
        node = owner.below.get("*") or self._node(owner, "*")
        for item in items[:_ITEMS]:
            for key, value in item.items() if isinstance(item, dict) else ():
                inner = node.below.get(key) or self._node(node, key)
                inner.values.append(value)
                if inner.last != self.examined:
                    inner.last = self.examined
                    inner.present += 1

    def _node(self, owner: _Node, key: str) -> _Node:
        if self.paths >= _MOST_FIELDS:
            key = "…"
            if key in owner.below:
                return owner.below[key]
        self.paths += 1
        step = str(key).replace(".", "\\.")
        node = owner.below[key] = _Node(f"{owner.path}.{step}" if owner.path else step)
        return node


class Collector:
    """Counts the events of one chunk after another. `mask` hides secrets in names.

    All events are counted. The fields are those of the first events of each cell, and of one in 32 others, chosen
    by their ids; with `examines_all`, those of all events.
    """

    def __init__(self, mask: Callable[[str], str] = str, *, examines_all: bool = False) -> None:
        self._mask, self._examines_all = mask, examines_all
        self._thorough = 0
        self._open: dict[Key, _Open] = {}
        self._at: dict[int, _Open] = {}
        self._first, self._events = "", 0

    # Any: events
    def begin(self, event: Mapping[str, Any]) -> None:
        """Note the first event of an input, which identifies it."""
        if not self._first:
            self._first = blake2b(encode(event), digest_size=16).hexdigest()

    # Any: events
    def add(self, *events: Mapping[str, Any], whole: Callable[[int], Mapping[str, Any]] | None = None) -> None:
        """Count events, and remember them until the next call, for their outcomes.

        If they have only the members that identify a cell, and `messageId`, `whole` returns one by its position.
        """
        self._at.clear()
        for position, event in enumerate(events):
            key = key_of(event)
            if key not in self._open and len(self._open) >= _MOST_CELLS:
                key = (key[0], key[1], "…", "", "", "")
            cell = self._open.get(key)
            if cell is None:
                cell = self._open[key] = _Open()
            self._at[id(event)] = cell
            cell.events += 1
            self._events += 1
            first = cell.events <= _FIRST and self._thorough < _MOST_FIRST
            self._thorough += first
            if first or self._examines_all or not _number(event) % _ONE_IN:
                cell.examine(whole(position) if whole else event)

    # Any: events
    def count(self, event: Mapping[str, Any], destination: str, status: str) -> None:
        """Count the outcome of an event of the latest call of `add`."""
        cell = self._at.get(id(event))
        if cell is not None:
            outcomes = cell.outcomes.get(destination)
            if outcomes is None:
                outcomes = cell.outcomes[destination] = {}
            outcomes[status] = outcomes.get(status, 0) + 1

    def finish(self, name: str = "") -> Part:
        """Return what was counted, as a part of the input with this name, and start anew."""
        names: dict[str, str] = {}

        def hide(text: str) -> str:
            if text not in names:
                names[text] = storable(personal.replace_in_text(self._mask(text), personal.mask))
            return names[text]

        cells = []
        for (day, *texts), counted in self._open.items():
            type_, event, channel, library, app = map(hide, texts)
            cells.append(_close(Cell(day, type_, event, channel, library, app), counted, hide))
        part = Part(name, self._first, self._events, merge_cells(cells))
        self._open, self._first, self._events, self._thorough = {}, "", 0, 0
        self._at.clear()
        return part


# Any: events
def key_of(event: Mapping[str, Any]) -> Key:
    """Return the day, type, name, channel, library and app version of an event."""
    view = Event(event)
    context = view.context
    library, app = context.get("library"), context.get("app")
    day = _day(event)
    channel = event.get("channel") or context.get("channel")
    return (
        day,
        view.type,
        view.name,
        channel if isinstance(channel, str) else "",
        _version(library, "name"),
        _version(app, ""),
    )


def _day(event: Mapping[str, Json]) -> str:
    """Return the day of the event in UTC, or an empty string."""
    at = event_time(event)
    return at.date().isoformat() if at is not None else ""


def _version(owner: Json, name: str) -> str:
    """Return the version, after the name if that is wanted."""
    if type(owner) is not dict and not isinstance(owner, Mapping):
        return ""
    title, version = owner.get(name) if name else "", owner.get("version")
    if not isinstance(version, str) or not version:
        return title if isinstance(title, str) else ""
    return f"{title} {version}" if isinstance(title, str) and title else version


# Any: events
def _number(event: Mapping[str, Any]) -> int:
    """Return a number that the event's id decides."""
    return crc32(str(event.get("messageId")).encode("utf-8", "replace"))


def _close(cell: Cell, counted: _Open, hide: Callable[[str], str]) -> Cell:
    cell.events, cell.examined = counted.events, counted.examined
    cell.outcomes = {hide(destination): counts for destination, counts in counted.outcomes.items()}
    cell.fields = {}
    nodes = list(counted.root.below.values())
    for node in nodes:
        nodes += node.below.values()  # while it is read: breadth first
        if node.values:
            path, count = hide(node.path), _field(node)
            cell.fields[path] = merge_fields([cell.fields[path], count]) if path in cell.fields else count
    return cell


def _field(node: _Node) -> FieldCount:
    """Return the counts of the values at one path. Equal values are examined once."""
    types: Counter[str] = Counter()
    texts: list[str] = []
    numbers: Counter[float] = Counter()
    for kind, many in Counter(map(type, node.values)).items():
        if kind is str and node.path in _ENVELOPE:
            types["text"] += many
        elif kind is str:
            for text, count in Counter(v for v in node.values if type(v) is str).items():
                types[type_of(text) if text else "empty text"] += count
                texts.append(text)
        else:
            types[KINDS.get(kind, "object")] += many
            if kind in (int, float):
                numbers.update(v for v in node.values if type(v) is kind)
    texts += map(repr, numbers)
    if types["boolean"]:
        texts += {repr(v) for v in node.values if type(v) is bool}
    sketch = distinct(texts) if texts else b""
    return FieldCount(node.present or len(node.values), dict(types), sketch, buckets(numbers))
