"""Whatever an event contains, other clients of the data plane are answered meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.events import track

#: Types whose mappings read numbers, addresses, lists and templates.
WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example"}}
  pixel: {type: FACEBOOK_PIXEL, config: {pixelId: "123", accessToken: t}}
  groups: {type: MP, config: {token: t, dataResidency: us}}
  mail: {type: KLAVIYO, config: {publicApiKey: k, privateApiKey: p}}
  slack: {type: SLACK, config: {webhookUrl: "https://hooks.slack.example/in"}}
sources: {web: {destinations: [hook, pixel, groups, mail, slack]}}
"""
MEGABYTES = 4_000_000
PUMPED = ["1", "a", ".", "@", " ", "[", "a@", "1.", "é", "{{", "https://", "\\"]
NAMES = ["revenue", "price", "quantity", "email", "products", "url", "value", "currency", "phone", "order_id"]
LEAVES = st.tuples(st.sampled_from(PUMPED), st.sampled_from(["", "x", "@", "}"]))
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, min_size=1),
    max_leaves=12,
)


def _count(shape: Any) -> int:
    if isinstance(shape, tuple):
        return 1
    return sum(map(_count, shape.values() if isinstance(shape, dict) else shape))


def _grow(shape: Any, size: int) -> Any:
    """The shape with leaves of `size` characters."""
    if isinstance(shape, tuple):
        pump, end = shape
        return pump * (size // len(pump.encode())) + end
    if isinstance(shape, list):
        return [_grow(item, size) for item in shape]
    return {name: _grow(item, size) for name, item in shape.items()}


def _worst_wait(plane: DataPlane, act: Callable[[], object]) -> float:
    """The longest that `/health` took while `act` ran."""
    ended, waits = threading.Event(), list[float]()

    def probe() -> None:
        with httpx.Client(timeout=600) as client:
            while not waits or not ended.is_set():
                started = time.perf_counter()
                client.get(f"{plane.url}/health")
                waits.append(time.perf_counter() - started)

    prober = threading.Thread(target=probe)
    prober.start()
    try:
        act()
    finally:
        ended.set()
        prober.join()
    return max(waits)


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=st.dictionaries(st.sampled_from(NAMES), NESTED, min_size=1))
def test_no_event_stops_the_data_plane(shape: Any) -> None:
    """While an event of up to 4 MB is accepted, mapped and delivered to five types, `/health` is answered about as
    fast as while this process encodes and decodes JSON of the same size: what no event can avoid. An event that stops
    the plane does so each time; a machine that stops this process does not, so the best of three tries counts.
    """
    properties = _grow(shape, MEGABYTES // 2 // _count(shape))
    text = json.dumps(properties)
    with DataPlane(Workspace.loads(WORKSPACE)) as plane:

        def deliver() -> None:
            plane.send(track("Order Completed", user_id="u", properties=properties), source="web")
            plane.drain(600)

        def compare() -> float:
            """The longest wait while an event is delivered, by the longest while JSON is encoded."""
            floor = _worst_wait(plane, lambda: [json.loads(json.dumps(json.loads(text))) for _ in range(20)])
            return _worst_wait(plane, deliver) / max(floor, 0.05)

        ratios = [compare()]
        while min(ratios) >= 10 and len(ratios) < 3:
            ratios.append(compare())

        assert plane.totals().received == len(ratios)
    assert min(ratios) < 10, f"{min(ratios):.1f} times the wait while JSON of this size is encoded"
