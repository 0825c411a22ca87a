"""Rockerbox: conversions, through its webhook.

track sends the action that the configuration maps the event's name to; other events are rejected. Properties without a
Rockerbox field are sent too.
"""

from __future__ import annotations

from functools import cached_property

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    PHONE,
    TIME,
    TIME_EXAMPLE,
    USER_ID,
    Misfit,
    Missing,
    NotConfigured,
    Table,
    event_name,
    first,
    lenient_seconds,
    nest_dotted,
    required,
    value_of,
    without,
)


class RockerboxSettings(Settings, frozen=True, kw_only=True):
    advertiser_id: str
    events_map: tuple[Rows, ...] = ()

    @cached_property
    def actions(self) -> dict[str, str]:
        """The action of each event, by its name in lower case."""
        return {row.from_.lower(): row.to for row in self.events_map if row.from_ and row.to}


destination = DestinationType(
    "Rockerbox",
    RockerboxSettings,
    docs="https://help.rockerbox.com/article/s3xpfp9eqq-conversion-webhooks",
    answers=[
        Answer("success", 200, {"status": "success"}),
        Answer("bad key", 403, {"message": "Forbidden"}),
        Answer("rate limit", 429, {"message": "Too Many Requests"}),
        Answer("invalid field", 400, {"message": "Invalid request body"}),
    ],
)

ACTION = Table(
    {
        "customer_id": USER_ID,
        "anonymous_id": "anonymousId",
        "email": EMAIL,
        "phone": PHONE,
        "timestamp": required(lenient_seconds(TIME)),
        "revenue": first("properties.revenue", "properties.value", "properties.total", "properties.price"),
        "order_id": first("properties.orderId", "properties.order_id"),
        "in_store": "properties.in_store",
        "salesforce": "properties.salesforce",
        "country_code": "properties.countryCode",
        "listing_id": "properties.listingId",
    }
)


@destination.on("track")
def send_action(event: Event, settings: RockerboxSettings) -> Payload:
    """Return the action of the event."""
    action = settings.actions.get(event_name(event).lower())
    if action is None:
        raise NotConfigured("event", event_name(event), setting="eventsMap")
    if value_of(event, ANY_ID) is None:
        raise Missing("userId", "anonymousId")
    body = ACTION(event)
    if "timestamp" not in body:  # the string is not a valid time
        raise Misfit("timestamp", TIME_EXAMPLE, event.raw.get("timestamp"))
    rest = nest_dotted(without(ACTION.rest(event.properties, "properties"), ["userId"]))
    custom = {key: value for key, value in rest.items() if value is not None}
    return Payload(
        endpoint="https://webhooks.getrockerbox.com/rudderstack",
        params={"advertiser": settings.advertiser_id},
        json={**body, "conversion_source": "RudderStack", "action": action, **custom},
    )
