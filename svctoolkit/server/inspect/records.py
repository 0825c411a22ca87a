"""What a data plane has seen and done, one object for each record of its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from svctoolkit.delivery import HttpRequest
from svctoolkit.server.inspect.exchange import request_of, time_of
from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.records import DELIVERIES, DeliveryRecord, EventRecord, FateRecord, Filter, Records
from svctoolkit.server.store.schema import RejectedRow
from svctoolkit.server.worker import Engine


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

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import received

        return display.bundle(received(self), repr(self))


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

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import rejected

        return display.bundle(rejected(self), repr(self))


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request to a destination with its answer. `attempt` counts from 1; `part` numbers the payloads of an event.

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
    _engine: Engine = field(repr=False, compare=False)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import delivery

        return display.bundle(delivery(self, self._engine.masker()), repr(self))


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one event at one destination.

    `status` is `delivered`, `filtered` (it was not meant to get there), `dropped` (by the user transformation),
    `failed` (no use in trying again), `dead` (tried too often) or `pending`; `by` is the stage that decided, `reason`
    says why. `transformed` are the events after the user transformation, None without one. `retry_in` are the seconds
    from the last attempt to the next one.
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
    _engine: Engine = field(repr=False, compare=False)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import of_fate

        return display.bundle(of_fate(self, self._engine.masker()), repr(self))

    @property
    def event(self) -> Mapping[str, Any]:
        """The event as it was accepted."""
        return self._engine.events[self.seq]

    @property
    def payloads(self) -> list[Mapping[str, Any]]:
        """The payloads of the first attempt; later ones only send what is left."""
        first = Filter(seq=self.seq, destination=self.destination, attempt=1)
        return [unpack(record.data)["payload"] for record in Records(self._engine.store, DELIVERIES, first).page(0, -1)]


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
    )


def rejected(_engine: Engine, row: RejectedRow) -> Rejected:
    body, at = unpack(row.body), time_of(row.at)
    return Rejected(row.status, row.reason, body, row.position, row.source, row.run, at)


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
        engine,
    )


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
        engine,
    )
