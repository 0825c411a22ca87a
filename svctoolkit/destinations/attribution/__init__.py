"""Attribution: every event as it is, in a batch of one, with the traits of its context where it has none of its own."""

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
    """Traits name no anonymous ID: the event has one, and the traits' own might be another's."""
    item = {key: value for key, value in event.raw.items() if value is not None}
    if when := value_of(event, TIME):
        item["timestamp"] = when
    if "traits" in item:
        item["traits"] = without(as_object(item["traits"]), ["anonymousId"])
    elif "traits" in event.context:
        item["traits"] = without(as_object(event.context["traits"]), ["anonymousId"])
        item["context"] = {**event.context, "traits": item["traits"]}
    return API.post(settings, body={"batch": [item]})
