"""Events through a data plane to a simulated destination that holds many profiles, compared with the recorder alone.

Both planes get the same events in turns and run in this process, without sockets; the rate is per second of CPU time,
and the median of the rounds counts. The memory is that of the held profiles, measured by `tracemalloc` in a run by
itself.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from statistics import median
from time import process_time
from typing import Any

from svctoolkit import DataPlane, Workspace, simulations
from tests.benchmarks._figures import Figure, Options

CONFIGS: dict[str, dict[str, Any]] = {
    "MP": {"token": "t1", "strictMode": True, "identityMergeApi": "simplified"},
    "KLAVIYO": {"publicApiKey": "p", "privateApiKey": "k1", "apiVersion": "v2"},
    "BRAZE": {"restApiKey": "k1", "dataCenter": "US-01"},
    "GA4": {"apiSecret": "s", "measurementId": "G-1", "typesOfClient": "gtag"},
    "AM": {"apiKey": "k"},
    "CUSTOMERIO": {"siteID": "s", "apiKey": "k"},
    "FACEBOOK_PIXEL": {"pixelId": "1", "accessToken": "t"},
    "POSTHOG": {"teamApiKey": "k", "yourInstance": "https://app.posthog.com"},
    "SNAPCHAT_CONVERSION": {"apiKey": "k", "pixelId": "p"},
    "TIKTOK_ADS": {"accessToken": "t", "pixelCode": "p", "sendCustomEvents": True},
    "ITERABLE": {"apiKey": "k", "trackAllPages": True},
    "INTERCOM": {"apiKey": "k", "apiVersion": "v2"},
    "HS": {
        "authorizationType": "newPrivateAppApi",
        "apiVersion": "newApi",
        "lookupField": "email",
        "accessToken": "t",
        "hubspotEvents": [{"rsEventName": "Order Paid", "hubspotEventName": "pe1_order_paid", "eventProperties": []}],
    },
}
_BATCH = 50


def run(options: Options) -> Iterator[Figure]:
    for type in CONFIGS:
        yield _rates(type, options)
    yield _memory(options)


def workspace_of(type: str, level: Any) -> Workspace:
    """A workspace with one destination of a type."""
    shop = Workspace("bench")
    shop.destination("d", type, config=CONFIGS[type], simulate=level)
    shop.source("web", destinations=["d"])
    return shop


def _profiles(type: str, count: int) -> list[dict[str, Any]]:
    """Profiles of ten attributes, with the ids that the mapping will find them by."""
    names = {"MP": "distinct_id", "KLAVIYO": "external_id", "BRAZE": "external_id", "CUSTOMERIO": "id"}
    names |= {"ITERABLE": "userId", "INTERCOM": "external_id"}
    name = names.get(type, "user_id")
    attributes = {f"attribute_{n}": f"value {n}" for n in range(10)}
    return [{"ids": {name: f"u{n}"}, "attributes": dict(attributes)} for n in range(count)]


def _rates(type: str, options: Options) -> Figure:
    events, held = options.many(1000, 100), options.large
    with (
        DataPlane(workspace_of(type, "simulated"), listen=False) as ours,
        DataPlane(workspace_of(type, None), listen=False) as other,
    ):
        if "profiles" in ours.simulation("d").tables:
            ours.simulation("d").give({"profiles": _profiles(type, held)})
        for plane in (ours, other):
            _send(plane, 100, 0, held)
        rounds = [(_send(ours, events, n, held), _send(other, events, n, held)) for n in range(1, options.many(8, 2))]
        assert len(ours.simulation("d").rows("events")) >= events
    spent, floor = (median(times) * 1e6 / events for times in zip(*rounds, strict=True))
    return Figure(f"{type}: CPU per event at {held:,} held profiles", spent, "us", "the recorder alone", floor)


def _send(plane: DataPlane, count: int, turn: int, held: int) -> float:
    """Return the CPU seconds of sending events of many users, one after the other."""
    at = datetime.now(UTC).isoformat()
    type = next(iter(plane.workspace.destinations.values())).type
    shared = {
        "type": "track",
        "event": "Order Completed" if type == "SNAPCHAT_CONVERSION" else "Order Paid",  # it has no other events
        "timestamp": at,
        "originalTimestamp": at,
        "properties": {"revenue": 12.5, "currency": "EUR", "order_id": "o-1", "coupon": "SPRING"},
    }
    users = [f"u{(turn * count + n) % held}" for n in range(count)]
    events = [
        {**shared, "userId": user, "context": {"traits": {"tier": "gold", "plan": "pro", "email": f"{user}@b.example"}}}
        for user in users
    ]
    started = process_time()
    for start in range(0, count, _BATCH):
        plane.send(events[start : start + _BATCH], source="web")
    plane.drain(timeout=600)
    return process_time() - started


def _memory(options: Options) -> Figure:
    count = options.many(20_000, 200)
    rows = _profiles("BRAZE", count)
    server = simulations.open("BRAZE", CONFIGS["BRAZE"])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for start in range(0, count, 75):
        some = [{"external_id": row["ids"]["external_id"], **row["attributes"]} for row in rows[start : start + 75]]
        server.answer("POST", "https://rest.iad-01.braze.com/users/track", None, {"attributes": some})
    size = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    assert len(server.rows("profiles")) == count
    return Figure("memory of a held profile of ten attributes", size, "bytes")
