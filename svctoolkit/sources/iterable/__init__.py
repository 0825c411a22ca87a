"""Iterable: system webhooks about messages and subscriptions."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import SourceType, Webhook, get, iso_of_date, md5_text, member, message, rest, truthy

source = SourceType(
    "iterable",
    "Iterable",
    label="Iterable",
    docs="https://support.iterable.com/hc/en-us/articles/208013936-System-Webhooks",
    topic="body.eventName",
    quirks=(
        "Without a userId, the userId is the MD5 of the email address.",
        "The time of the event becomes receivedAt and timestamp, not originalTimestamp.",
    ),
)


@source.maps
def map_system_event(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    body = webhook.body
    email, user, name = member(body, "email"), get(body, "userId"), get(body, "eventName")
    fields = get(body, "dataFields")
    if email is None:
        email = get(fields, "email")
    addresses = [address for address in (email, get(fields, "email")) if _is_text(address)]
    if not (_is_text(name) and (addresses or _is_text(user))):
        raise InvalidWebhook("Unknown event type from Iterable", field="body.eventName")
    event = message("Iterable", version="1.0.0")
    event["event"] = name
    if email is not None:
        event["context"]["traits"] = {"email": email}
    if fields is not None:
        event["properties"] = rest(fields, {"email"}) if isinstance(fields, dict) else fields
    if truthy(created := get(fields, "createdAt")):
        event["receivedAt"] = event["timestamp"] = iso_of_date(created)
    event["userId"] = user if truthy(user) else md5_text(email)
    return event


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and value != ""
