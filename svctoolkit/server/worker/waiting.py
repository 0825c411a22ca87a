"""Which users have pending events at a destination. Their next events must wait behind those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

_MOST = 10_000  # users of a destination that are remembered one by one


class WaitingUsers:
    """Counts pending events by destination and user (`owner_of`). Not thread-safe.

    If a destination has more than 10,000 such users, or if it is not known which, all of its users count as waiting
    until nothing is pending there.
    """

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._users: dict[str, Counter[str]] = {}
        self._all: set[str] = set()

    def hold(self, numbers: Mapping[str, int]) -> None:
        """Add this number of events of unknown users, by destination."""
        for destination, number in numbers.items():
            self._numbers[destination] += number
            self._forget_users(destination)

    def add(self, destination: str, users: Iterable[str]) -> None:
        """Add one event for each of these users."""
        added = Counter(users)
        self._numbers[destination] += added.total()
        if destination not in self._all:
            of_destination = self._users.setdefault(destination, Counter())
            of_destination.update(added)
            if len(of_destination) > _MOST:
                self._forget_users(destination)

    def remove(self, destination: str, users: Iterable[str]) -> None:
        """Remove one event for each of these users."""
        removed = Counter(users)
        self._numbers[destination] -= removed.total()
        if self._numbers[destination] <= 0:
            del self._numbers[destination]
            self._users.pop(destination, None)
            self._all.discard(destination)
        elif destination not in self._all:
            waiting = self._users[destination]
            for user, number in removed.items():  # not all of `waiting`: there may be thousands
                waiting[user] -= number
                if waiting[user] <= 0:
                    del waiting[user]

    def has(self, destination: str, user: str) -> bool:
        """Whether a user has pending events at a destination."""
        return destination in self._all or user in self._users.get(destination, ())

    def _forget_users(self, destination: str) -> None:
        self._all.add(destination)
        self._users.pop(destination, None)
