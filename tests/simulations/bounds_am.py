"""Both sides of the bounds of Amplitude's rules."""

from __future__ import annotations

import json
from typing import Any

from svctoolkit.simulations import SimulatedServer
from tests.simulations.bounds import SECONDS, Case, Requests, each

CONFIG = {"apiKey": "k1"}
_URL = "https://api2.amplitude.com"


def am(*events: dict[str, Any], path: str = "2/httpapi", key: str | None = "k1", **members: Any) -> Requests:
    """Send one event with these members, or several events."""
    usual = {"event_type": "A", "user_id": "user-1", "device_id": "device-1", "time": SECONDS * 1000}
    listed = [{**usual, **event} for event in events or (members,)]
    return lambda server: server.answer("POST", f"{_URL}/{path}", {}, {"api_key": key, "events": listed})


def am_form(path: str, field: str, *items: dict[str, Any]) -> Requests:
    body = {"api_key": "k1", field: json.dumps(items)}
    return lambda server: server.answer("POST", f"{_URL}/{path}", {}, body)


def am_delete(*ids: str) -> Requests:
    return lambda server: server.answer("POST", f"{_URL}/api/2/deletions/users", {}, {"user_ids": ids})


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def burst(count: int) -> Requests:
    """Send this many events of a user to the endpoint for batches, within a second."""

    def send(server: SimulatedServer) -> None:
        for start in range(0, count, 2000):
            am(*[{}] * min(2000, count - start), path="batch")(server)

    return send


GROUP = {"group_type": "team", "group_value": "a"}
CASES = {
    "am.auth": Case(each(am(key="other"), am(key=None)), am()),
    "am.400": Case(am({}, {"time": "now"}), am({}, {})),
    "am.count": Case(am(*[{}] * 2001), am(*[{"user_id": f"user-{n}"} for n in range(2000)])),
    "am.time": Case(am(time="2026-08-06T09:00:00Z"), am(time=SECONDS * 1000)),
    "am.id_values": Case(am(user_id="undefined"), am(user_id="Undefined")),
    "am.device_zero": Case(am(device_id="00000-00"), am(device_id="00000-01")),
    "am.id_length": Case(am(user_id="four"), am(user_id="fives")),
    "am.required": Case(am(user_id=None, device_id=None), am(user_id=None)),
    "am.depth": Case(am(event_properties=nested(41)), am(event_properties=nested(40)), level="strict"),
    "am.text": Case(am(event_properties={"a": "x" * 1025}), am(event_properties={"a": "x" * 1024})),
    "am.groups": Case(am(groups={"team": ["a"] * 11}), am(groups={"team": ["a"] * 10})),
    "am.language": Case(am(language="de-AT"), am(language="German")),
    "am.revenue": Case(am(price=2, quantity=3, revenue=5), am(price=2, quantity=3, revenue=6)),
    "am.fold": Case(each(*[am(insert_id="i1")] * 2), each(am(insert_id="i1"), am(insert_id="i2"), am(), am())),
    "am.rate": Case(burst(30_001), burst(30_000), level="strict"),
    "am.identity": Case(
        each(am(user_id="user-1", device_id=None), am(user_id=None), am()),
        each(am(user_id=None), am(), am(user_id="user-2")),
    ),
    "am.groupidentify": Case(
        am_form("groupidentify", "identification", {"group_type": "team"}),
        am_form("groupidentify", "identification", GROUP),
    ),
    "am.usermap": Case(
        each(am(), am_form("usermap", "mapping", {"user_id": "user-1", "global_user_id": "ada"})),
        am_form("usermap", "mapping", {"user_id": "user-1", "global_user_id": "ada"}),
    ),
    "am.delete": Case(am_delete("user-1"), each(am(), am_delete("user-1"))),
}
