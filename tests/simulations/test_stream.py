"""A replay of millions of events: servers get values instead of bytes, and hold most of their state on disk."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import Recorder, Workspace, simulations
from svctoolkit.delivery import plain_request, request
from svctoolkit.destinations import CATALOGUE, examples
from svctoolkit.pipeline import Stages
from svctoolkit.pipeline.simulated import read_request
from svctoolkit.replay import replay
from svctoolkit.replay.records.record import Record
from svctoolkit.simulations import SIMULATIONS, Disk
from svctoolkit.widgets.replay_explorer.trials import Trials
from tests.examples import some_by_default

SEND = Stages(send_to_destination=True)
NOW = "2026-01-15T10:05:00Z"


def by_config(type: str) -> list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """The examples of a type whose events make requests: the events of each configuration."""
    found: dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {}
    for example in examples(type):
        if example.payloads:
            key = msgspec.json.encode(example.config, order="sorted").decode()
            found.setdefault(key, (example.config, []))[1].append(example.event)
    return list(found.values())


def records(result: Any) -> str:
    """The rows of a result, for comparison: missing values are equal."""
    return repr(result.frame().to_dict("records"))


@pytest.mark.parametrize("type", SIMULATIONS.names())
def test_values_and_bytes_are_judged_alike(type: str) -> None:
    """The same rows, answers and losses as with a recorder, which gets the bytes of every request."""
    for config, events in islice(by_config(type), 2):
        shop = Workspace("shop")
        shop.destination("d", type, config=dict(config), simulate="strict")
        sent = [{**event, "messageId": f"m-{n % len(events)}", "receivedAt": NOW} for n, event in enumerate(events * 2)]
        direct, over_http = (replay(sent, shop, stages=SEND, transport=to) for to in (None, Recorder()))

        assert direct.counts == over_http.counts
        assert records(direct.lost) == records(over_http.lost)
        assert records(direct) == records(over_http)


def test_the_explorer_of_a_replay_shows_whole_requests() -> None:
    """It shows one event, so its requests become bytes."""
    shop = Workspace("shop")
    shop.destination("d", "MP", config={"token": "t"}, simulate="simulated")
    event = {"type": "track", "event": "Viewed", "userId": "u1", "messageId": "m-1", "receivedAt": NOW}
    trial = Trials("", shop, {"stages": SEND}).run(Record("[0]", event), "d")

    assert trial.result is not None
    assert b'"event":"Viewed"' in trial.result.data[0].requests[0].body


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PAYLOADS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["POST", "put"]),
        "endpoint": st.sampled_from(["https://vendor.example/a/b?c=1", "https://vendor.example/\u00e4"]),
        "body": st.fixed_dictionaries(
            {},
            optional={
                "JSON": st.dictionaries(st.text(), JSON, max_size=3),
                "JSON_ARRAY": st.fixed_dictionaries({"batch": JSON.map(json.dumps)}),
                "FORM": st.dictionaries(st.text(), JSON, max_size=3),
            },
        ),
    },
    optional={
        "headers": st.dictionaries(
            st.sampled_from(["Content-Type", "X-Key"]),
            st.sampled_from(["application/json", "application/x-www-form-urlencoded", "text/plain"]) | st.integers(),
        ),
        "params": st.dictionaries(st.text(), JSON, max_size=2),
    },
)


@given(PAYLOADS)
def test_a_plain_request_is_what_a_server_reads(payload: dict[str, Any]) -> None:
    """Numbers and characters are those that arrive, not those of the payload."""
    plain = plain_request(payload)
    if plain is None:
        return
    arrived = read_request(request(payload))
    assert repr(plain.body) == repr(arrived.body)
    assert (plain.method, plain.url, plain.size()) == (arrived.method, arrived.url, arrived.size)
    names = plain.headers.keys() - {"content-type"} if plain.body is None else plain.headers.keys()
    assert {name: plain.headers[name].partition(";")[0] for name in names} == {
        name: arrived.headers[name].partition(";")[0] for name in names
    }


@pytest.mark.parametrize("type", some_by_default(SIMULATIONS.names(), 5))
def test_held_state_moves_to_the_disk(type: str) -> None:
    """Another 300 events of other users leave no objects in memory: without a disk, or with any other list of what was
    seen, there would be some for each of them.
    """
    config, event = next((config, events[0]) for config, events in by_config(type))
    server = simulations.open(type, config, account={"history": "existing"}, disk=Disk(most=10))

    def send(numbers: Iterator[int]) -> int:
        """Return the blocks of memory that are in use after events of other users."""
        for number in numbers:
            for payload in CATALOGUE[type].payloads(of_user(event, number), config, clock=NOW, lookup=look_up):
                server.handle(read_request(request(payload)))
            server.spill()
        gc.collect()
        return sys.getallocatedblocks()

    def look_up(asked: Mapping[str, Any]) -> tuple[int, Any]:
        return server.answer(asked.get("method", "GET"), asked["url"], asked.get("headers"), asked.get("body"))[::2]

    gc.freeze()
    try:
        before = send(iter(range(600)))
        assert send(iter(range(600, 900))) - before < 600
    finally:
        gc.unfreeze()
    assert server.requests >= 900
    assert sum(table.in_memory for table in server.tables.values()) <= 20 * 6 * len(server.tables)


def of_user(event: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The event of another user."""
    context, address = event.get("context") or {}, {"email": f"u{number}@shop.example"}
    own = {"userId": f"u{number}", "anonymousId": f"d{number}", "messageId": f"0d4a4a3e-9a51-{number:08d}"}
    if "traits" in event:
        own["traits"] = {**event["traits"], **address}
    return {**event, **own, "context": {**context, "traits": {**(context.get("traits") or {}), **address}}}
