"""Segment: every event as it is, one in a batch, to the HTTP API of a Segment source."""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, USER_ID, Table, basic_auth, first


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
)

CALL = Table(
    {
        "type": "type",
        "userId": USER_ID,
        "anonymousId": "anonymousId",
        "event": "event",
        "name": "name",
        "category": "category",
        "groupId": "groupId",
        "previousId": "previousId",
        "traits": first("traits", "context.traits"),
        "properties": "properties",
        "timeStamp": TIME,  # the service writes it so; Segment itself reads `timestamp`
    }
)


@destination.on()
def send_call(event: Event, settings: SegmentSettings) -> Payload:
    call = CALL(event)
    if "userId" not in call and "anonymousId" not in call:
        raise MappingError("needs a value at userId or anonymousId", field="userId or anonymousId")
    return Payload(
        endpoint="https://api.segment.io/v1/batch",
        headers={"Content-Type": "application/json", "Authorization": basic_auth(settings.write_key)},
        json={"batch": [call]},
    )
