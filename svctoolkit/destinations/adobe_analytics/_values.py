"""The sources of a hit's values, and their XML as RudderStack writes it."""

from __future__ import annotations

import re

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import IP, Table, as_object, first, path, text

_SPECIAL = re.compile(r"[&<>\r]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
FIRST = Table(
    {
        "browserHeight": "context.screen.height",
        "browserWidth": "context.screen.width",
        "campaign": "context.campaign.name",
        "channel": "channel",
        "currencyCode": "properties.currency",
        "ipaddress": IP,
        "language": "context.locale",
    }
)
_ORDER_ID = first("properties.order_id", "properties.orderId")
ORDER = Table({"purchaseID": _ORDER_ID, "transactionID": _ORDER_ID})
PURCHASE = Table(
    {
        "purchaseID": first("properties.purchaseId", _ORDER_ID),
        "transactionID": first("properties.transactionId", _ORDER_ID),
    }
)
KNOWN = Table(
    {
        "state": first("context.traits.address.state", "context.traits.state"),
        "timezone": "context.timezone",
        "transactionId": "properties.transaction_id",
        "userAgent": "context.userAgent",
        "zip": first("context.traits.address.postalCode", "context.traits.postalCode"),
        "referrer": "context.page.referrer",
    }
)


def value_at(event: Event, name: str) -> Json:
    """Return the value of a name: from properties, traits or the context's traits. Dotted names are paths."""
    if "." in name:
        return path(name)(event.raw)
    places = (event.properties, as_object(event.raw.get("traits")), as_object(event.context.get("traits")))
    return next((place[name] for place in places if place.get(name) is not None), None)


def escaped_value_at(event: Event, name: str) -> Json:
    """Return the value of a name; the characters of a text that have a meaning in XML are escaped."""
    value = value_at(event, name)
    return value.translate(_ESCAPES) if isinstance(value, str) and _SPECIAL.search(value) else value


def overrides(event: Event, name: str) -> dict[str, Json] | None:
    """Return the variables in this property of the event; None if it is not an object. Nulls become empty strings."""
    own = event.properties.get(name)
    return {key: "" if value is None else value for key, value in own.items()} if isinstance(own, dict) else None


def element(name: str, value: Json) -> str:
    """Return an XML element, self-closing if the value is null or empty. As in RudderStack, nothing is escaped."""
    if value is None or value == "":
        return f"<{name}/>"
    return f"<{name}>{value if type(value) is str else _content(value)}</{name}>"


def _content(value: Json) -> str:
    if isinstance(value, dict):
        return "".join(element(key, item) for key, item in value.items())
    if isinstance(value, list):
        return "".join(_content(item) for item in value)
    return text(value)
