"""Segment: who, what and when of every event, one in a batch, to the HTTP API of a Segment source.

A write key is needed here; the service sends requests without one.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, TIME, Table, as_it_is, as_object, first, without


class SegmentSettings(Settings, frozen=True, kw_only=True):
    write_key: str = ""

    def __post_init__(self) -> None:
        if not self.write_key:
            raise ValueError("writeKey: is required")


destination = DestinationType(
    "Segment",
    SegmentSettings,
    docs="https://segment.com/docs/connections/sources/catalog/libraries/server/http-api/",
    answers=[  # Segment takes any write key and tells in its debugger that it knows no such source
        Answer("success", 200, {"success": True}),
        Answer("bad key", 200, {"success": True}),
        Answer("rate limit", 429, {"success": False, "message": "too many requests"}, headers={"Retry-After": "30"}),
        Answer("invalid field", 400, {"success": False, "message": "malformed JSON"}),
    ],
    quirks=[
        "The time is sent as `timeStamp`, which Segment does not read: it takes the time of arrival.",
        "Names and categories of pages and screens, the `groupId` of groups and the `previousId` of aliases stay here.",
    ],
)

API = Endpoint("https://api.segment.io/v1/batch", JSON, basic("write_key"))

CALL = Table(
    {
        "type": "type",
        "userId": ANY_ID,
        "anonymousId": as_it_is("anonymousId"),
        "event": "event",
        "traits": first("traits", "context.traits"),
        "properties": "properties",
        "timeStamp": TIME,
    }
)


@destination.on()
def send_call(event: Event, settings: SegmentSettings) -> Payload:
    """Traits go without the anonymous ID that clients may have put there."""
    call = CALL(event)
    if "anonymousId" in as_object(call.get("traits")):
        call["traits"] = without(call["traits"], ["anonymousId"])
    return API.post(settings, body={"batch": [call]})
