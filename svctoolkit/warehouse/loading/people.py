"""The `users` table, built from identifies, and which ids belong to the same user."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.warehouse.loading.batch import Batch

#: (type, value) of an id
Key = tuple[str, str]
_LONGEST_RULE = 512


def fold_users(users: Batch, identifies: Batch | None, name: Callable[[str], str]) -> Batch:
    """Return one row per user of the batch, with the newest non-empty value of each column."""
    id, received = name("id"), name("received_at")
    people: dict[Any, dict[str, Any]] = {key: {} for key in users.columns.get(id, []) if key is not None}
    sources = [(users, id)] if identifies is None else [(identifies, name("user_id")), (users, id)]
    for batch, key_column in sources:
        keys = batch.columns.get(key_column, [])
        times = batch.columns.get(received, [None] * batch.length)
        for place in sorted(range(batch.length), key=lambda place: str(times[place] or "")):
            person = people.get(keys[place]) if keys else None
            if person is not None:
                _fold(person, batch, place, skip=id)
    columns: dict[str, list[Any]] = {id: list(people)}
    for column in users.types:
        if column != id:
            columns[column] = [person.get(column) for person in people.values()]
    return Batch(users.table, columns, users.types, len(people))


def _fold(person: dict[str, Any], batch: Batch, place: int, *, skip: str) -> None:
    for column, values in batch.columns.items():
        if column != skip and values[place] is not None:
            person[column] = values[place]


class Identities:
    """Which ids belong to the same user: ids that are linked by rules share a rudder_id."""

    def __init__(self) -> None:
        self.owners: dict[Key, str] = {}
        self._members: dict[str, list[Key]] = {}

    def join(self, rules: Iterable[Mapping[str, Json]], name: Callable[[str], str]) -> dict[Key, str]:
        """Apply rules, and return the ids whose owner changed."""
        changed: dict[Key, str] = {}
        for rule in rules:
            columns = [(name(f"merge_property_{n}_type"), name(f"merge_property_{n}_value")) for n in (1, 2)]
            keys: list[Key] = [(str(rule[kind]), str(rule[value])) for kind, value in columns if rule.get(value)]
            owners = sorted({self.owners[key] for key in keys if key in self.owners})
            owner = owners[0] if owners else str(uuid.uuid4())
            moved = [key for other in owners[1:] for key in self._members.pop(other)]
            for key in {*moved, *(key for key in keys if self.owners.get(key) != owner)}:
                self.owners[key] = changed[key] = owner
                self._members.setdefault(owner, []).append(key)
        return changed


def shorten_rule(rule: Mapping[str, Json], name: Callable[[str], str]) -> tuple[dict[str, Json], list[tuple[str, str]]]:
    """Return a rule whose values fit their columns, and (column, value) of those that did not."""
    short, long = dict(rule), []
    for number in (1, 2):
        kind, value = (name(f"merge_property_{number}_{part}") for part in ("type", "value"))
        if len(str(rule.get(kind, ""))) + len(str(rule.get(value, ""))) > _LONGEST_RULE:
            long.append((value, str(rule[value])))
            short[value] = f"rudder-discards-{uuid.uuid4()}"
    return short, long
