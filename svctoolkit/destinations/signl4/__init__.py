"""SIGNL4: alerts for on-call teams, through its webhook.

track sends an alert with the event's properties. SIGNL4's own fields (service, location, alerting scenario, ID and
status) are read from the configured properties; otherwise they have the configured values.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import Missing, without_scalars
from svctoolkit.secrets import Secret


class Signl4Settings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    s4_service_value: str = ""
    s4_service_property: str = ""
    s4_location_value: str = ""
    s4_location_property: str = ""
    s4_alerting_scenario_value: str = ""
    s4_alerting_scenario_property: str = ""
    s4_external_id_value: str = msgspec.field(name="s4ExternalIDValue", default="")
    s4_external_id_property: str = msgspec.field(name="s4ExternalIDProperty", default="")
    s4_status_value: str = ""
    s4_status_property: str = ""
    event_to_title_mapping: tuple[Rows, ...] = ()

    @cached_property
    def fields(self) -> dict[str, tuple[str, str]]:
        """The property for each of SIGNL4's own fields, and its fallback value."""
        return {
            "X-S4-Service": (self.s4_service_property, self.s4_service_value),
            "X-S4-Location": (self.s4_location_property, self.s4_location_value),
            "X-S4-AlertingScenario": (self.s4_alerting_scenario_property, self.s4_alerting_scenario_value),
            "X-S4-ExternalID": (self.s4_external_id_property, self.s4_external_id_value),
            "X-S4-Status": (self.s4_status_property, self.s4_status_value),
        }

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of events that have a configured title."""
        return {row.from_: row.to for row in self.event_to_title_mapping if row.to}


destination = DestinationType(
    "SIGNL4",
    Signl4Settings,
    docs="https://docs.signl4.com/integrations/webhook/webhook.html",
    quirks=["Numbers and booleans are not sent, only strings, lists and objects."],
    answers=[
        Answer("success", 201, {"eventId": "2518a6e1"}),
        Answer("bad key", 401, {"message": "Unknown team"}),
        Answer("rate limit", 429, {"message": "Too many requests"}),
        Answer("invalid field", 400, {"message": "Bad request"}),
    ],
)

API = Endpoint("https://connect.signl4.com/webhook/{api_key}", JSON)


@destination.on("track")
def send_alert(event: Event, settings: Signl4Settings) -> Payload:
    """Return an alert with the event's configured title, or else with the event's name as title."""
    name = event.raw.get("event")
    if not name:
        raise Missing("event")
    fields = {key: event.properties.get(source) or value for key, (source, value) in settings.fields.items()}
    read = {source for source, _ in settings.fields.values()}
    body: dict[str, Any] = {key: value for key, value in event.properties.items() if key not in read}
    body["Title"] = settings.titles.get(name, name) if isinstance(name, str) else name
    return API.post(settings, body=without_scalars({**body, **fields}))
