"""The records of a data plane, each declared once, and the tables of a store. SQL is confined to this package.

blocks       the original accepted requests. Written before the reply.
events       one row per event, for lookups. `seq` numbers the events; a block starts with the seq `first`.
fates        the outcome of an event at one destination
deliveries   every request to a destination with its answer
carried      which events a request carried, for requests of several
rejected     what was refused, and why
checks       which events were checked against a tracking plan, and with what result
violations   the violated rules
held         what simulated servers hold and have lost
webhooks     every request to a webhook source, with its answer
memory       what webhook sources remember, such as the visitor of a cart
regulations  requests to delete users, with their jobs
digests      which event has a digest, except the newest events
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.server.store.record import Record, Shown, members, rows

#: Increase it with every change of a table: a test pins the tables of each version.
VERSION = 11
#: version -> the statements that migrate it to the next version. Stores of other versions are refused.
MIGRATIONS: Mapping[int, str] = {
    3: "",  # the same columns; rows of version 3 depended on their order
    4: "",  # one more table
    5: "",  # two more tables
    6: "",  # one more table
    7: "",  # the same columns; an exchange may have its body apart
    8: "alter table blocks add column trace text default ''",
    9: "drop index if exists digests",  # a table instead, which `Digests` fills
    10: """
        alter table deliveries add column accepted integer default 0;
        update deliveries set accepted = events where status between 200 and 299
    """,
}

NOTHING: Mapping[str, Any] = MappingProxyType({})
_HIDDEN = Shown(item="", change="", frame="")
_OF_EVENT = Shown(of_event=True)
_IN_CHANGES = Shown(column="", item="", frame="")
_SENT = Shown(within="data", change="")


class BlockRow(Record, frozen=True, kw_only=True):
    """One accepted request of `count` events. `destinations` and `ids` have one item per line; `routed` is 0 or 1.

    `trace` is the context that its spans have as their parent, as a `traceparent`; empty without one.
    """

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
    trace: str


class Received(Record, frozen=True, kw_only=True):
    """An event that was accepted. `seq` numbers the events of a data plane in the order of their arrival.

    `repeats` is the seq of an earlier event with the same `messageId`: this one is a repeat by the client and is not
    delivered. It is None for an event that arrived for the first time.
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
    """A refusal. `body` is the request's, parsed if it is JSON, or only the bad event if the rest was accepted.

    `position` is the place of the bad event in its batch. `source` is empty if the write key was wrong.
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

    `events` are the message ids of all events that it carries; `seq` and `message_id` are those of the first. Fates
    refer to it by `number`. `accepted` is how many of the events the destination accepted, by the rules of its type: an
    answer with status 200 may refuse some or all of them.

    `response` is parsed if it is JSON. If the answer exceeds 1,000,000 bytes, `response` is its start, as text. Without
    an answer, `error` says why, and `status` is what RudderStack reports. A store in a file has secrets masked here;
    one in memory has the original values.
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
    accepted: Annotated[int, Shown(change="")] = 0
    type: Annotated[str, _IN_CHANGES] = ""
    name: Annotated[str, _IN_CHANGES] = ""
    user: Annotated[str, _IN_CHANGES] = ""


class Fate(Record, frozen=True, kw_only=True):
    """The outcome of one event at one destination.

    `status` is `delivered`, `filtered` (not intended for this destination), `dropped` (by the user transformation or
    a tracking plan), `unmapped`, `failed` (retrying would not help), `dead` (all retries failed) or `pending`; `by`
    is the stage that decided, `reason` says why. `outcome` is what the last answer meant for the event: `delivered`,
    `retry`, `throttle` or `abort`; `delivery` is the number of the last request that carried it, and `place` its
    place among the events of that request, from 0. `transformed` are the events after the user transformation, None
    without one. `retry_in` is the number of seconds from the last attempt to the next one. `rule` is the id of the
    rule that a failure broke, `cause` the failure as data (`svctoolkit.causes`), if the code, the mapping or the
    destination gave one. `losses` are the values that the user transformation returned and JSON cannot represent, None
    without any: the `path` in the event, the `value` (`NaN`, `undefined`), what it `becomes`, and in which `output` it
    is: the index in `transformed`.
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
    losses: Annotated[Sequence[Mapping[str, Any]] | None, Shown(within="detail", change="", optional=True)] = None
    retry_in: Annotated[float | None, Shown(within="detail", item="retry_in", change="", optional=True)] = None
    rule: Annotated[str, Shown(within="detail")] = ""
    cause: Annotated[Mapping[str, Any] | None, Shown(within="detail", change="", optional=True)] = None
    outcome: Annotated[str, Shown(change="")] = ""
    delivery: Annotated[int | None, Shown(change="")] = None
    place: Annotated[int | None, Shown(change="")] = None
    #: the time of the first attempt
    since: Annotated[float | None, _HIDDEN] = None
    #: whether it must not share a request
    alone: Annotated[bool, _HIDDEN] = False
    user: Annotated[str, _IN_CHANGES] = ""


