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

Event: TypeAlias = dict[str, Any]


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

    Null counts as missing. A path that already has a value keeps it: of several sources the first wins.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Mapping[str, str | tuple[str, ...]]) -> None:
        self._rows: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [
            (
                tuple(of.split(".")),
                [tuple(to.split(".")) for to in ((targets,) if isinstance(targets, str) else targets)],
            )
            for of, targets in rows.items()
        ]

    def fill(self, event: Event, webhook: Json) -> None:
        """Copy the values into the event."""
        for path, targets in self._rows:
            value = webhook
            for key in path:
                if not isinstance(value, dict):
                    value = None
                    break
                value = value.get(key)
            if value is None:
                continue
            for target in targets:
                if not has(event, target):
                    put(event, target, value)


def without_null_members(event: Event) -> Event:
    """The event without its top-level members that are null."""
    return {key: value for key, value in event.items() if value is not None}
