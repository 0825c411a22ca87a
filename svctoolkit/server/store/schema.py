"""The tables of a store, each with the type of its rows. Nobody but this package knows SQL or the order of columns.

blocks       the accepted requests as they came. Written before the reply.
events       one row per event, for looking up. `seq` numbers the events; a block starts with the seq `first`.
fates        what became of an event at one destination
deliveries   every request to a destination with its answer
carried      which events a request carried, for requests of several
rejected     what was refused, and why
checks       which events were held against a tracking plan, and what that came to
violations   what they broke
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from svctoolkit.json_types import Json

#: Raised with every change of a table: a store of another version is refused.
VERSION = 3


class BlockRow(NamedTuple):
    """One accepted request of `count` events. `destinations` and `ids` have one item per line; `routed` is 0 or 1."""

    first: int
    count: int  # type: ignore[assignment]  # nobody needs the method of tuples
    source: str
    run: str
    at: float
    destinations: str
    routed: int
    kind: str
    ip: str
    ids: str
    body: bytes


class EventRow(NamedTuple):
    """One event. `digest` tells messageIds apart; it is None for a repeat: `repeats` is the seq of the first one."""

    seq: int
    id: str
    digest: int | None
    repeats: int | None
    source: str
    run: str
    user: str
    anonymous: str
    type: str
    name: str
    at: float


class FateRow(NamedTuple):
    """What became of one event at one destination. `detail` is packed JSON.

    `outcome` is what the last answer meant for it, `delivery` the number of the last request that carried it, and
    `place` its place in that. `since` is the time of the first attempt. `alone` is 1 if it must share no request.
    """

    seq: int
    destination: str
    run: str
    status: str
    by: str
    reason: str
    attempts: int
    at: float
    detail: bytes | None
    outcome: str = ""
    delivery: int | None = None
    place: int | None = None
    since: float | None = None
    alone: int = 0


class CarriedRow(NamedTuple):
    """One event among the several that a request carried."""

    number: int
    place: int
    seq: int


class DeliveryRow(NamedTuple):
    """One request to a destination. `seq` is its first event, `events` how many it carries.

    `data` is packed JSON: payload, request, response, headers, error, milliseconds.
    """

    number: int
    seq: int
    destination: str
    run: str
    attempt: int
    part: int
    status: int
    at: float
    data: bytes
    events: int = 1


class RejectedRow(NamedTuple):
    """What was refused. `position` is the place of the event in its batch; `body` is packed JSON."""

    seq: int
    source: str
    run: str
    status: int
    reason: str
    position: int | None
    at: float
    body: bytes


class CheckRow(NamedTuple):
    """An event that was held against a tracking plan. `mark` is packed JSON: how it is changed, if it is."""

    seq: int
    run: str
    plan: str
    version: int
    violations: int
    dropped: int
    unchecked: str
    mark: bytes | None


class ViolationRow(NamedTuple):
    """One breach of a tracking plan. `path` and `schema_path` are JSON pointers, `place` is where the rule stands."""

    number: int
    seq: int
    run: str
    plan: str
    version: int
    violation: str
    property: str
    path: str
    schema_path: str
    message: str
    place: str
    dropped: int
    at: float


Row: TypeAlias = BlockRow | EventRow | FateRow | DeliveryRow | CarriedRow | RejectedRow | CheckRow | ViolationRow
TABLES: Mapping[type[Row], str] = {
    BlockRow: "blocks",
    EventRow: "events",
    FateRow: "fates",
    DeliveryRow: "deliveries",
    CarriedRow: "carried",
    RejectedRow: "rejected",
    CheckRow: "checks",
    ViolationRow: "violations",
}
_KEYS: Mapping[type[Row], str] = {
    BlockRow: "first",
    EventRow: "seq",
    FateRow: "seq, destination",
    DeliveryRow: "number",
    CarriedRow: "number, place",
    RejectedRow: "seq",
    CheckRow: "seq",
    ViolationRow: "number",
}
_INDEXES = """
create index if not exists unrouted on blocks(first) where routed = 0;
create index if not exists digests on events(digest);
create index if not exists pending on fates(destination, seq) where status = 'pending';
create index if not exists of_event on deliveries(seq);
create index if not exists carried_event on carried(seq);
create index if not exists violations_of_event on violations(seq);
"""
_SQL_TYPES = {int: "integer", float: "real", str: "text", bytes: "blob"}


def ddl() -> str:
    """The statements that make the tables, where they are not there yet."""
    return "\n".join(_table(row) for row in TABLES) + _INDEXES


def _table(row: type[Row]) -> str:
    hints, key = get_type_hints(row), _KEYS[row]
    # An integer key is SQLite's own row number only if it is declared beside its column.
    columns = [f"{name} {_sql_type(hints[name])}{' primary key' if name == key else ''}" for name in row._fields]
    ends = f", primary key({key})) without rowid" if "," in key else ")"
    return f"create table if not exists {TABLES[row]}({', '.join(columns)}{ends};"


def _sql_type(hint: Any) -> str:
    return next(text for kind, text in _SQL_TYPES.items() if kind is hint or kind in getattr(hint, "__args__", ()))


def columns(row: type[Row], prefix: str = "") -> str:
    """The columns of a table in the order of its row type."""
    return ", ".join(f"{prefix}{name}" for name in row._fields)


def marks(values: Iterable[Json]) -> str:
    """As many question marks as there are values."""
    return ",".join("?" for _ in values)


def storable(text: str) -> str:
    """The text as SQLite takes it: halves of surrogate pairs, which are no characters, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
