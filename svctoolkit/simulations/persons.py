"""What a simulated vendor holds about one person: the profile, how it came about, and the rows that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations.losses import Loss
from svctoolkit.simulations.tables.history import History, Step
from svctoolkit.simulations.tables.rows import Row
from svctoolkit.simulations.tables.table import Table

PROFILES = "profiles"
_ROWS = 50  # of each table
#: `(table, row)` -> the row as `held` has it
View = Callable[[str, Row], dict[str, Json]]


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a profile. `before` and `after` are the profile, None if there was none.

    `request` counts the requests to the destination, `endpoint` is its method and path, `events` are the message ids of
    the record, and `findings` what the vendor lost or kept otherwise of it. A profile that another one was merged into
    has that one's ids in `into`.
    """

    request: int
    at: datetime
    endpoint: str
    events: tuple[str, ...]
    findings: tuple[Loss, ...]
    before: dict[str, Json] | None
    after: dict[str, Json] | None
    into: dict[str, Json] | None = None


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """A profile whose rows belong to another one now. `ids` are those that it had, as far as they are known.

    `version` is the change by which that happened, if it is remembered.
    """

    ids: dict[str, Json]
    version: Version | None


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """One profile: `ids`, its other members, the profiles that were `merged` into it, and its `versions`, oldest first.

    `rows` are the newest 50 rows of each table that belong to it, and `counts` is how many there are.
    """

    ids: dict[str, Json]
    members: dict[str, Json]
    merged: list[Merged]
    versions: list[Version]
    rows: dict[str, list[dict[str, Json]]]
    counts: dict[str, int]


def find_persons(tables: Mapping[str, Table], history: History | None, view: View, id: str) -> list[Person]:
    """Return the profiles that have this value of any id, now or before a merge, or as an e-mail address."""
    profiles, wanted = tables.get(PROFILES), id.strip().casefold()
    if profiles is None or not wanted:
        return []
    found = [row for row in profiles.shown() if wanted in _names(view(PROFILES, row), row)]
    return [_person(tables, history, view, row) for row in found]


def _names(shown: Mapping[str, Json], row: Row) -> set[str]:
    """Return the values by which a person is found."""
    attributes = row.values.get("attributes") or {}
    emails = [value for name, value in attributes.items() if "email" in name.lower()]
    return {text.casefold() for text in (*_texts([shown["ids"], emails]), *(key[-1] for key in row.also))}


def _texts(value: Json) -> Iterable[str]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)


def _person(tables: Mapping[str, Table], history: History | None, view: View, row: Row) -> Person:
    profiles = tables[PROFILES]
    owned = {
        name: [one for one in table.rows_of(profiles, [row.number]) if one.shown]
        for name, table in tables.items()
        if table.type.owner == PROFILES
    }
    sources = [number for number in profiles.moved if profiles.canonical(number) == row.number != number]
    shown = view(PROFILES, row)
    return Person(
        ids=shown["ids"],
        members={name: value for name, value in shown.items() if name != "ids"},
        merged=[_merged(profiles, history, view, number) for number in sources],
        versions=_versions(profiles, history, view, row.number),
        rows={name: [view(name, one) for one in rows[-_ROWS:]] for name, rows in owned.items() if rows},
        counts={name: len(rows) for name, rows in owned.items()},
    )


def _merged(profiles: Table, history: History | None, view: View, number: int) -> Merged:
    """Return a profile that was merged, with the ids that it had last."""
    versions = _versions(profiles, history, view, number)
    ids = [version.after["ids"] for version in versions if version.after]
    if number in profiles.rows:
        ids.append(view(PROFILES, profiles.rows[number])["ids"])
    move = next((version for version in versions if version.into is not None), None)
    return Merged(ids=ids[-1] if ids else {}, version=move)


def _versions(profiles: Table, history: History | None, view: View, number: int) -> list[Version]:
    versions, before = list[Version](), None
    for step in history.of(PROFILES, number) if history else ():
        after = view(PROFILES, step.row) if step.row is not None else None
        if before != after or step.findings or step.into is not None:
            versions.append(_version(step, before, after, _target(profiles, view, step)))
        before = after
    return versions


def _target(profiles: Table, view: View, step: Step) -> dict[str, Json] | None:
    """Return the present ids of the profile that a profile was merged into."""
    target = None if step.into is None else profiles.rows.get(profiles.canonical(step.into))
    if step.into is None:
        return None
    return dict(view(PROFILES, target)["ids"]) if target else {}


def _version(
    step: Step, before: dict[str, Json] | None, after: dict[str, Json] | None, into: dict[str, Json] | None
) -> Version:
    return Version(
        request=step.request,
        at=datetime.fromtimestamp(step.at, UTC),
        endpoint=step.endpoint,
        events=step.events,
        findings=step.findings,
        before=before,
        after=after,
        into=into,
    )
