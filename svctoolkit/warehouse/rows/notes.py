"""Notes taken while rows are built: the source of each column, and which values were lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from svctoolkit.json_types import Json


@dataclass(frozen=True, slots=True)
class Loss:
    """A value of an event that does not arrive as it was sent. A warning, never an error.

    - `event_id` and `path`: the event and its field (`traits.user_id`); `table` and `column`: the intended target
    - `kind`: `shadowed` (RudderStack's own column has the name), `nameless` (no valid characters are left of the name),
      `collision` (a later field uses the column), `rounded`, `cut`, `rolled over` (a day past its month's end),
      `shapeless` (not an object where one is required), `null` (the column has another type), `untabled` (the event's
      name gives no table), `full` (the table has no room for more columns), `refused` (the whole event is rejected)
    - `text`: what happened and what to do instead
    """

    path: str
    column: str
    table: str
    kind: str
    text: str
    event_id: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"

    def masked(self, mask: Callable[[str], str]) -> Loss:
        """Return the loss without secrets."""
        return replace(self, text=mask(self.text))

    def to_dict(self) -> dict[str, str]:
        """Return its members by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Columns:
    """The columns of a row while it is built. `paths` has the source of each value, if notes are taken."""

    data: dict[str, Any] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    def set(self, column: str, value: Json, type: str, path: str = "") -> None:
        self.data[column] = value
        self.types[column] = type
        self.paths[column] = path

    def remove(self, column: str) -> tuple[Json, str]:
        """Remove a column. Returns its value and the path that the value came from."""
        del self.types[column]
        return self.data.pop(column), self.paths.pop(column, "")

    def copy(self) -> Columns:
        return Columns({**self.data}, {**self.types}, {**self.paths})

    def update(self, other: Columns) -> None:
        """Add the columns of `other`, which win."""
        self.data.update(other.data)
        self.types.update(other.types)
        self.paths.update(other.paths)


class Notes:
    """The losses of one event. `table` is the one being filled."""

    def __init__(self) -> None:
        self.table = self.event_id = ""
        self.losses: list[Loss] = []
        self._dropped: list[tuple[Loss, Any]] = []

    def add(self, kind: str, path: str, column: str, text: str) -> None:
        self.losses.append(Loss(path, column, self.table, kind, text, self.event_id))

    def drop(self, path: str, column: str, value: Json) -> None:
        """Note a field whose name is reserved. It is not a loss if the same value ends up there: see `settle`."""
        message = f"{column} is a reserved column of the warehouse: the value is dropped. Send it under another name"
        self._dropped.append((Loss(path, column, self.table, "shadowed", message, self.event_id), value))

    def settle(self, rows: Iterable[Mapping[str, Json]]) -> None:
        """Turn dropped values that did not reach a row in another way into losses."""
        if self._dropped:
            data = [row["data"] for row in rows]
            for loss, value in self._dropped:
                if not any(loss.column in columns and columns[loss.column] == value for columns in data):
                    self.losses.append(loss)
            self._dropped.clear()
