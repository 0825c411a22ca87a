"""Segment: the user, content and time of every event, to the HTTP API of a Segment source. Each batch has one event.

A write key is required here; RudderStack sends requests even without one.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, TIME, Table, as_object, first, verbatim, without


class SegmentSettings(Settings, frozen=True, kw_only=True):
    write_key: str = ""

    def __post_init__(self) -> None:
        if not self.write_key:
            raise ValueError("writeKey: is required")


destination = DestinationType(
    "Segment",
    SegmentSettings,
    docs="https://segment.com/docs/connections/sources/catalog/libraries/server/http-api/",
    answers=[  # Segment accepts any write key; only its debugger shows that the source does not exist
        Answer("success", 200, {"success": True}),
        Answer("bad key", 200, {"success": True}),
        Answer("rate limit", 429, {"success": False, "message": "too many requests"}, headers={"Retry-After": "30"}),
        Answer("invalid field", 400, {"success": False, "message": "malformed JSON"}),
    ],
    quirks=[
        "The time is sent as `timeStamp`, which Segment does not read: it uses the time of arrival.",
        "Names and categories of pages and screens, `groupId` of groups and `previousId` of aliases are not sent.",
    ],
)

API = Endpoint("https://api.segment.io/v1/batch", JSON, basic("write_key"))

CALL = Table(
    {
        "type": "type",
        "userId": ANY_ID,
        "anonymousId": verbatim("anonymousId"),
        "event": "event",
        "traits": first("traits", "context.traits"),
        "properties": "properties",
        "timeStamp": TIME,
    }
)


@destination.on()
def send_call(event: Event, settings: SegmentSettings) -> Payload:
    """Return the event, without the anonymous ID that clients may have put into the traits."""
    call = CALL(event)
    if "anonymousId" in as_object(call.get("traits")):
        call["traits"] = without(call["traits"], ["anonymousId"])
    return API.post(settings, body={"batch": [call]})
