"""The records of a data plane, each declared once, and the tables of a store. Only this package knows SQL.

blocks       the accepted requests as they came. Written before the reply.
events       one row per event, for looking up. `seq` numbers the events; a block starts with the seq `first`.
fates        the outcome of an event at one destination
deliveries   every request to a destination with its answer
carried      which events a request carried, for requests of several
rejected     what was refused, and why
checks       which events were checked against a tracking plan, and with what result
violations   the rules that they violated
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.server.store.record import Record, Shown, members, rows

#: Raised with every change of a table: a test pins the tables of each version.
VERSION = 4
#: version -> the statements that make the next version of it. A store of any other version is refused.
MIGRATIONS: Mapping[int, str] = {3: ""}  # the same columns; rows of version 3 depended on their order

NOTHING: Mapping[str, Any] = MappingProxyType({})
_HIDDEN = Shown(item="", change="", frame="")
_OF_EVENT = Shown(of_event=True)
_IN_CHANGES = Shown(column="", item="", frame="")
_SENT = Shown(within="data", change="")


class BlockRow(Record, frozen=True, kw_only=True):
    """One accepted request of `count` events. `destinations` and `ids` have one item per line; `routed` is 0 or 1."""

    first: int
    count: int
    source: str
    run: str
    at: float
    destinations: str
    routed: bool
    kind: str
    ip: str
    ids: str
    body: bytes


class Received(Record, frozen=True, kw_only=True):
    """An event that was accepted. `seq` numbers the events of a data plane in the order of their arrival.

    `repeats` is the seq of an earlier event with the same `messageId`: the client has sent this one again, and it is
    not delivered. It is None for an event that came for the first time.
    """

    seq: Annotated[int, Shown(item="number")]
    event: Annotated[Mapping[str, Any], Shown(column="", change="")] = NOTHING
    message_id: Annotated[str, Shown(column="id", item="", change="messageId")]
    type: Annotated[str, Shown(item="")]
    name: Annotated[str, Shown(item="")]
    source: str
    run: str
    received_at: Annotated[datetime, Shown(column="at", item="at", change="at")]
    repeats: int | None
    #: identifies messageId, source and run; None for a repeat
    digest: Annotated[int | None, _HIDDEN]
    user: Annotated[str, Shown(item="", change="userId", frame="")]
    anonymous: Annotated[str, Shown(item="", change="anonymousId", frame="")]


class Rejected(Record, frozen=True, kw_only=True):
    """What was refused: `body` is the request's, parsed if it is JSON, or the event alone where the rest was taken.

    `position` is the place of the bad event in its batch. `source` is empty where the write key was wrong.
    """

    seq: Annotated[int, Shown(item="number", frame="")]
    status: int
    reason: str
    body: Annotated[Any, Shown(change="")] = None
    position: int | None
    source: str
    run: str
    at: datetime


class Delivery(Record, frozen=True, kw_only=True):
    """One request to a destination with its answer. `attempt` counts from 1; `part` numbers the payloads of an event.

    `events` are the message ids of all events that it carries; `seq` and `message_id` are those of the first. `number`
    is what fates name it by.

    `response` is parsed if it is JSON; of an answer of more than 1,000,000 bytes it is the start, as text. Without an
    answer `error` says why, and `status` is what the service reports. A store in a file has secrets masked here; one in
    memory has them as they were sent.
    """

    seq: int
    message_id: Annotated[str, Shown(column="id", of_event=True, change="")] = ""
    destination: str
    run: str
    attempt: int
    part: int
    status: int
    at: datetime
    payload: Annotated[Mapping[str, Any], _SENT] = NOTHING
    sent: Annotated[Mapping[str, Any], Shown(within="data", item="request", change="", frame="request")] = NOTHING
    response: Annotated[Any, _SENT] = None
    headers: Annotated[Mapping[str, str], _SENT] = NOTHING
    error: Annotated[str, _SENT] = ""
    milliseconds: Annotated[float, _SENT] = 0.0
    number: int = 0
    events: Annotated[tuple[str, ...], Shown(column="", change="")] = ()
    carries: Annotated[int, Shown(column="events", item="", change="", frame="")] = 1
    type: Annotated[str, _IN_CHANGES] = ""
    name: Annotated[str, _IN_CHANGES] = ""
    user: Annotated[str, _IN_CHANGES] = ""


class Fate(Record, frozen=True, kw_only=True):
    """The outcome of one event at one destination.

    `status` is `delivered`, `filtered` (it was not meant to get there), `dropped` (by the user transformation or a
    tracking plan), `unmapped`, `failed` (no use in trying again), `dead` (tried too often) or `pending`; `by` is the
    stage that decided, `reason` says why. `outcome` is what the last answer meant for it: `delivered`, `retry`,
    `throttle` or `abort`; `delivery` is the number of the last request that carried it, and `place` its place among the
    events of that, from 0. `transformed` are the events after the user transformation, None without one. `retry_in` are
    the seconds from the last attempt to the next one. `rule` is the id of the rule that a failure broke, `cause` the
    failure as data (`svctoolkit.causes`), where the code, the mapping or the destination gave one.
    """

    seq: Annotated[int, Shown(item="number")]
    message_id: Annotated[str, Shown(column="id", of_event=True, change="")] = ""
    type: Annotated[str, _OF_EVENT] = ""
    name: Annotated[str, _OF_EVENT] = ""
    source: Annotated[str, Shown(of_event=True, change="")] = ""
    destination: str
    status: str
    by: str
    reason: str
    attempts: int
    run: str
    at: datetime
    transformed: Annotated[Sequence[Mapping[str, Any]] | None, Shown(within="detail", change="", optional=True)] = None
    retry_in: Annotated[float | None, Shown(within="detail", item="retry_in", change="", optional=True)] = None
    rule: Annotated[str, Shown(within="detail")] = ""
    cause: Annotated[Mapping[str, Any] | None, Shown(within="detail", change="", optional=True)] = None
    outcome: Annotated[str, Shown(change="")] = ""
    delivery: Annotated[int | None, Shown(change="")] = None
    place: Annotated[int | None, Shown(change="")] = None
    #: the time of the first attempt
    since: Annotated[float | None, _HIDDEN] = None
    #: whether it must share no request
    alone: Annotated[bool, _HIDDEN] = False
    user: Annotated[str, _IN_CHANGES] = ""


class Violation(Record, frozen=True, kw_only=True):
    """One violation of a tracking plan: `violation` is its type, `property` the one that is missing or too much.

    `path` is a JSON pointer into the event, `schema_path` one into the rule's schema, `place` the `file:line:col` of
    the rule. `dropped` says that the event went no further.
    """

    number: Annotated[int, Shown(change="", frame="")] = 0
    seq: int
    message_id: Annotated[str, Shown(column="id", of_event=True, change="")] = ""
    source: Annotated[str, _OF_EVENT]
    type: Annotated[str, _OF_EVENT]
    name: Annotated[str, _OF_EVENT]
    plan: str
    version: int
    violation: str
    property: str
    path: str
    schema_path: Annotated[str, Shown(change="", frame="")]
    message: str
    place: str
    dropped: bool
    run: str
    at: Annotated[datetime, Shown(change="")]


class Carried(Record, frozen=True, kw_only=True):
    """One event among the several that a request carried."""

    number: int
    place: int
    seq: int


class Check(Record, frozen=True, kw_only=True):
    """An event that was checked against a tracking plan. `mark` says how the event is changed, if it is."""

    seq: int
    run: str
    plan: str
    version: int
    violations: int
    dropped: bool
    unchecked: str
    mark: Mapping[str, Any] | None


class Table(NamedTuple):
    """The name of a table, and the columns of its key."""

    name: str
    key: str


TABLES: Mapping[type[Record], Table] = {
    BlockRow: Table("blocks", "first"),
    Received: Table("events", "seq"),
    Fate: Table("fates", "seq, destination"),
    Delivery: Table("deliveries", "number"),
    Carried: Table("carried", "number, place"),
    Rejected: Table("rejected", "seq"),
    Check: Table("checks", "seq"),
    Violation: Table("violations", "number"),
}
_INDEXES = """
create index if not exists unrouted on blocks(first) where routed = 0;
create index if not exists digests on events(digest);
create index if not exists pending on fates(destination, seq) where status = 'pending';
create index if not exists of_event on deliveries(seq);
create index if not exists carried_event on carried(seq);
create index if not exists violations_of_event on violations(seq);
"""


def ddl() -> str:
    """The statements that make the tables, where they are not there yet."""
    return "\n".join(_table(record) for record in TABLES) + _INDEXES


def _table(record: type[Record]) -> str:
    types = {m.within or m.column: m.sql_type for m in members(record)}
    name, key = TABLES[record]
    # An integer key is SQLite's own row number only if it is declared beside its column.
    own = [f"{column} {types[column]}{' primary key' if column == key else ''}" for column in rows(record).columns]
    ends = f", primary key({key})) without rowid" if "," in key else ")"
    return f"create table if not exists {name}({', '.join(own)}{ends};"


def marks(values: Iterable[Json]) -> str:
    """As many question marks as there are values."""
    return ",".join("?" for _ in values)


def storable(text: str) -> str:
    """The text as SQLite takes it: halves of surrogate pairs, which are no characters, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
