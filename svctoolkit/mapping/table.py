"""Tables: shapes whose leaves say where values come from; and single leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.events import ROOTS, Event
from svctoolkit.json_types import Json
from svctoolkit.mapping.compile import Getter, Shape, compile_leaf, compile_table, object_of
from svctoolkit.mapping.leaves import Leaf, Source, source


class Table:
    """A compiled shape. Call it with an event; iterate over it for its rows, `(key, Source)` each.

    A misspelt first segment of a path raises `ConfigError` when the module is imported, not when an event comes. A
    table `of` an object inside an event, such as a product, is called with that object; its paths start there.
    """

    def __init__(self, shape: Shape, *, of: str = "") -> None:
        self.shape, self.of = shape, of
        self._rows = list(_rows(shape, ()))
        if not of:
            _check_roots(self._rows)
        self._getter: Getter = self._compile  # at the first event: most tables that are imported are never used
        self._read: dict[str, frozenset[str]] = {}

    def __call__(self, event: Event | Mapping[str, Json]) -> dict[str, Json]:
        """The payload of `event`. Raises `MappingError` for a missing required value or a value that does not fit."""
        raw: Any = event.raw if type(event) is Event else event  # `isinstance` is slower, and nothing subclasses Event
        return self._getter(raw)  # type: ignore[no-any-return]

    def _compile(self, raw: Mapping[str, Any]) -> Any:
        self._getter = compile_table(self.shape, self.of)
        return self._getter(raw)

    def __iter__(self) -> Iterator[tuple[str, Source]]:
        return iter(self._rows)

    def rest(self, members: Mapping[str, Json], at: str = "") -> dict[str, Json]:
        """The `members` that no row reads; `at` is their path in the event: `rest(event.traits, "traits")`.

        A row that reads inside a member (`traits.address.city`) counts as reading it. Use it to pass on custom fields
        of users.
        """
        read = self._read.get(at)
        if read is None:
            below = f"{at}." if at else ""
            paths = (path for _, src in self._rows for path in src.paths if path.startswith(below))
            read = self._read[at] = frozenset(path[len(below) :].partition(".")[0] for path in paths)
        return {} if read.issuperset(members) else {key: value for key, value in members.items() if key not in read}


def _check_roots(rows: list[tuple[str, Source]]) -> None:
    for _, src in rows:
        for path in src.paths:
            root = path.partition(".")[0]
            if root not in ROOTS:
                raise ConfigError(f"no event has a field {root!r} ({path}).{did_you_mean(root, ROOTS)}")


def _rows(shape: Shape, at: tuple[str, ...]) -> Iterator[tuple[str, Source]]:
    for key, leaf in shape.items():
        if isinstance(leaf, Mapping):
            yield from _rows(leaf, (*at, key))
        else:
            yield ".".join((*at, key)), source(leaf)


def getter(leaf: Leaf) -> Getter:
    """A function that returns the value of one leaf for the raw event, or None."""
    compiled: Getter | None = None

    def get(raw: Mapping[str, Any]) -> Any:
        nonlocal compiled
        if compiled is None:  # at the first event, like tables
            compiled = compile_leaf(leaf)
        return compiled(raw)

    return get


def value_of(event: Event, leaf: Leaf) -> Json:
    """The value of a single leaf without a table: `value_of(event, EMAIL)`. None if the event has no value."""
    # Cached on the leaf: a dict keyed by leaf would hash all its paths for every event.
    getters = _PATHS if isinstance(leaf, str) else leaf.__dict__
    key = leaf if isinstance(leaf, str) else "getter"
    get = getters.get(key)
    if get is None:
        get = getters[key] = compile_leaf(leaf)
    return get(event.raw)


_PATHS: dict[str, Getter] = {}


def path(dotted: str) -> Getter:
    """A function that returns the value at a dotted path of a JSON object, or None."""
    *above, last = dotted.split(".")

    def get(raw: Mapping[str, Any]) -> Any:
        node = raw
        for key in above:
            inner = node.get(key)
            node = inner if type(inner) is dict else object_of(inner)
        return node.get(last)

    return get
