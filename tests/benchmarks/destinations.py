"""Microseconds per event for every destination type: its slowest sample event of about 2 KB, from event to payloads.

It is compared with RudderStack's JavaScript for such an event where that was measured, otherwise with a JSON round trip
of the same event in Python.

A type that accepts none of the samples is measured with the event of its first example that sends something. The
mapping is prepared: reading its configuration, JSON and sending are not included. The bounds are those of the
catalogue: the median type under 12 us, none above 40 us, and each type ahead of JavaScript. Time is CPU time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import process_time
from typing import Any

from svctoolkit.destinations import CATALOGUE, Example, examples
from svctoolkit.errors import EventError
from svctoolkit.events import samples
from tests.benchmarks._figures import Figure, Options

TRIP = "a JSON round trip of the event"
JAVASCRIPT = "the same in JavaScript"
#: Microseconds of CPU time per event, measured once for the same kind of events.
_IN_JAVASCRIPT = {
    "ADJ": 10.5, "AF": 22, "AM": 98, "ATTENTIVE_TAG": 8.5, "BRAZE": 23, "CUSTOMERIO": 8, "FACEBOOK_PIXEL": 25,
    "GA4": 26, "INTERCOM": 67, "ITERABLE": 11, "KLAVIYO": 65, "MAILCHIMP": 16, "MP": 94, "ONE_SIGNAL": 13,
    "PINTEREST_TAG": 417, "POSTHOG": 50, "SEGMENT": 4, "SLACK": 129, "SNAPCHAT_CONVERSION": 152, "TIKTOK_ADS": 47,
    "WEBHOOK": 27,
}  # fmt: skip
NOW = datetime(2026, 1, 15, 10, 10, tzinfo=UTC)


def run(options: Options) -> Iterator[Figure]:
    sending = [name for name in CATALOGUE.names() if any(example.payloads for example in examples(name))]
    slowest = {name: max(measured(name, options)) for name in sending}
    for name, (spent, sample, trip) in sorted(slowest.items(), key=lambda item: item[1]):
        script = _IN_JAVASCRIPT.get(name)
        yield Figure(name, spent, "us", JAVASCRIPT if script else TRIP, script or trip, note=sample)
    middle = sorted(slowest.values())[len(slowest) // 2]
    yield Figure("the median type", middle[0], "us", TRIP, middle[2])


def measured(name: str, options: Options) -> list[tuple[float, str, float]]:
    """Time and name of each sample that the type accepts (configured as in its first example), and its round trip."""
    sending = next(example for example in examples(name) if example.payloads)
    found = []
    for sample, event in samples(at=NOW).items():
        with suppress(EventError):  # not every type accepts every event
            found.append(_timed(name, sending, sample, event, options))
    return found or [_timed(name, sending, f"example: {sending.name}", sending.event, options)]


def _timed(
    name: str, sending: Example, shown: str, raw: Mapping[str, Any], options: Options
) -> tuple[float, str, float]:
    mapping = CATALOGUE[name].prepare(sending.config)
    spent = _best(lambda: mapping.payloads(raw, NOW, sending.lookup, sending.metadata), options)
    return spent, shown, _best(lambda: json.loads(json.dumps(raw)), options)


def _best(call: Callable[[], object], options: Options) -> float:
    """Microseconds of one call: the best of some rounds."""
    return min(_once(call, options.many(200, 5)) for _ in range(options.many(5, 1)))


def _once(call: Callable[[], object], times: int) -> float:
    started = process_time()
    for _ in range(times):
        call()
    return (process_time() - started) / times * 1e6
