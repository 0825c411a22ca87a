"""Amazon Kinesis Firehose: every event that the configuration maps is a record of its delivery stream."""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Payload, Rows, Settings
from svctoolkit.destinations._families.streams import ANSWERS, require_target
from svctoolkit.events import Event


class FirehoseSettings(Settings, frozen=True, kw_only=True):
    region: str
    map_events: tuple[Rows, ...] = ()


destination = DestinationType(
    "Amazon Kinesis Firehose",
    FirehoseSettings,
    docs="https://docs.aws.amazon.com/firehose/latest/APIReference/API_PutRecord.html",
    answers=ANSWERS,
    quirks=["The data of a record are shown as the event; on the wire they are its JSON in Base64."],
)


@destination.on()
def send_record(event: Event, settings: FirehoseSettings) -> Payload:
    stream = require_target(event, settings.map_events, "mapEvents")
    return Payload(
        endpoint=f"https://firehose.{settings.region}.amazonaws.com/",
        headers={"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "Firehose_20150804.PutRecord"},
        json={"DeliveryStreamName": stream, "Record": {"Data": event.raw}},
    )
