"""Microseconds per event for every destination type: its slowest sample event of about 2 KB, from event to payloads.

A type that takes none of the samples is shown with the event of its first example that sends something. Checking a
configuration, JSON and sending are not part of it. The bounds are those of the catalogue: the median type under 40 us,
none above 150 us.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from statistics import median
from time import perf_counter
from typing import Any

from svctoolkit.destinations import CATALOGUE, Context, Example, examples
from svctoolkit.errors import EventError
from svctoolkit.events import Event, samples

EVENTS, ROUNDS = 200, 5
NOW = datetime(2026, 1, 15, 10, 10, tzinfo=UTC)


def run() -> Iterator[str]:
    slowest = {name: max(measured(name)) for name in CATALOGUE.names()}
    for name, (spent, sample, size) in sorted(slowest.items(), key=lambda item: item[1]):
        yield f"{spent:8.1f} us  {name} ({sample}, {size:,} bytes)"
    yield f"{median(spent for spent, _, _ in slowest.values()):8.1f} us  the median type"


def measured(name: str) -> list[tuple[float, str, int]]:
    """Time, name and size of each sample that the type takes with the configuration of its first example."""
    sending = next(example for example in examples(name) if example.payloads)
    found = []
    for sample, event in samples().items():
        with suppress(EventError):  # not every type takes every event
            found.append(_timed(name, sending, sample, event))
    return found or [_timed(name, sending, f"example: {sending.name}", sending.event)]


def _timed(name: str, sending: Example, shown: str, event: Mapping[str, Any]) -> tuple[float, str, int]:
    return min(_once(name, sending, event) for _ in range(ROUNDS)), shown, len(json.dumps(event))


def _once(name: str, sending: Example, raw: Mapping[str, Any]) -> float:
    kind, event = CATALOGUE[name], Event(raw)
    settings, context = kind.configure(sending.config), Context(clock=lambda: NOW, lookup=sending.lookup)
    started = perf_counter()
    for _ in range(EVENTS):
        kind.transform(event, settings, context)
    return (perf_counter() - started) / EVENTS * 1e6
