"""Candu: users and events, through the webhook that controls the content they see.

identify sends the traits; track sends an event with its properties and the traits.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic_key
from svctoolkit.events import Event
from svctoolkit.mapping import USER_ID, Shape, Table, const, converter, first, js_join, required
from svctoolkit.secrets import Secret


class CanduSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Candu",
    CanduSettings,
    docs="https://support.candu.ai/en/articles/5612351-rudderstack-source-integration",
    quirks=["The header for Basic authentication contains the key alone, without a trailing colon."],
    answers=[
        Answer("success", 200, {"success": True}),
        Answer("bad key", 401, {"message": "Unauthorized"}),
        Answer("rate limit", 429, {"message": "Too Many Requests"}),
        Answer("invalid field", 400, {"message": "event is required"}),
    ],
)

API = Endpoint("https://api.candu.ai/api/eventWebhook", basic_key("api_key"), JSON)

as_text = converter(js_join)

_PERSON: Shape = {
    "traits": first("traits", "context.traits"),
    "userId": as_text(USER_ID),
    "anonymousId": "anonymousId",
    "messageId": "messageId",
    "timestamp": "timestamp",
    "context": {"source": const("RudderStack")},
}
PERSON = Table({**_PERSON, "type": const("identify")})
ACTION = Table({**_PERSON, "type": const("track"), "event": required("event"), "properties": "properties"})


@destination.on("identify", "track")
def send_event(event: Event, settings: CanduSettings) -> Payload:
    """Return the user, with the event if there is one."""
    table = PERSON if event.type == "identify" else ACTION
    return API.post(settings, body=table(event))
