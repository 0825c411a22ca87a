"""Microseconds per event for every destination type: its slowest sample event of about 2 KB, from event to payloads.

Beside it stands a JSON round trip of the same event.

A type that takes none of the samples is shown with the event of its first example that sends something. Checking a
configuration, JSON and sending are not part of it. The bounds are those of the catalogue: the median type under 40 us,
none above 150 us.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import process_time
from typing import Any

from svctoolkit.destinations import CATALOGUE, Context, Example, examples
from svctoolkit.errors import EventError
from svctoolkit.events import Event, samples
from tests.benchmarks._figures import Figure, Options

TRIP = "a JSON round trip of the event"
NOW = datetime(2026, 1, 15, 10, 10, tzinfo=UTC)


def run(options: Options) -> Iterator[Figure]:
    slowest = {name: max(measured(name, options)) for name in CATALOGUE.names()}
    for name, (spent, sample, trip) in sorted(slowest.items(), key=lambda item: item[1]):
        yield Figure(name, spent, "us", TRIP, trip, note=sample)
    middle = sorted(slowest.values())[len(slowest) // 2]
    yield Figure("the median type", middle[0], "us", TRIP, middle[2])


def measured(name: str, options: Options) -> list[tuple[float, str, float]]:
    """Time and name of each sample that the type takes with the configuration of its first example, and its trip."""
    sending = next(example for example in examples(name) if example.payloads)
    found = []
    for sample, event in samples().items():
        with suppress(EventError):  # not every type takes every event
            found.append(_timed(name, sending, sample, event, options))
    return found or [_timed(name, sending, f"example: {sending.name}", sending.event, options)]


def _timed(
    name: str, sending: Example, shown: str, raw: Mapping[str, Any], options: Options
) -> tuple[float, str, float]:
    kind, event = CATALOGUE[name], Event(raw)
    settings, context = kind.configure(sending.config), Context(clock=lambda: NOW, lookup=sending.lookup)
    spent = _best(lambda: kind.transform(event, settings, context), options)
    return spent, shown, _best(lambda: json.loads(json.dumps(raw)), options)


def _best(call: Callable[[], object], options: Options) -> float:
    """Microseconds of one call: the best of some rounds."""
    return min(_once(call, options.many(200, 5)) for _ in range(options.many(5, 1)))


def _once(call: Callable[[], object], times: int) -> float:
    started = process_time()
    for _ in range(times):
        call()
    return (process_time() - started) / times * 1e6
