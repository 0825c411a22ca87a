"""Amazon Kinesis Firehose: each event that the configuration maps becomes a record of a delivery stream."""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Endpoint, Header, Payload, Rows, Settings
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
    quirks=["The data of a record is shown as the event; in the real request it is Base64-encoded JSON."],
)

API = Endpoint(
    "https://firehose.{region}.amazonaws.com/",
    Header("Content-Type", "application/x-amz-json-1.1"),
    Header("X-Amz-Target", "Firehose_20150804.PutRecord"),
)


@destination.on()
def send_record(event: Event, settings: FirehoseSettings) -> Payload:
    stream = require_target(event, settings.map_events, "mapEvents")
    return API.post(settings, body={"DeliveryStreamName": stream, "Record": {"Data": event.raw}})
