"""Attribution: unchanged events, each in a batch of one, with the context's traits if the event has no own traits."""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, as_object, value_of, without
from svctoolkit.secrets import Secret


class AttributionSettings(Settings, frozen=True, kw_only=True):
    write_key: Secret


destination = DestinationType(
    "Attribution",
    AttributionSettings,
    docs="https://docs.attributionapp.com/docs/http-api",
    answers=[Answer("success", 200, {"success": True}), Answer("bad key", 401, {"error": "Unauthorized"})],
)

API = Endpoint("https://track.attributionapp.com/v1/import", JSON, basic("write_key"))


@destination.on()
def send_event(event: Event, settings: AttributionSettings) -> Payload:
    """Drop an anonymous ID in the traits: the event has its own, and the other may belong to a different user."""
    item = {key: value for key, value in event.raw.items() if value is not None}
    if when := value_of(event, TIME):
        item["timestamp"] = when
    if "traits" in item:
        item["traits"] = without(as_object(item["traits"]), ["anonymousId"])
    elif "traits" in event.context:
        item["traits"] = without(as_object(event.context["traits"]), ["anonymousId"])
        item["context"] = {**event.context, "traits": item["traits"]}
    return API.post(settings, body={"batch": [item]})
