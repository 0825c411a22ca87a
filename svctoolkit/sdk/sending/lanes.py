"""Requests that may be under way together: two at a time, and never two with events of one user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svctoolkit.sdk.queue.claims import Batch, Row

_LANES = 2


class Lane:
    """Requests that go one after the other. `rows` are those of the present one."""

    def __init__(self, number: int, rows: Sequence[Row], size: int) -> None:
        self.number = number
        self.rows: Sequence[Row] = ()
        self._requests = [rows[start : start + size] for start in range(0, len(rows), size)][::-1]
        self.advance()

    @property
    def is_done(self) -> bool:
        """Whether no request comes after the present one."""
        return not self._requests

    def advance(self) -> None:
        """Go on to the next request."""
        self.rows = self._requests.pop()

    def halve(self) -> None:
        """Have the present request sent again, as two."""
        middle = len(self.rows) // 2
        self._requests += [self.rows[middle:], self.rows[:middle]]


def lanes(batch: Batch, size: int, *, single: bool) -> list[Lane]:
    """The batch as requests of at most `size` events; all in a `single` lane, else in two where its users allow it."""
    if single or len(batch.rows) <= size or not batch.users or not all(batch.users):
        return [Lane(0, batch.rows, size)]
    # As many whole requests as there would be without lanes: more of them would cost more than they gain.
    room = -(-len(batch.rows) // size // _LANES) * size
    first = _rows_of_some_users(batch.users, room)
    sides = (
        [row for row, is_first in zip(batch.rows, first, strict=True) if is_first],
        [row for row, is_first in zip(batch.rows, first, strict=True) if not is_first],
    )
    return [Lane(number, rows, size) for number, rows in enumerate(filter(None, sides))]


def _rows_of_some_users(users: Sequence[str], room: int) -> list[bool]:
    """Which rows go into the first lane, at most `room`: all of a user's or none."""
    groups = _groups(users)
    chosen = set()
    for group, number in Counter(groups).items():
        if number <= room:
            chosen.add(group)
            room -= number
    return [group in chosen for group in groups]


def _groups(users: Sequence[str]) -> list[str]:
    """For each row an ID: rows whose users share any, be it through others, have the same."""
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
