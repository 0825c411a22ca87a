"""Build events: the members that most sources begin with, and tables that say where values go.

>>> table = FieldTable({"user.id": "userId", "user.mail": ("traits.email", "context.traits.email")})
>>> event = message("Shop")
>>> table.fill(event, {"user": {"id": "ada", "mail": None}})
>>> event["userId"], event["integrations"], "traits" in event
('ada', {'Shop': False}, False)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.sources._values import first_given, get

Event: TypeAlias = dict[str, Any]
#: Rows of a `FieldTable`: dotted paths of a webhook, and the paths of the event where their value goes.
Fields: TypeAlias = Mapping[str | tuple[str, ...], str | tuple[str, ...]]


def message(label: str, version: str = "", kind: str = "track") -> Event:
    """A new event with `context` and `integrations`, so that it does not go back to the destination of that name."""
    integration = {"name": label, "version": version} if version else {"name": label}
    return {
        "context": {"library": {"name": "unknown", "version": "unknown"}, "integration": integration},
        "integrations": {label: False},
        "type": kind,
    }


def put(event: Event, path: tuple[str, ...], value: Json) -> None:
    """Set the value at a path; what is in the way and is not an object is replaced."""
    node = event
    for key in path[:-1]:
        child = node.get(key)
        if not isinstance(child, dict):
            child = node[key] = {}
        node = child
    node[path[-1]] = value


def has(event: Event, path: tuple[str, ...]) -> bool:
    """Whether there is a value that is not null at a path."""
    node: Any = event
    for key in path:
        if not isinstance(node, dict):
            return False
        node = node.get(key)
        if node is None:
            return False
    return True


class FieldTable:
    """Says which values of a webhook go where: dotted paths of the webhook to one dotted path of the event or several.

    Null counts as missing. A path that already has a value keeps it: of several rows the first wins. A row with several
    sources takes the first that is not an empty text either. `paths` are the sources, and `roots` their first members,
    for mappings that copy the rest.
    """

    __slots__ = ("_rows", "paths", "roots")

    def __init__(self, rows: Fields) -> None:
        self._rows: list[tuple[list[tuple[str, ...]], list[tuple[str, ...]]]] = []
        for of, into in rows.items():
            sources = [of] if isinstance(of, str) else of
            targets = [into] if isinstance(into, str) else into
            self._rows.append(
                ([tuple(path.split(".")) for path in sources], [tuple(path.split(".")) for path in targets])
            )
        self.roots = frozenset(path[0] for paths, _ in self._rows for path in paths)
        self.paths = frozenset(".".join(path) for paths, _ in self._rows for path in paths)

    def fill(self, event: Event, webhook: Json) -> None:
        """Copy the values into the event. A webhook that is a text or a number is itself the value of every path."""
        for paths, targets in self._rows:
            value = webhook if not isinstance(webhook, _NESTED) else _find(webhook, paths)
            if value is None:
                continue
            for target in targets:
                if not has(event, target):
                    put(event, target, value)


def _find(webhook: Json, paths: list[tuple[str, ...]]) -> Json:
    if len(paths) == 1:
        return lookup(webhook, paths[0])
    return first_given(*(lookup(webhook, path) for path in paths))


_NESTED = (dict, list)


def lookup(value: Json, path: tuple[str, ...]) -> Json:
    """The value at a path; a member whose name has dots is found, too. None for what is missing."""
    for number, key in enumerate(path):
        if isinstance(value, dict):
            below = value.get(key)
            if below is None and key not in value:
                return _dotted(value, path[number:])
            value = below
        elif isinstance(value, list):
            value = get(value, key)
        else:
            return None
    return value


def _dotted(value: dict[str, Any], path: tuple[str, ...]) -> Json:
    """The value at a path whose first keys are one member's name."""
    for end in range(2, len(path) + 1):
        name = ".".join(path[:end])
        if name in value:
            return lookup(value[name], path[end:])
    return None


def without_null_members(event: Event) -> Event:
    """The event without its top-level members that are null."""
    return {key: value for key, value in event.items() if value is not None}
