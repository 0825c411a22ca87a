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


#: A path of the event: the objects above, and the member.
_Target: TypeAlias = tuple[tuple[str, ...], str]


class FieldTable:
    """Says which values of a webhook go where: dotted paths of the webhook to one dotted path of the event or several.

    Null counts as missing. A path that already has a value keeps it: of several rows the first wins. A row with several
    sources takes the first that is not an empty text either. `paths` are the sources, and `roots` their first members,
    for mappings that copy the rest.
    """

    __slots__ = ("_parents", "_rows", "paths", "roots")

    def __init__(self, rows: Fields) -> None:
        #: The objects that the rows read from, which are looked up once: the webhook itself comes first.
        self._parents: dict[tuple[str, ...], int] = {(): 0}
        self._rows: list[tuple[list[tuple[int, str]], list[_Target]]] = []
        for of, into in rows.items():
            paths = [tuple(path.split(".")) for path in ([of] if isinstance(of, str) else of)]
            targets = [tuple(path.split(".")) for path in ([into] if isinstance(into, str) else into)]
            sources = [(self._parents.setdefault(path[:-1], len(self._parents)), path[-1]) for path in paths]
            self._rows.append((sources, [(target[:-1], target[-1]) for target in targets]))
        names = [of for row in rows for of in ([row] if isinstance(row, str) else row)]
        self.paths = frozenset(names)
        self.roots = frozenset(name.partition(".")[0] for name in names)

    def fill(self, event: Event, webhook: Json) -> None:
        """Copy the values into the event. A webhook that is a text or a number is itself the value of every path."""
        is_nested = isinstance(webhook, (dict, list))
        nodes = [get(webhook, *path) if path else webhook for path in self._parents] if is_nested else []
        for sources, targets in self._rows:
            if not is_nested:
                value = webhook
            elif len(sources) == 1:
                number, key = sources[0]
                node = nodes[number]
                value = node.get(key) if type(node) is dict else get(node, key)
            else:
                value = first_given(*(get(nodes[number], key) for number, key in sources))
            if value is not None:
                for above, last in targets:
                    _put_new(event, above, last, value)


def _put_new(event: Event, above: tuple[str, ...], last: str, value: Json) -> None:
    """Set the value at a path that has none yet; what is in the way and is not an object is replaced."""
    node = event
    for key in above:
        child = node.get(key)
        if type(child) is not dict:
            child = node[key] = {}
        node = child
    if node.get(last) is None:
        node[last] = value
