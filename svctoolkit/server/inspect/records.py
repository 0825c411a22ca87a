"""The records of a data plane as objects, one for each record of its store."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import structs

from svctoolkit.delivery import HttpRequest
from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker
from svctoolkit.server.inspect.exchange import request_of
from svctoolkit.server.inspect.losses import losses_of
from svctoolkit.server.store import schema
from svctoolkit.server.store.record import Record, members
from svctoolkit.server.store.records import DELIVERIES, Filter, Records, carried_ids
from svctoolkit.server.worker import Engine
from svctoolkit.simulations import Loss

R = TypeVar("R", bound=Record)


class _Seen(Displayed, Record, frozen=True, kw_only=True):
    """Base of the objects: they have a rich display with masked secrets, and are equal if their members are."""

    def __repr__(self) -> str:
        """Return the record without its contents."""
        shown = [m.frame for m in members(type(self)) if m.frame and not m.is_large]
        text = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return self.masker().text(f"{type(self).__name__}({text})")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(tuple(_values(self)))

    def masker(self) -> Masker:
        """Return a masker for the currently known secrets."""
        engine: Engine = getattr(self, "_engine")  # noqa: B009 - each of them has one
        return engine.masker()


def _values(record: Record) -> list[Any]:
    return [getattr(record, member.name) for member in members(type(record))]


class Received(_Seen, schema.Received, frozen=True, kw_only=True):
    __doc__ = schema.Received.__doc__

    _engine: Engine


class Rejected(_Seen, schema.Rejected, frozen=True, kw_only=True):
    __doc__ = schema.Rejected.__doc__

    _engine: Engine


class Webhook(_Seen, schema.Webhook, frozen=True, kw_only=True):
    __doc__ = schema.Webhook.__doc__

    _engine: Engine

    @property
    def refused(self) -> bool:
        """Whether it was refused, and is lost in production."""
        return self.status >= 400

    @property
    def events(self) -> list[Mapping[str, Json]]:
        """The events that it became, as they were accepted."""
        return [] if self.first is None else [self._engine.events[self.first + i] for i in range(self.count)]


class Delivery(_Seen, schema.Delivery, frozen=True, kw_only=True):
    __doc__ = schema.Delivery.__doc__

    _engine: Engine

    @property
    def request(self) -> HttpRequest:
        """The request that was sent."""
        return request_of(self.sent)


class Fate(_Seen, schema.Fate, frozen=True, kw_only=True):
    __doc__ = schema.Fate.__doc__

    _engine: Engine

    @property
    def lost(self) -> tuple[Loss, ...]:
        """What the simulated destination has lost of the event, although it may be delivered."""
        return losses_of(self._engine, self)

    @property
    def event(self) -> Mapping[str, Json]:
        """The event as it was accepted."""
        return self._engine.events[self.seq]

    @property
    def payloads(self) -> list[Mapping[str, Json]]:
        """The payloads of the first attempt, shared with other events if these are in the same batch."""
        return [delivery.payload for delivery in self.first_requests]

    @property
    def first_requests(self) -> list[schema.Delivery]:
        """The requests of the first attempt."""
        first = Filter(seq=self.seq, destination=self.destination, attempt=1)
        return Records(self._engine.store, DELIVERIES, first).page(0, -1)


class Violation(_Seen, schema.Violation, frozen=True, kw_only=True):
    __doc__ = schema.Violation.__doc__

    _engine: Engine

    @builtins.property  # there is a member of this name
    def event(self) -> Mapping[str, Json]:
        """The event as it was accepted."""
        return self._engine.events[self.seq]


def seen(kind: type[R], engine: Engine, record: Record) -> R:
    """Return the object of this kind for a record of the store."""
    return kind(**structs.asdict(complete(engine, record)), _engine=engine)


def complete(engine: Engine, record: Record) -> Record:
    """Add data that is stored elsewhere to a record: the event itself, and the message ids of a request's events."""
    if isinstance(record, schema.Received):
        return structs.replace(record, event=engine.events[record.seq])
    if isinstance(record, schema.Delivery):
        one = record.carries == 1
        events = (record.message_id,) if one else tuple(carried_ids(engine.store, record.number))
        return structs.replace(record, events=events)
    return record
