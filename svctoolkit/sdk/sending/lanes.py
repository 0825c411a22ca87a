"""Requests that may be in flight together: at most two, and never two with events of the same user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svctoolkit.sdk.queue.claims import Batch, Row

_LANES = 2


class Lane:
    """Requests that are sent one after the other. `rows` are the events of the current one."""

    def __init__(self, number: int, rows: Sequence[Row], size: int) -> None:
        self.number = number
        self.rows: Sequence[Row] = ()
        self._requests = [rows[start : start + size] for start in range(0, len(rows), size)][::-1]
        self.advance()

    @property
    def is_done(self) -> bool:
        """Whether the current request is the last one."""
        return not self._requests

    def advance(self) -> None:
        """Move on to the next request."""
        self.rows = self._requests.pop()

    def halve(self) -> None:
        """Resend the current request as two halves."""
        middle = len(self.rows) // 2
        self._requests += [self.rows[middle:], self.rows[:middle]]


def lanes(batch: Batch, size: int, *, single: bool) -> list[Lane]:
    """Split the batch into requests of at most `size` events: in two lanes if its users allow it and not `single`."""
    if single or len(batch.rows) <= size or not all(batch.users) or len(set(batch.users)) < _LANES:
        return [Lane(0, batch.rows, size)]
    # No more requests than there would be without lanes: additional ones would cost more than they gain.
    room = -(-len(batch.rows) // size // _LANES) * size
    first = _rows_of_some_users(batch.users, room)
    sides = (
        [row for row, is_first in zip(batch.rows, first, strict=True) if is_first],
        [row for row, is_first in zip(batch.rows, first, strict=True) if not is_first],
    )
    return [Lane(number, rows, size) for number, rows in enumerate(filter(None, sides))]


def _rows_of_some_users(users: Sequence[str], room: int) -> list[bool]:
    """Return for each row whether it goes into the first lane: at most `room` rows, and all of a user's or none."""
    groups = _groups(users)
    chosen = set()
    for group, number in Counter(groups).items():
        if number <= room:
            chosen.add(group)
            room -= number
    return [group in chosen for group in groups]


def _groups(users: Sequence[str]) -> list[str]:
    """Return a group ID for each row. Rows whose users share an ID, directly or through others, are in one group."""
    parents: dict[str, str] = {}

    def root(id: str) -> str:
        while parents[id] != id:
            id = parents[id]
        return id

    for user in dict.fromkeys(users):
        first, *others = user.split("\n")
        parents.setdefault(first, first)
        for id in others:
            parents[root(parents.setdefault(id, id))] = root(first)
    return [root(user.partition("\n")[0]) for user in users]
