"""Both sides of the bounds of Meta's rules."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import SECONDS, Case, Requests

CONFIG = {"pixelId": "123456", "accessToken": "t1"}
_DAY = 86_400
USUAL = {
    "event_name": "PageView",
    "event_time": SECONDS - 60,
    "action_source": "website",
    "user_data": {"em": "a" * 64, "country": "b" * 64},
}


def fb(*events: dict[str, Any], pixel: str = "123456", token: str = "t1", **members: Any) -> Requests:
    """Send one event with these members, or several events."""
    body = {"data": [{**USUAL, **event} for event in events or (members,)]}
    url = f"https://graph.facebook.com/v25.0/{pixel}/events?access_token={token}"
    return lambda server: server.answer("POST", url, None, body)


CASES = {
    "fb.auth": Case(fb(token="other"), fb()),
    "fb.pixel": Case(fb(pixel="999"), fb(), {"pixels": ["123456"]}),
    "fb.all": Case(fb({}, {"event_time": SECONDS - 8 * _DAY}), fb({}, {})),
    "fb.count": Case(fb(*[{}] * 1001), fb(*[{}] * 1000), level="strict"),
    "fb.required": Case(fb(user_data=None), fb()),
    "fb.action_source": Case(fb(action_source="shop"), fb(action_source="other")),
    "fb.time.old": Case(
        fb(event_time=SECONDS - 7 * _DAY - 1), fb(event_time=SECONDS - 62 * _DAY, action_source="physical_store")
    ),
    "fb.user.enough": Case(fb(user_data={"country": "b" * 64}), fb(), level="strict"),
    "fb.purchase": Case(fb(event_name="Purchase"), fb(event_name="Purchase", custom_data={"value": 0})),
    "fb.currency": Case(fb(custom_data={"currency": "EURO"}), fb(custom_data={"currency": "EUR"})),
}
