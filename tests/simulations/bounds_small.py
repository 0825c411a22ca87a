"""Both sides of the bounds of the rules of PostHog, Snap and TikTok."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import SECONDS, Case, Requests, each

CONFIGS: dict[str, dict[str, Any]] = {
    "POSTHOG": {"teamApiKey": "k1", "yourInstance": "https://app.posthog.com/"},
    "SNAPCHAT_CONVERSION": {"apiKey": "t1", "pixelId": "px1", "apiVersion": "newApi"},
    "TIKTOK_ADS": {"accessToken": "t1", "pixelCode": "PX1"},
}


def ph(event: str | None = "A", id: str = "u1", properties: dict[str, Any] | None = None, **members: Any) -> Requests:
    body = {"api_key": "k1", "event": event, "distinct_id": id, "properties": properties or {}, **members}
    return lambda server: server.answer("POST", "https://app.posthog.com/batch", None, body)


def ph_identify(id: str, anonymous: str) -> Requests:
    return ph("$identify", id, {"$anon_distinct_id": anonymous})


def sc(count: int = 1, **members: Any) -> Requests:
    usual = {"event_name": "PURCHASE", "event_time": SECONDS - 60, "action_source": "WEB", **members}
    url = "https://tr.snapchat.com/v3/px1/events?access_token=t1"
    return lambda server: server.answer("POST", url, None, {"data": [usual] * count})


def tt(content_id: Any = "p1", event: str = "AddToCart", pixel: str = "PX1", id: str = "e1") -> Requests:
    body = {
        "pixel_code": pixel,
        "event": event,
        "event_id": id,
        "properties": {"contents": [{"content_id": content_id}]},
    }
    url = "https://business-api.tiktok.com/open_api/v1.3/pixel/track/"
    return lambda server: server.answer("POST", url, None, body)


CASES = {
    "ph.required": Case(ph(None), ph()),
    "ph.size": Case(ph(properties={"a": "x" * 1_048_576}), ph(properties={"a": "x" * 1_048_000})),
    "ph.uuid": Case(ph(uuid="order-1"), ph(uuid="018f4a2e-7c1d-7d9b-9d0e-2f1f9a1b2c3d")),
    "ph.time.invalid": Case(ph(timestamp="soon"), ph(timestamp="2026-08-06T09:00:00Z")),
    "ph.time.future": Case(ph(timestamp="2026-08-07T09:00:01Z"), ph(timestamp="2026-08-07T09:00:00Z")),
    "ph.merge.illegal": Case(ph_identify("u1", "undefined"), ph_identify("u1", "undefined1")),
    "ph.merge.identified": Case(
        each(ph_identify("u2", "a2"), ph_identify("u1", "u2")), each(ph_identify("u2", "a2"), ph_identify("u1", "a1"))
    ),
    "sc.past": Case(sc(event_time=SECONDS - 37 * 86_400 - 1), sc(event_time=SECONDS - 37 * 86_400)),
    "sc.count": Case(sc(2001), sc(2000)),
    "sc.required": Case(sc(action_source="SHOP"), sc(action_source="OFFLINE")),
    "tt.type": Case(tt(5), tt("5")),
    "tt.permission": Case(tt(pixel="PX2"), tt(), {"pixels": ["PX1"]}),
    "tt.fold": Case(each(tt(), tt()), each(tt(), tt(id="e2"), tt(event="Search"))),
}
