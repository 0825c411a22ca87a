"""Pair each expectation with a different value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def pair(candidates: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """Return the value of each expectation; `candidates` are the numbers of the values that each one matches.

    The largest number of pairs is found: an expectation that can have another value gives way (augmenting paths).

    >>> pair([[0, 1], [0]])
    {0: 1, 1: 0}
    """
    values: dict[int, int] = {}
    owners: dict[int, int] = {}
    for expectation in range(len(candidates)):
        _augment(expectation, candidates, values, owners)
    return values


def _augment(start: int, candidates: Sequence[Sequence[int]], values: dict[int, int], owners: dict[int, int]) -> None:
    """Give `start` a value, if necessary by moving others to one that is free."""
    reached: dict[int, int] = {}  # values, and the expectation that would take each
    free: int | None = None
    waiting = [start]
    for expectation in waiting:  # grows below
        for value in candidates[expectation]:
            if value in reached:
                continue
            reached[value] = expectation
            if value not in owners:
                free = value
                break
            waiting.append(owners[value])
        if free is not None:
            break
    while free is not None:
        owner = reached[free]
        owners[free] = owner
        left = values.get(owner)
        values[owner] = free
        free = left
