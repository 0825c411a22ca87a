"""Apache Kafka: every event is a record of a topic, keyed by user.

With `enableMultiTopic`, track events go to the topic mapped to their name, other events to the topic mapped to their
type. Otherwise, and if no topic is mapped, events go to the configured topic. Requests have the form of the Kafka REST
proxy, at the address of the broker.
"""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Payload, Rows, Settings
from svctoolkit.destinations._families.streams import ANSWERS, target_of
from svctoolkit.events import Event


class KafkaSettings(Settings, frozen=True, kw_only=True):
    host_name: str
    port: str
    topic: str
    enable_multi_topic: bool = False
    event_type_to_topic_map: tuple[Rows, ...] = ()
    event_to_topic_map: tuple[Rows, ...] = ()


destination = DestinationType(
    "Apache Kafka",
    KafkaSettings,
    docs="https://docs.confluent.io/platform/current/kafka-rest/api.html",
    answers=ANSWERS,
    quirks=["If hostName lists several brokers, requests show the first."],
    differences=["Records are JSON even with `convertToAvro`."],
)


@destination.on()
def send_record(event: Event, settings: KafkaSettings) -> Payload:
    topic = settings.topic
    if settings.enable_multi_topic:
        rows = settings.event_to_topic_map if event.type == "track" else settings.event_type_to_topic_map
        topic = target_of(event, rows) or topic
    record = {"key": event.raw.get("userId") or event.raw.get("anonymousId"), "value": event.raw}
    broker = settings.host_name.partition(",")[0].strip()
    return Payload(
        endpoint=f"http://{broker}:{settings.port}/topics/{topic}",
        headers={"Content-Type": "application/vnd.kafka.json.v2+json"},
        json={"records": [record]},
    )
