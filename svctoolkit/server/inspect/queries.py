"""The questions behind `/inspect`, as SQL over the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from svctoolkit.server.ingest.enrich import iso
from svctoolkit.server.inspect.views import time_of
from svctoolkit.server.store.database import unpacked
from svctoolkit.server.worker import Engine

#: kind -> table, the column that numbers its records
KINDS: Mapping[str, tuple[str, str]] = {
    "events": ("events e", "seq"),
    "rejected": ("rejected", "seq"),
    "deliveries": ("deliveries d join events e using (seq)", "number"),
    "fates": ("fates f join events e using (seq)", "seq"),
    "dead": ("fates f join events e using (seq)", "seq"),
}
_STATUSES = ("delivered", "filtered", "dropped", "failed", "pending", "dead")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records: each given member must fit."""

    run: str | None = None
    source: str | None = None
    destination: str | None = None
    type: str | None = None
    name: str | None = None
    user: str | None = None
    status: str | None = None
    message_id: str | None = None
    since: str | None = None
    until: str | None = None

    MEANINGS: ClassVar[Mapping[str, str]] = {
        "run": "Only what belongs to this run.",
        "source": "Key of a source.",
        "destination": "Key of a destination.",
        "type": "Event type.",
        "name": "Name of a track, page or screen event.",
        "user": "User id or anonymous id.",
        "status": "The fate, or the HTTP status.",
        "message_id": "The event's `messageId`.",
    }


def page(engine: Engine, kind: str, chosen: Filter, after: int, limit: int) -> list[dict[str, Any]]:
    """Records of one kind whose `number` is greater than `after`, secrets masked."""
    table, number = KINDS[kind]
    where, values = [f"{number} > ?"], [after]
    if kind == "dead":
        where.append("f.status = 'dead'")
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if value is not None:
            condition, count = _condition(kind, field.name)
            where.append(condition)
            values += [value] * count
    order = f"{number}, destination" if kind in ("fates", "dead") else number
    sql = f"select {_COLUMNS[kind]} from {table} where {' and '.join(where)} order by {order} limit ?"
    masker, make = engine.masker(), _MAKE[kind]
    return [masker.masked(make(engine, row)) for row in engine.store.read(sql, [*values, limit])]


def about(engine: Engine, seq: int) -> dict[str, list[dict[str, Any]]]:
    """Everything about one event or refusal, by kind, secrets masked. All empty if it is not kept any more."""
    masker = engine.masker()
    found: dict[str, list[dict[str, Any]]] = {}
    for kind in ("events", "rejected", "fates", "deliveries"):
        sql = f"select {_COLUMNS[kind]} from {KINDS[kind][0]} where seq = ?"
        try:
            found[kind] = [masker.masked(_MAKE[kind](engine, row)) for row in engine.store.read(sql, [seq])]
        except KeyError:
            found[kind] = []
    return found


def _condition(kind: str, name: str) -> tuple[str, int]:
    """The condition, and how often it takes the value. What a kind does not have is a condition that nothing meets."""
    prefix = {"events": "e", "rejected": "rejected", "deliveries": "d"}.get(kind, "f")
    if name in ("since", "until"):
        return f"{prefix}.at {'>=' if name == 'since' else '<'} cast(? as real)", 1
    if name == "run":
        return f"{prefix}.run = ?", 1
    if name == "status" and kind != "events":
        return f"cast({prefix}.status as text) = ?", 1
    if name == "source":
        return f"{'rejected' if kind == 'rejected' else 'e'}.source = ?", 1
    if name == "destination" and kind in ("deliveries", "fates", "dead"):
        return "destination = ?", 1
    if kind != "rejected" and name in ("type", "name"):
        return f"e.{name} = ?", 1
    if kind != "rejected" and name == "message_id":
        return "e.id = ?", 1
    if kind != "rejected" and name == "user":
        return "(e.user = ? or e.anonymous = ?)", 2
    return "0 = ?", 1


def counts(engine: Engine, run: str | None) -> dict[str, Any]:
    """How many there are of everything, of one run or of all."""
    where, values = ("", []) if run is None else (" where run = ?", [run])
    read = engine.store.read
    by_status = dict(read(f"select status, count(*) from fates{where} group by status", values))
    totals = {
        name: read(f"select count(*) from {table}{where}", values)[0][0]
        for name, table in (("received", "events"), ("rejected", "rejected"), ("deliveries", "deliveries"))
    }
    found = {status: by_status.get(status, 0) for status in _STATUSES}
    return {**totals, **found, "under_way": engine.under_way(run)}


def _event(engine: Engine, row: Any) -> dict[str, Any]:
    seq, source, run, at = row
    return {"number": seq, "source": source, "run": run, "at": iso(time_of(at)), "event": engine.event(seq)}


def _rejected(_engine: Engine, row: Any) -> dict[str, Any]:
    seq, source, run, status, reason, position, at, body = row
    head = {"number": seq, "source": source, "run": run, "at": iso(time_of(at)), "status": status, "reason": reason}
    return {**head, "position": position, "body": unpacked(body)}


def _delivery(_engine: Engine, row: Any) -> dict[str, Any]:
    number, seq, message_id, destination, run, attempt, part, status, at, data = row
    head = {"number": number, "seq": seq, "messageId": message_id, "destination": destination, "run": run}
    return {**head, "attempt": attempt, "part": part, "status": status, "at": iso(time_of(at)), **unpacked(data)}


def _fate(_engine: Engine, row: Any) -> dict[str, Any]:
    seq, message_id, kind, name, source, destination, status, by, reason, attempts, run, at, detail = row
    head = {"number": seq, "messageId": message_id, "type": kind, "name": name, "source": source, "run": run}
    fate = {"destination": destination, "status": status, "by": by, "reason": reason, "attempts": attempts}
    return {**head, **fate, "at": iso(time_of(at)), **(unpacked(detail) if detail else {})}


_FATE_COLUMNS = "seq, e.id, e.type, e.name, e.source, destination, status, by, reason, attempts, f.run, f.at, detail"
_COLUMNS = {
    "events": "seq, source, run, at",
    "rejected": "seq, source, run, status, reason, position, at, body",
    "deliveries": "number, seq, e.id, destination, d.run, attempt, part, status, d.at, data",
    "fates": _FATE_COLUMNS,
    "dead": _FATE_COLUMNS,
}
_MAKE = {"events": _event, "rejected": _rejected, "deliveries": _delivery, "fates": _fate, "dead": _fate}
