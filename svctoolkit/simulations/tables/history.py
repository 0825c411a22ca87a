"""How rows changed: by which request, to what, and by which rules."""

from __future__ import annotations

from collections import deque

import msgspec

from svctoolkit import json_codec
from svctoolkit.json_types import Json
from svctoolkit.simulations.losses import Loss
from svctoolkit.simulations.tables.rows import Row

_BYTES = 4_000_000
_OVERHEAD = 400  # bytes of a step without its row


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a row.

    `request` counts the requests to the server, `endpoint` is its method and path, or what else changed the row
    (`account`, `given`, `restored`). `events` are the message ids of the record, and `findings` what the vendor lost of
    it, or changed. `content` is the row after it, as the store keeps it.
    """

    table: str
    number: int
    request: int
    at: float
    endpoint: str
    events: tuple[str, ...] = ()
    findings: tuple[Loss, ...] = ()
    content: bytes = b"{}"

    @property
    def row(self) -> Row | None:
        """The row after the change; None if it was removed."""
        row = decode(self.content)["row"]
        return None if row is None else msgspec.convert(row, Row)

    @property
    def into(self) -> int | None:
        """The number of the row that its rows belong to since this change."""
        number = decode(self.content)["into"]
        return number if isinstance(number, int) else None


class History:
    """The last changes of rows without an owner, up to about 4 MB of JSON; older ones are forgotten."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._size = 0

    def add(self, step: Step) -> None:
        """Remember a change."""
        self._steps.append(step)
        self._size += len(step.content) + _OVERHEAD
        while self._size > _BYTES:
            self._size -= len(self._steps.popleft().content) + _OVERHEAD

    def of(self, table: str, number: int) -> list[Step]:
        """Return the changes of a row, oldest first."""
        return [step for step in self._steps if step.number == number and step.table == table]


def encode(row: Row | None, into: int | None) -> bytes:
    """Return the content of a row as JSON. `into` is the row that its rows belong to."""
    return json_codec.encode({"row": row, "into": into})


def decode(content: bytes) -> dict[str, Json]:
    """Return `row` (None if it was removed) and `into`."""
    members = json_codec.decode(content)
    return {"row": None, "into": None, **(members if isinstance(members, dict) else {})}
