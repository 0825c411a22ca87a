"""What is noted while rows are made: where each column came from, and what did not get into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from svctoolkit.json_types import Json


@dataclass(frozen=True, slots=True)
class Loss:
    """A value of an event that does not arrive as it was sent. A warning, never an error.

    - `event_id` and `path`: the event and the field of it (`traits.user_id`); `table` and `column`: where it would go
    - `kind`: `shadowed` (a column of ours has the name), `nameless` (nothing is left of the name), `collision` (a later
      field has the column), `rounded`, `cut`, `rolled over` (a day past its month's end), `shapeless` (no object where
      one belongs), `null` (the column has another type), `untabled` (the event's name gives no table), `full` (the
      table takes no more columns), `refused` (the whole event is)
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

    def to_dict(self) -> dict[str, str]:
        """Its members by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Columns:
    """The columns of a row that is being made. `paths` tells where a value was taken from, where that is asked for."""

    data: dict[str, Any] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    def set(self, column: str, value: Json, type: str, path: str = "") -> None:
        self.data[column] = value
        self.types[column] = type
        self.paths[column] = path

    def remove(self, column: str) -> tuple[Json, str]:
        """Take a column out; gives what it held, and the path of that."""
        del self.types[column]
        return self.data.pop(column), self.paths.pop(column, "")

    def copy(self) -> Columns:
        return Columns({**self.data}, {**self.types}, {**self.paths})

    def update(self, other: Columns) -> None:
        """The other's columns win."""
        self.data.update(other.data)
        self.types.update(other.types)
        self.paths.update(other.paths)


class Notes:
    """The losses of one event. `table` is the one that is being filled."""

    def __init__(self) -> None:
        self.table = self.event_id = ""
        self.losses: list[Loss] = []
        self._dropped: list[tuple[Loss, Any]] = []

    def add(self, kind: str, path: str, column: str, text: str) -> None:
        self.losses.append(Loss(path, column, self.table, kind, text, self.event_id))

    def drop(self, path: str, column: str, value: Json) -> None:
        """A field has the name of a column of ours. No loss if the same stands there in the end: see `settle`."""
        said = f"{column} is a column of the warehouse's own: the value is dropped. Send it by another name"
        self._dropped.append((Loss(path, column, self.table, "shadowed", said, self.event_id), value))

    def settle(self, rows: Iterable[Mapping[str, Json]]) -> None:
        """All rows are made: what was dropped and does not stand there otherwise is lost."""
        if self._dropped:
            data = [row["data"] for row in rows]
            for loss, value in self._dropped:
                if not any(loss.column in columns and columns[loss.column] == value for columns in data):
                    self.losses.append(loss)
            self._dropped.clear()
