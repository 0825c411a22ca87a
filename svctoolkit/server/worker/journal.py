"""What is counted and told: numbers since the start, and every change for whoever looks on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

from svctoolkit.server.store.enrich import iso
from svctoolkit.server.store.schema import CheckRow, DeliveryRow, EventRow, FateRow, RejectedRow, ViolationRow
from svctoolkit.server.worker.feed import Feed
from svctoolkit.server.worker.task import Task

#: of what is counted; each kind with what it is counted by
_KINDS = {
    "received": ("source",),
    "repeated": ("source",),
    "rejected": ("source", "status"),
    "deliveries": ("destination", "status"),
    "fates": ("destination", "status"),
    "checks": ("plan", "outcome"),
    "violations": ("source", "type"),
}


class SettledFate(NamedTuple):
    """A fate with what its event is known by: enough for a line of a list."""

    fate: FateRow
    type: str
    name: str
    user: str


class QueuedEvent(NamedTuple):
    """An event that is on its way to a destination, and was not tried there yet."""

    seq: int
    destination: str
    run: str
    type: str
    name: str
    user: str


class EventViolation(NamedTuple):
    """A breach of a tracking plan with what its event is known by."""

    violation: ViolationRow
    source: str
    type: str
    name: str


class SentDelivery(NamedTuple):
    """A delivery without its contents, which may be large, and what its event is known by."""

    number: int
    seq: int
    destination: str
    run: str
    attempt: int
    part: int
    status: int
    at: float
    type: str
    name: str
    user: str


class Journal:
    """Writes down what happens: `counts` by kind, and the feed."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._lock = Lock()
        self._counts: dict[str, Counter[tuple[str, ...]]] = {
            kind: Counter()
            for kind in ("received", "repeated", "rejected", "deliveries", "fates", "checks", "violations")
        }

    def counts(self, kind: str) -> dict[tuple[str, ...], int]:
        """How often something of this kind has happened since the start."""
        with self._lock:
            return dict(self._counts[kind])

    def start_over(self) -> None:
        """Count from zero."""
        with self._lock:
            for counter in self._counts.values():
                counter.clear()

    def receive(
        self,
        events: Sequence[EventRow],
        fates: Sequence[SettledFate],
        checks: Sequence[CheckRow] = (),
        violations: Sequence[EventViolation] = (),
    ) -> None:
        """Events were routed; `fates` are those that were settled by that, the rest what tracking plans said."""
        self._count("received", ((row.source,) for row in events if row.repeats is None))
        self._count("repeated", ((row.source,) for row in events if row.repeats is not None))
        self.feed.tell("received", events, _event_change)
        self._count("checks", ((row.plan, _check_outcome(row)) for row in checks))
        self._count("violations", ((item.source, item.violation.violation) for item in violations))
        self.feed.tell("violation", violations, _violation_change)
        self._settle(fates)

    def queue(self, tasks: Mapping[str, Sequence[Task]]) -> None:
        """Events go to these destinations. Nobody needs to know but who looks on right now."""
        if self.feed.watched:
            queued = (
                QueuedEvent(task.seq, key, task.run, task.type, task.name, task.user)
                for key, of_destination in tasks.items()
                for task in of_destination
            )
            self.feed.tell("fate", list(queued), _queued_change)

    def reject(self, row: RejectedRow) -> None:
        self._count("rejected", [(row.source, str(row.status))])
        self.feed.tell("rejected", [row._replace(body=b"")], _refusal_change)

    def deliver(self, deliveries: Sequence[SentDelivery], fates: Sequence[SettledFate]) -> None:
        """Attempts are over: these requests were made, and this became of the events."""
        self._count("deliveries", ((row.destination, str(row.status)) for row in deliveries))
        self.feed.tell("delivery", deliveries, _delivery_change)
        self._settle(fates)

    def _settle(self, fates: Sequence[SettledFate]) -> None:
        rows = (item.fate for item in fates)
        self._count("fates", ((row.destination, row.status) for row in rows if row.status != "pending"))
        self.feed.tell("fate", fates, _fate_change)

    def _count(self, kind: str, items: Iterable[tuple[str, ...]]) -> None:
        with self._lock:
            counts = self._counts[kind]
            for item in items:
                counts[item] += 1


def delivery_change(row: DeliveryRow, task: Task) -> SentDelivery:
    return SentDelivery(*row[:8], task.type, task.name, task.user)


@lru_cache(256)
def _time(at: float) -> str:
    """What came, or was settled, together has one time; writing it would cost more than the rest of a change."""
    return iso(datetime.fromtimestamp(at, UTC))


def _event_change(row: EventRow) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "messageId": row.id,
        "source": row.source,
        "run": row.run,
        "userId": row.user,
        "anonymousId": row.anonymous,
        "type": row.type,
        "name": row.name,
        "repeats": row.repeats,
        "at": _time(row.at),
    }


def _check_outcome(row: CheckRow) -> str:
    if row.unchecked:
        return "unchecked"
    return "dropped" if row.dropped else "violated" if row.violations else "conforming"


def _violation_change(item: EventViolation) -> dict[str, Any]:
    names = ("seq", "run", "plan", "version", "violation", "property", "path", "message", "place")
    members = {name: getattr(item.violation, name) for name in names}
    return members | {
        "dropped": bool(item.violation.dropped),
        "source": item.source,
        "type": item.type,
        "name": item.name,
    }


def _refusal_change(row: RejectedRow) -> dict[str, Any]:
    names = ("seq", "source", "run", "status", "reason", "position")
    return {name: getattr(row, name) for name in names} | {"at": _time(row.at)}


def _delivery_change(row: SentDelivery) -> dict[str, Any]:
    members = row._asdict()
    members["at"] = _time(row.at)
    return members


def _queued_change(item: QueuedEvent) -> dict[str, Any]:
    members = item._asdict()
    members.update(status="pending", by="", reason="", attempts=0, at=None)
    return members


def _fate_change(item: SettledFate) -> dict[str, Any]:
    fate = item.fate
    return {
        "seq": fate.seq,
        "destination": fate.destination,
        "run": fate.run,
        "status": fate.status,
        "by": fate.by,
        "reason": fate.reason,
        "attempts": fate.attempts,
        "at": _time(fate.at),
        "type": item.type,
        "name": item.name,
        "user": item.user,
    }
