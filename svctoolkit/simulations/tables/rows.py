"""Rows of what a simulated vendor holds, and how a table of them is declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations.json_text import text_of

#: the name of an id and its value, as text
Key: TypeAlias = tuple[str, ...]


class Row(msgspec.Struct, eq=False):
    """One row. `ids` find it, `values` are its other members, `owner` is the number of its owner (0: none).

    `also` are more keys by which it is found, from rows that were merged into it. A row that is not `shown` exists
    only to connect ids: the vendor would not list it. `events` are the message ids of the events that it came from.
    """

    number: int
    ids: dict[str, Json]
    values: dict[str, Json]
    owner: int = 0
    at: float = 0.0
    request: int = 0
    events: tuple[str, ...] = ()
    also: tuple[Key, ...] = ()
    shown: bool = True


class Alias(msgspec.Struct, frozen=True):
    """An id that is a list of objects: at most one for each value of `label`, found by `label` and `name` together."""

    member: str
    label: str
    name: str


class Fold(msgspec.Struct, frozen=True):
    """Rows with equal `members` are one row if they arrive within `within` seconds (None: at any time).

    `owner` among the members is the owner. `keeps` is which row stays. A row without one of the members `needs` never
    folds. `keep_older`: the row that is replaced stays in the table, but is not shown.
    """

    rule: str
    members: tuple[str, ...]
    keeps: Literal["first", "last"]
    within: float | None = None
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    keep_older: bool = False

    def key(self, row: Row, owner: int) -> tuple[Json, ...] | None:
        """Return the key of a row, or None if it does not fold by this rule."""
        get = row.values.get
        for name in self.needs:
            if get(name) is None:
                return None
        for name in self.lacks:
            if get(name) is not None:
                return None
        return (self.rule, *[owner if name == "owner" else text_of(get(name)) for name in self.members])

    def is_within(self, start: float, end: float) -> bool:
        """Whether two times in seconds are close enough for rows to fold."""
        return self.within is None or abs(end - start) <= self.within


#: how a row folds, and its key by that
FoldKey: TypeAlias = tuple[Fold, tuple[Json, ...]]


class TableType(msgspec.Struct, frozen=True):
    """A table as a simulation declares it: strong `ids` in the order in which they are looked up, `weak` ones that
    several rows may share (members of `attributes`), the table of its `owner`, and how its rows fold.

    `makes` returns the ids that the vendor gives to a new row, from its number; `blank` are the members of a new row.
    `objects` are the types of the account's declared objects that are rows of this table; `*` are all others. `more`
    names, for an id, an attribute with further values of it, separated by semicolons, that find the row, too.
    `derives` returns ids that follow from others, for rows that are given.
    """

    name: str
    ids: tuple[str | Alias | tuple[str, ...], ...] = ()
    weak: tuple[str, ...] = ()
    owner: str = ""
    folds: tuple[Fold, ...] = ()
    makes: Callable[[int], Mapping[str, Json]] = lambda _: {}
    blank: Mapping[str, Json] = msgspec.field(default_factory=lambda: {"attributes": {}})
    objects: tuple[str, ...] = ()
    more: Mapping[str, str] = {}
    derives: Callable[[Mapping[str, Json]], Mapping[str, Json]] = lambda _: {}

    @property
    def id_members(self) -> tuple[str, ...]:
        """The names that its rows may have in `ids`."""
        names = [name for id in self.ids for name in ((id,) if isinstance(id, (str, Alias)) else id)]
        return tuple(dict.fromkeys(name.member if isinstance(name, Alias) else name for name in names))

    def new_values(self) -> dict[str, Json]:
        """Return the members of a new row."""
        return {name: value.copy() for name, value in self.blank.items()}


class Cause(msgspec.Struct):
    """The record that is being handled: why the rows of a server change."""

    record: Mapping[str, Json] = {}
