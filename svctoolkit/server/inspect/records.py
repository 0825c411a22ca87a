"""What a data plane has seen and done, one object for each record of its store."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from svctoolkit.delivery import HttpRequest
from svctoolkit.json_types import Json
from svctoolkit.server.inspect.exchange import request_of, time_of
from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.records import (
    DELIVERIES,
    DeliveryRecord,
    EventRecord,
    FateRecord,
    Filter,
    Records,
    ViolationRecord,
    carried_ids,
)
from svctoolkit.server.store.schema import RejectedRow
from svctoolkit.server.worker import Engine


def _text_of(record: Any) -> str:
    """A record as its class would show it, secrets masked."""
    members = ", ".join(f"{f.name}={getattr(record, f.name)!r}" for f in fields(record) if f.repr)
    masked: str = record._engine.masker().text(f"{type(record).__name__}({members})")
    return masked


@dataclass(frozen=True, slots=True)
class Received:
    """An event that was accepted. `seq` numbers the events of a data plane in the order of their arrival.

    `repeats` is the seq of an earlier event with the same `messageId`: the client has sent this one again, and it is
    not delivered. It is None for an event that came for the first time.
    """

    seq: int
    event: Mapping[str, Any] = field(repr=False)
    message_id: str
    type: str
    name: str
    source: str
    run: str
    received_at: datetime
    repeats: int | None
    _engine: Engine = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return _text_of(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import received

        return display.bundle(received(self, self._engine.masker()), repr(self))


@dataclass(frozen=True, slots=True)
class Rejected:
    """What was refused: `body` is the request's, parsed if it is JSON, or the event alone where the rest was taken.

    `position` is the place of the bad event in its batch. `source` is empty where the write key was wrong.
    """

    status: int
    reason: str
    body: Any = field(repr=False)
    position: int | None
    source: str
    run: str
    at: datetime
    _engine: Engine = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return _text_of(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import rejected

        return display.bundle(rejected(self, self._engine.masker()), repr(self))


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request to a destination with its answer. `attempt` counts from 1; `part` numbers the payloads of an event.

    `events` are the message ids of all events that it carries; `seq` and `message_id` are those of the first. `number`
    is what fates name it by.

    `response` is parsed if it is JSON; of an answer of more than 1,000,000 bytes it is the start, as text. Without an
    answer `error` says why, and `status` is what the service reports. A store in a file has secrets masked here; one in
    memory has them as they were sent.
    """

    seq: int
    message_id: str
    destination: str
    run: str
    attempt: int
    part: int
    status: int
    at: datetime
    payload: Mapping[str, Any] = field(repr=False)
    request: HttpRequest = field(repr=False)
    response: Any = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    error: str
    milliseconds: float
    number: int
    events: tuple[str, ...]
    _engine: Engine = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return _text_of(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import delivery

        return display.bundle(delivery(self, self._engine.masker()), repr(self))


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one event at one destination.

    `status` is `delivered`, `filtered` (it was not meant to get there), `dropped` (by the user transformation),
    `failed` (no use in trying again), `dead` (tried too often) or `pending`; `by` is the stage that decided, `reason`
    says why. `outcome` is what the last answer meant for it: `delivered`, `retry`, `throttle` or `abort`; `delivery` is
    the number of the last request that carried it, and `place` its place among the events of that, from 0.
    `transformed` are the events after the user transformation, None without one. `retry_in` are the seconds from the
    last attempt to the next one.
    """

    seq: int
    message_id: str
    type: str
    name: str
    source: str
    destination: str
    status: str
    by: str
    reason: str
    attempts: int
    run: str
    at: datetime
    transformed: Sequence[Mapping[str, Any]] | None = field(repr=False)
    retry_in: float | None = field(repr=False)
    outcome: str = field(repr=False)
    delivery: int | None = field(repr=False)
    place: int | None = field(repr=False)
    _engine: Engine = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return _text_of(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import of_fate

        return display.bundle(of_fate(self, self._engine.masker()), repr(self))

    @property
    def event(self) -> Mapping[str, Json]:
        """The event as it was accepted."""
        return self._engine.events[self.seq]

    @property
    def payloads(self) -> list[Mapping[str, Json]]:
        """The payloads of the first attempt, shared with other events where these are in the same batch."""
        first = Filter(seq=self.seq, destination=self.destination, attempt=1)
        return [unpack(record.data)["payload"] for record in Records(self._engine.store, DELIVERIES, first).page(0, -1)]


@dataclass(frozen=True, slots=True)
class Breach:
    """One breach of a tracking plan: `violation` is its type, `property` the one that is missing or too much.

    `path` is a JSON pointer into the event, `place` the `file:line:col` of what it breaks. `dropped` says that the
    event went no further.
    """

    seq: int
    message_id: str
    source: str
    type: str
    name: str
    plan: str
    version: int
    violation: str
    property: str
    path: str
    message: str
    place: str
    dropped: bool
    run: str
    at: datetime
    _engine: Engine = field(repr=False, compare=False)

    @builtins.property  # there is a member of this name
    def event(self) -> Mapping[str, Json]:
        """The event as it was accepted."""
        return self._engine.events[self.seq]


def breach(engine: Engine, record: ViolationRecord) -> Breach:
    return Breach(
        record.seq,
        record.message_id,
        record.source,
        record.type,
        record.name,
        record.plan,
        record.version,
        record.violation,
        record.property,
        record.path,
        record.message,
        record.place,
        bool(record.dropped),
        record.run,
        time_of(record.at),
        engine,
    )


def received(engine: Engine, record: EventRecord) -> Received:
    return Received(
        record.seq,
        engine.events[record.seq],
        record.message_id,
        record.type,
        record.name,
        record.source,
        record.run,
        time_of(record.at),
        record.repeats,
        engine,
    )


def rejected(engine: Engine, row: RejectedRow) -> Rejected:
    body, at = unpack(row.body), time_of(row.at)
    return Rejected(row.status, row.reason, body, row.position, row.source, row.run, at, engine)


def delivery(engine: Engine, record: DeliveryRecord) -> Delivery:
    data = unpack(record.data)
    return Delivery(
        record.seq,
        record.message_id,
        record.destination,
        record.run,
        record.attempt,
        record.part,
        record.status,
        time_of(record.at),
        data["payload"],
        request_of(data["request"]),
        data["response"],
        data["headers"],
        data["error"],
        data["milliseconds"],
        record.number,
        message_ids(engine, record),
        engine,
    )


def message_ids(engine: Engine, record: DeliveryRecord) -> tuple[str, ...]:
    """The message ids of all events that a request carries."""
    return (record.message_id,) if record.events == 1 else tuple(carried_ids(engine.store, record.number))


def fate(engine: Engine, record: FateRecord) -> Fate:
    detail = unpack(record.detail) if record.detail else {}
    return Fate(
        record.seq,
        record.message_id,
        record.type,
        record.name,
        record.source,
        record.destination,
        record.status,
        record.by,
        record.reason,
        record.attempts,
        record.run,
        time_of(record.at),
        detail.get("transformed"),
        detail.get("retry_in"),
        record.outcome,
        record.delivery,
        record.place,
        engine,
    )
