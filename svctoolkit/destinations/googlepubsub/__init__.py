"""Google Cloud Pub/Sub: each event that the configuration maps becomes a message of a topic.

Attributes get the values that `eventToAttributesMap` names for the event, under the last part of their names.
"""

from __future__ import annotations

from svctoolkit.destinations import JSON, DestinationType, Endpoint, Payload, Rows, Settings
from svctoolkit.destinations._families.streams import ANSWERS, require_target, target_of, value_named
from svctoolkit.events import Event
from svctoolkit.mapping import text


class PubSubSettings(Settings, frozen=True, kw_only=True):
    project_id: str
    event_to_topic_map: tuple[Rows, ...] = ()
    event_to_attributes_map: tuple[Rows, ...] = ()


destination = DestinationType(
    "Google Cloud Pub/Sub",
    PubSubSettings,
    docs="https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish",
    answers=ANSWERS,
    quirks=["The data of a message is shown as the event; in the real request it is Base64-encoded JSON."],
)

API = Endpoint("https://pubsub.googleapis.com/v1/projects/{project_id}/topics", JSON)


@destination.on()
def send_message(event: Event, settings: PubSubSettings) -> Payload:
    topic = require_target(event, settings.event_to_topic_map, "eventToTopicMap")
    message = {"data": event.raw}
    values = {row.to.rpartition(".")[2]: value_named(event, row.to) for row in _rows_of(event, settings)}
    if attributes := {key: text(value) for key, value in values.items() if value is not None}:
        message["attributes"] = attributes
    return API.post(settings, f"{topic}:publish", {"messages": [message]})


def _rows_of(event: Event, settings: PubSubSettings) -> list[Rows]:
    return [row for row in settings.event_to_attributes_map if target_of(event, [row])]
