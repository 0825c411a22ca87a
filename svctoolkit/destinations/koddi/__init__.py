"""Koddi: ad impressions and clicks, and the conversions that result from them.

track sends one of the three, selected by `integrations.koddi.eventType`. Impressions and clicks are sent as URL
parameters; a conversion is an object with its bidders.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import ACCEPT_JSON, JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    IP,
    TIME,
    Misfit,
    Missing,
    Shape,
    Table,
    first,
    required,
    value_of,
    whole_second,
)


class KoddiSettings(Settings, frozen=True, kw_only=True):
    api_base_url: str
    client_name: str


destination = DestinationType(
    "Koddi",
    KoddiSettings,
    docs="https://developers.koddi.com/reference/winning-ads-impressions-clicks-conversions",
    quirks=["A conversion without a time is sent with an empty time."],
    answers=[
        Answer("success", 200, {"status": "OK"}),
        Answer("bad key", 401, {"error": "Unauthorized"}),
        Answer("rate limit", 429, {"error": "Too many requests"}),
        Answer("invalid field", 400, {"error": "bidders: must not be empty"}),
    ],
)

API = Endpoint("{api_base_url}", ACCEPT_JSON, JSON)

_ADVERTISEMENT: Shape = {
    "trackingData": required("properties.tracking_data"),
    "rank": required("properties.rank"),
    "beaconIssued": required("properties.beacon_issued"),
}
IMPRESSION = Table({**_ADVERTISEMENT, "ts": TIME})
CLICK = Table({**_ADVERTISEMENT, "userGuid": required(ANY_ID)})
CONVERSION = Table(
    {
        "currency": required("properties.currency"),
        "transaction_id": required(first("properties.order_id", "properties.transaction_id")),
        "conversion_source": "properties.conversion_source",
        "bidders": required("properties.bidders"),
        "culture": required("context.locale"),
        "domain": "context.page.referring_domain",
        "user_ip": IP,
        "user_agent": "context.userAgent",
        "user_guid": required(ANY_ID),
        "device_type": "context.device.type",
    }
)


@destination.on("track")
def send_action(event: Event, settings: KoddiSettings) -> Payload:
    """Return an impression, a click or a conversion."""
    kind = destination.options(event).get("eventType")
    match kind.lower() if isinstance(kind, str) else None:
        case "impressions":
            return _advertisement(settings, "impression", IMPRESSION(event))
        case "clicks":
            return _advertisement(settings, "click", CLICK(event))
        case "conversions":
            return _conversion(event, settings)
    where = "integrations.koddi.eventType"
    raise Misfit(where, "one of Impressions, Clicks, Conversions", kind)


def _advertisement(settings: KoddiSettings, action: str, values: dict[str, Any]) -> Payload:
    return Payload(
        endpoint=f"{settings.api_base_url}?action={action}",
        method="GET",
        headers={"Accept": "application/json"},
        params={**values, "clientName": settings.client_name},
    )


def _conversion(event: Event, settings: KoddiSettings) -> Payload:
    body = CONVERSION(event)
    _check_bidders(body["bidders"])
    time = whole_second(value_of(event, TIME))
    return API.post(settings, "conversion", {**body, "unixtime": time, "client_name": settings.client_name})


def _check_bidders(bidders: Any) -> None:
    where = "properties.bidders"
    if not isinstance(bidders, list) or not bidders or not all(isinstance(bidder, dict) for bidder in bidders):
        raise Misfit(where, "a list of at least one bidder", case="list")
    for number, bidder in enumerate(bidders):
        for name in ("count", "base_price"):
            if not bidder.get(name):
                field = f"{where}.{number}.{name}"
                raise Missing(field, wants="a value other than 0")
