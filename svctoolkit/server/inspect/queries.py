"""The questions behind `/inspect`: records as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.server.inspect.exchange import time_of
from svctoolkit.server.inspect.records import message_ids
from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.enrich import iso
from svctoolkit.server.store.records import (
    DELIVERIES,
    EVENTS,
    FATES,
    REJECTED,
    VIOLATIONS,
    DeliveryRecord,
    EventRecord,
    FateRecord,
    Filter,
    Kind,
    Records,
    ViolationRecord,
    check_counts,
    fate_counts,
)
from svctoolkit.server.store.schema import RejectedRow
from svctoolkit.server.worker import Engine
from svctoolkit.url_secrets import mask_http

#: A record as JSON.
JsonRecord: TypeAlias = dict[str, Any]
_STATUSES = ("delivered", "filtered", "dropped", "failed", "pending", "dead", "unmapped")
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
    "violation": "The type of a violation, such as `Required-Missing`.",
}


def page(
    engine: Engine,
    kind: str,
    chosen: Filter,
    after: int,
    limit: int,
    before: int | None = None,
    *,
    newest_first: bool = False,
) -> list[JsonRecord]:
    """Records of one kind whose `number` is greater than `after` and less than `before`, secrets masked."""
    record_kind, as_json = KINDS[kind]
    if kind == "dead":
        if chosen.status not in (None, "dead"):
            return []
        chosen = replace(chosen, status="dead")
    stored = Records(engine.store, record_kind, chosen)
    bounds = (after, limit) if before is None else (after, limit, before)
    records, masker = stored.page(*bounds, newest_first=newest_first), engine.masker()
    if kind == "deliveries":
        return [mask_http(masker.mask(as_json(engine, record))) for record in records]
    return [masker.mask(as_json(engine, record)) for record in records]


def about(engine: Engine, seq: int) -> dict[str, list[JsonRecord]]:
    """Everything about one event or refusal, by kind, secrets masked. All empty if it is not kept any more."""
    chosen, records = Filter(seq=seq), {}
    for kind in ("events", "rejected", "fates", "deliveries", "violations"):
        try:
            records[kind] = page(engine, kind, chosen, 0, -1)
        except KeyError:
            records[kind] = []
    return records


def counts(engine: Engine, run: str | None) -> dict[str, Json]:
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
        **_plan_counts(engine, run),
        "under_way": engine.pending.under_way(run),
    }


def _plan_counts(engine: Engine, run: str | None) -> dict[str, int]:
    counts = check_counts(engine.store, run)
    return {"checked": counts.checked, "violated": counts.violated, "dropped_by_plan": counts.dropped}


def _event(engine: Engine, record: EventRecord) -> JsonRecord:
    return {
        "number": record.seq,
        "source": record.source,
        "run": record.run,
        "at": iso(time_of(record.at)),
        "repeats": record.repeats,
        "event": engine.events[record.seq],
    }


def _refusal(_engine: Engine, record: RejectedRow) -> JsonRecord:
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


def _delivery(engine: Engine, record: DeliveryRecord) -> JsonRecord:
    return {
        "number": record.number,
        "seq": record.seq,
        "messageId": record.message_id,
        "events": list(message_ids(engine, record)),
        "destination": record.destination,
        "run": record.run,
        "attempt": record.attempt,
        "part": record.part,
        "status": record.status,
        "at": iso(time_of(record.at)),
        **unpack(record.data),
    }


def _fate(_engine: Engine, record: FateRecord) -> JsonRecord:
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
        "outcome": record.outcome,
        "delivery": record.delivery,
        "place": record.place,
        **(unpack(record.detail) if record.detail else {}),
    }


def _violation(_engine: Engine, record: ViolationRecord) -> JsonRecord:
    return {
        "number": record.number,
        "seq": record.seq,
        "messageId": record.message_id,
        "source": record.source,
        "type": record.type,
        "name": record.name,
        "run": record.run,
        "plan": record.plan,
        "version": record.version,
        "violation": record.violation,
        "property": record.property,
        "path": record.path,
        "schemaPath": record.schema_path,
        "message": record.message,
        "place": record.place,
        "dropped": bool(record.dropped),
        "at": iso(time_of(record.at)),
    }


#: kind -> the kind of record, and how it is written as JSON
KINDS: Mapping[str, tuple[Kind[Any], Callable[[Engine, Any], JsonRecord]]] = {
    "events": (EVENTS, _event),
    "rejected": (REJECTED, _refusal),
    "deliveries": (DELIVERIES, _delivery),
    "violations": (VIOLATIONS, _violation),
    "fates": (FATES, _fate),
    "dead": (FATES, _fate),
}
