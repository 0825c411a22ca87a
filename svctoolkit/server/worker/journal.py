"""Counts since the start, and the feed of every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from svctoolkit.server.store.record import change, without_contents
from svctoolkit.server.store.schema import Check, Delivery, Fate, Received, Rejected, Violation
from svctoolkit.server.tracing import Traces
from svctoolkit.server.worker.feed import Feed
from svctoolkit.server.worker.lost_values import LostValues

#: The kinds of counts, each with the fields that it is counted by.
_KINDS = {
    "received": ("source",),
    "repeated": ("source",),
    "rejected": ("source", "status"),
    "deliveries": ("destination", "status"),
    "fates": ("destination", "status"),
    "checks": ("plan", "outcome"),
    "violations": ("source", "type"),
}


class Journal:
    """Records what happens: `counts` by kind, values that user code has lost, and the feed."""

    def __init__(self, feed: Feed, traces: Traces) -> None:
        self.feed, self.traces, self.lost_values = feed, traces, LostValues()
        self._lock = Lock()
        self._counts: dict[str, Counter[tuple[str, ...]]] = {kind: Counter() for kind in _KINDS}

    def counts(self, kind: str) -> dict[tuple[str, ...], int]:
        """Return how often something of this kind has happened since the start."""
        with self._lock:
            return dict(self._counts[kind])

    def start_over(self) -> None:
        """Reset all counts to zero."""
        with self._lock:
            for counter in self._counts.values():
                counter.clear()
        self.lost_values.start_over()

    def receive(
        self,
        events: Sequence[Received],
        fates: Sequence[Fate],
        checks: Sequence[Check] = (),
        violations: Sequence[Violation] = (),
    ) -> None:
        """Record routed events, with their fates at every destination and the results of tracking plans."""
        self._count("received", ((event.source,) for event in events if event.repeats is None))
        if repeated := [event for event in events if event.repeats is not None]:
            self._count("repeated", ((event.source,) for event in repeated))
        self.feed.publish("received", events, change)
        if checks:
            self._count("checks", ((check.plan, _check_outcome(check)) for check in checks))
        if violations:
            self._count("violations", ((violation.source, violation.violation) for violation in violations))
            self.feed.publish("violation", violations, change)
        if settled := [fate for fate in fates if fate.status != "pending"]:
            self.traces.settle((), settled)
            self._settle(settled)
        if self.feed.watched:  # only live readers need to see where events are queued
            self.feed.publish("fate", [fate for fate in fates if fate.status == "pending"], _queued)

    def reject(self, rejected: Rejected) -> None:
        self._count("rejected", [(rejected.source, str(rejected.status))])
        self.feed.publish("rejected", [without_contents(rejected)], change)

    def deliver(self, deliveries: Sequence[Delivery], fates: Sequence[Fate]) -> None:
        """Record finished attempts: their requests, and the fates of the events."""
        self._count("deliveries", ((delivery.destination, str(delivery.status)) for delivery in deliveries))
        self.lost_values.count(fates)
        self.traces.settle(deliveries, fates)
        self.feed.publish("delivery", [*map(without_contents, deliveries)], change)
        self._settle([*map(without_contents, fates)])

    def _settle(self, fates: Sequence[Fate]) -> None:
        self._count("fates", ((fate.destination, fate.status) for fate in fates if fate.status != "pending"))
        self.feed.publish("fate", fates, change)

    def _count(self, kind: str, items: Iterable[tuple[str, ...]]) -> None:
        with self._lock:
            counts = self._counts[kind]
            for item in items:
                counts[item] += 1


def _check_outcome(check: Check) -> str:
    if check.unchecked:
        return "unchecked"
    return "dropped" if check.dropped else "violated" if check.violations else "conforming"


def _queued(fate: Fate) -> dict[str, Any]:
    """Return the change for a fate before the first attempt, which has no time yet."""
    return {**change(fate), "at": None}