class Violation(Record, frozen=True, kw_only=True):
    """One violation of a tracking plan: `violation` is its type, `property` the missing or additional property.

    Unlike `svctoolkit.plans.Violation`, the value that a check returns, it also says which event it was found in.
    `path` is a JSON pointer into the event, `schema_path` one into the rule's schema, `place` the `file:line:col` of
    the rule. `dropped` says that the plan dropped the event.
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
    """An event that was checked against a tracking plan. `mark` says how the plan changes the event, if it does."""

    seq: int
    run: str
    plan: str
    version: int
    violations: int
    dropped: bool
    unchecked: str
    mark: Mapping[str, Any] | None


class HeldRow(Record, frozen=True, kw_only=True):
    """One row of a table of a simulated server, or with the table `losses` a loss. `data` is empty for removed rows."""

    destination: str
    run: str
    kind: str
    number: int
    version: int
    data: bytes


class Webhook(Record, frozen=True, kw_only=True):
    """A request to `/v1/webhook`, and its answer. It became `count` events, from the seq `first` on.

    `request` is the request as its source received it: `method`, `url`, `headers`, `query_parameters`, `body`. If it
    was refused before its body was complete, `body` is empty or only its start. A refused webhook is lost in
    production, where RudderStack does not keep it; `answer` says why.
    """

    seq: Annotated[int, Shown(item="number")]
    source: str
    type: str
    run: str
    at: datetime
    status: int
    answer: str
    first: int | None = None
    count: int = 0
    request: Annotated[Mapping[str, Any], Shown(change="")] = NOTHING


class MemoryRow(Record, frozen=True, kw_only=True):
    """What a source remembers under one key, until a time in seconds since 1970; None: forever."""

    source: str
    run: str
    key: str
    fields: Mapping[str, str]
    until: float | None


class RegulationRow(Record, frozen=True, kw_only=True):
    """One request to delete users. `data` is JSON: `svctoolkit.server.regulations.model.Regulation`."""

    number: int
    run: str
    data: bytes


class DigestRow(Record, frozen=True, kw_only=True):
    """The last event with a digest; outdated if the event was deleted. See `Digests`."""

    digest: int
    seq: int


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
    HeldRow: Table("held", "destination, run, kind, number"),
    Webhook: Table("webhooks", "seq"),
    MemoryRow: Table("memory", "source, run, key"),
    RegulationRow: Table("regulations", "number"),
    DigestRow: Table("digests", "digest"),
}
_INDEXES = """
create index if not exists unrouted on blocks(first) where routed = 0;
create index if not exists pending on fates(destination, seq) where status = 'pending';
create index if not exists of_event on deliveries(seq);
create index if not exists carried_event on carried(seq);
create index if not exists violations_of_event on violations(seq);
create index if not exists events_of_run on events(run) where run <> '';
create index if not exists fates_of_run on fates(run) where run <> '';
create index if not exists deliveries_of_run on deliveries(run) where run <> '';
create index if not exists violations_of_run on violations(run) where run <> '';
"""


def ddl() -> str:
    """Return the statements that create the tables that do not exist yet."""
    return "\n".join(_table(record) for record in TABLES) + _INDEXES


def _table(record: type[Record]) -> str:
    types = {m.within or m.column: m.sql_type for m in members(record)}
    name, key = TABLES[record]
    # An integer key is SQLite's own row number only if it is declared with its column.
    own = [f"{column} {types[column]}{' primary key' if column == key else ''}" for column in rows(record).columns]
    ends = f", primary key({key})) without rowid" if "," in key else ")"
    return f"create table if not exists {name}({', '.join(own)}{ends};"


def marks(values: Iterable[Json]) -> str:
    """Return one question mark per value."""
    return ",".join("?" for _ in values)
