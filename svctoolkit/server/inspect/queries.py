"""The questions behind `/inspect`: records as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from svctoolkit.server.inspect.exchange import time_of
from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.enrich import iso
from svctoolkit.server.store.records import (
    DELIVERIES,
    EVENTS,
    FATES,
    REJECTED,
    DeliveryRecord,
    EventRecord,
    FateRecord,
    Filter,
    Kind,
    Records,
    fate_counts,
)
from svctoolkit.server.store.schema import RejectedRow
from svctoolkit.server.worker import Engine
from svctoolkit.url_secrets import mask_http

#: A record as JSON.
Json: TypeAlias = dict[str, Any]
_STATUSES = ("delivered", "filtered", "dropped", "failed", "pending", "dead")
#: What `/inspect` may be asked for: a parameter, and what it means.
FILTERS: Mapping[str, str] = {
    "run": "Only what belongs to this run.",
    "source": "Key of a source.",
    "destination": "Key of a destination.",
    "type": "Event type.",
    "name": "Name of a track, page or screen event.",
    "user": "User id or anonymous id.",
    "status": "The fate, or the HTTP status.",
    "message_id": "The event's `messageId`.",
}


def page(engine: Engine, kind: str, chosen: Filter, after: int, limit: int) -> list[Json]:
    """Records of one kind whose `number` is greater than `after`, secrets masked."""
    record_kind, as_json = KINDS[kind]
    if kind == "dead":
        if chosen.status not in (None, "dead"):
            return []
        chosen = replace(chosen, status="dead")
    records, masker = Records(engine.store, record_kind, chosen).page(after, limit), engine.masker()
    if kind == "deliveries":
        return [mask_http(masker.mask(as_json(engine, record))) for record in records]
    return [masker.mask(as_json(engine, record)) for record in records]


def about(engine: Engine, seq: int) -> dict[str, list[Json]]:
    """Everything about one event or refusal, by kind, secrets masked. All empty if it is not kept any more."""
    chosen, records = Filter(seq=seq), {}
    for kind in ("events", "rejected", "fates", "deliveries"):
        try:
            records[kind] = page(engine, kind, chosen, 0, -1)
        except KeyError:
            records[kind] = []
    return records


def counts(engine: Engine, run: str | None) -> dict[str, Any]:
    """How many there are of everything, of one run or of all."""
    store, by_status = engine.store, Counter[str]()
    for (_, status), number in fate_counts(store, run).items():
        by_status[status] += number
    return {
        "received": Records(store, EVENTS, Filter(run=run, repeated=False)).count(),
        "repeated": Records(store, EVENTS, Filter(run=run, repeated=True)).count(),
        "rejected": Records(store, REJECTED, Filter(run=run)).count(),
        "deliveries": Records(store, DELIVERIES, Filter(run=run)).count(),
        **{status: by_status[status] for status in _STATUSES},
        "under_way": engine.pending.under_way(run),
    }


def _event(engine: Engine, record: EventRecord) -> Json:
    return {
        "number": record.seq,
        "source": record.source,
        "run": record.run,
        "at": iso(time_of(record.at)),
        "repeats": record.repeats,
        "event": engine.events[record.seq],
    }


def _refusal(_engine: Engine, record: RejectedRow) -> Json:
    return {
        "number": record.seq,
        "source": record.source,
        "run": record.run,
        "at": iso(time_of(record.at)),
        "status": record.status,
        "reason": record.reason,
        "position": record.position,
        "body": unpack(record.body),
    }


def _delivery(_engine: Engine, record: DeliveryRecord) -> Json:
    return {
        "number": record.number,
        "seq": record.seq,
        "messageId": record.message_id,
        "destination": record.destination,
        "run": record.run,
        "attempt": record.attempt,
        "part": record.part,
        "status": record.status,
        "at": iso(time_of(record.at)),
        **unpack(record.data),
    }


def _fate(_engine: Engine, record: FateRecord) -> Json:
    return {
        "number": record.seq,
        "messageId": record.message_id,
        "type": record.type,
        "name": record.name,
        "source": record.source,
        "run": record.run,
        "destination": record.destination,
        "status": record.status,
        "by": record.by,
        "reason": record.reason,
        "attempts": record.attempts,
        "at": iso(time_of(record.at)),
        **(unpack(record.detail) if record.detail else {}),
    }


#: kind -> the kind of record, and how it is written as JSON
KINDS: Mapping[str, tuple[Kind[Any], Callable[[Engine, Any], Json]]] = {
    "events": (EVENTS, _event),
    "rejected": (REJECTED, _refusal),
    "deliveries": (DELIVERIES, _delivery),
    "fates": (FATES, _fate),
    "dead": (FATES, _fate),
}
