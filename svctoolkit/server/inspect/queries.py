"""The queries of `/inspect`: records as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, defstruct

from svctoolkit.json_types import Json
from svctoolkit.server.inspect.losses import LossItem, loss_finder
from svctoolkit.server.inspect.records import complete
from svctoolkit.server.store.record import item, item_type, list_of
from svctoolkit.server.store.records import (
    DELIVERIES,
    EVENTS,
    FATES,
    REJECTED,
    VIOLATIONS,
    WEBHOOKS,
    Filter,
    Kind,
    Records,
    check_counts,
    fate_counts,
)
from svctoolkit.server.store.schema import Fate
from svctoolkit.server.worker import Engine
from svctoolkit.url_secrets import mask_http

#: A record as JSON.
JsonRecord: TypeAlias = dict[str, Any]
_STATUSES = ("delivered", "filtered", "dropped", "failed", "pending", "dead", "unmapped")
#: The filters of `/inspect`: parameters and their descriptions.
FILTERS: Mapping[str, str] = {
    "run": "Only records of this run.",
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
    """Return records of one kind with a `number` between `after` and `before`, secrets masked."""
    if kind == "dead":
        if chosen.status not in (None, "dead"):
            return []
        chosen = replace(chosen, status="dead")
    stored = Records(engine.store, KINDS[kind].kind, chosen)
    bounds = (after, limit) if before is None else (after, limit, before)
    records = stored.page(*bounds, newest_first=newest_first)
    items = _fates(engine, records) if KINDS[kind].kind is FATES else [item(complete(engine, r)) for r in records]
    masked = [engine.masker().mask(found) for found in items]
    return [*map(mask_http, masked)] if kind in ("deliveries", "webhooks") else masked


def _fates(engine: Engine, records: Iterable[Fate]) -> list[JsonRecord]:
    """Return fates as items, each with what a simulated destination lost of the event."""
    losses = loss_finder(engine)
    return [{**item(record), "lost": [loss.item() for loss in losses(record)]} for record in records]


def about(engine: Engine, seq: int) -> dict[str, list[JsonRecord]]:
    """Return everything about one event or refusal, by kind, secrets masked. All are empty if it was deleted."""
    chosen, records = Filter(seq=seq), {}
    for kind in _ABOUT:
        try:
            records[kind] = page(engine, kind, chosen, 0, -1)
        except KeyError:
            records[kind] = []
    return records


def counts(engine: Engine, run: str | None) -> dict[str, Json]:
    """Return the counts of everything, of one run or of all."""
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


class Listed(NamedTuple):
    """A kind of record that `/inspect` lists, with the types of its items and of a page of them."""

    kind: Kind[Any]
    item: type[Struct]
    page: type[Struct]


def _listed(kind: Kind[Any], **more: Any) -> Listed:
    name = kind.record.__name__
    shown = item_type(kind.record, f"{name}Item", **more)
    page = defstruct(f"{name}Page", [("items", list_of(shown)), ("next", int | None)], namespace={"__doc__": _PAGE})
    return Listed(kind, shown, page)


_PAGE = """Records in the requested order. `next` is the `after` (newest first: the `before`) of the next page, or
null at the end. """


#: the lists of `/inspect`
KINDS: Mapping[str, Listed] = {
    "events": _listed(EVENTS),
    "rejected": _listed(REJECTED),
    "deliveries": _listed(DELIVERIES),
    "violations": _listed(VIOLATIONS),
    "webhooks": _listed(WEBHOOKS),
    "fates": (_fate_list := _listed(FATES, lost=list_of(LossItem))),
    "dead": _fate_list,
}
#: the kinds of records that `about` returns
_ABOUT = ("events", "rejected", "fates", "deliveries", "violations")
EventWay = defstruct(
    "EventWay",
    [(kind, list_of(KINDS[kind].item)) for kind in _ABOUT],
    namespace={"__doc__": "One event or refusal, with everything that followed from it."},
)
