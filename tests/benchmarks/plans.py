"""An event with 20 properties checked against its rule: valid, and with 23 violations; compared with jsonschema-rs.

RudderStack's own validation takes 33 to 40 microseconds of CPU for such an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from svctoolkit.plans import of_service
from tests.benchmarks._figures import Figure, Options, per_second

_NAMES = [f"p{n}" for n in range(20)]
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2019-09/schema",
    "type": "object",
    "properties": {
        "properties": {
            "type": "object",
            "properties": {name: {"type": ["string"]} for name in _NAMES},
            "required": ["p1"],
            "unevaluatedProperties": False,
        }
    },
}
HEAD: dict[str, Any] = {"type": "track", "event": "E", "userId": "u", "context": {}}
CLEAN = {**HEAD, "properties": dict.fromkeys(_NAMES, "x")}
BAD = {**HEAD, "properties": {**{name: 1 for name in _NAMES if name != "p1"}, "a": 1, "b": 2, "c": 3}}


def run(options: Options) -> Iterator[Figure]:
    rules = [{"name": "E", "eventType": "track", "rules": SCHEMA}]
    plan, peer = of_service({"id": "tp", "events": rules}), jsonschema_rs.validator_for(SCHEMA)
    assert (len(plan.check(CLEAN).violations), len(plan.check(BAD).violations)) == (0, 23)
    checks = (
        ("a clean event", lambda: plan.check(CLEAN), "is_valid", lambda: peer.is_valid(CLEAN)),
        ("23 violations", lambda: plan.check(BAD), "iter_errors", lambda: list(peer.iter_errors(BAD))),
        ("23 violations, marked", lambda: plan.check(BAD).event, "iter_errors", lambda: list(peer.iter_errors(BAD))),
    )
    for name, ours, beside, theirs in checks:
        times = (1e6 / per_second(call, options) for call in (ours, theirs))
        yield Figure(name, next(times), "us CPU", beside, next(times))
