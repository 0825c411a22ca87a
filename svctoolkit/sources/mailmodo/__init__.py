"""Mailmodo: triggers of journeys and submitted forms."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.mapping import flatten
from svctoolkit.sources import (
    SourceType,
    Webhook,
    crypto_sha256,
    external_id,
    first_true,
    get,
    iso_of_number,
    message,
    truthy,
)

source = SourceType(
    "mailmodo",
    "Mailmodo",
    label="Mailmodo",
    docs="https://support.mailmodo.com/",
    topic="body.triggerData.triggerSource",
    quirks=(
        "Only texts become properties: numbers and booleans are lost.",
        "The names of properties are paths: `triggerData.eventProperty.Price`, `element8jzo13[0]`.",
        "anonymousId is the SHA-256 of the email address.",
    ),
)

#: Paths that are not properties.
_TAKEN = frozenset(
    {
        "triggerData.email",
        "triggerData.userId",
        "triggerData.formSubmissionData.recipientEmail",
        "recipientEmail",
        "recipientData",
    }
)
_TAKEN_BELOW = ("recipientData.", "recipientData[", "recordedAt.", "triggerData.formSubmissionData.recordedAt.")


@source.maps
def map_trigger(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    body = webhook.body
    trigger, recipient = get(body, "triggerData"), get(body, "recipientData")
    form = get(trigger, "formSubmissionData")
    email = first_true(get(trigger, "email"), get(body, "recipientEmail"), get(recipient, "email"))
    if not truthy(email):
        raise InvalidWebhook("Missing essential fields from Mailmodo", field="body.triggerData.email")
    event = message("Mailmodo", version="1.0.0")
    event["event"] = first_true(get(trigger, "triggerSource"), "Form Submitted")
    event["anonymousId"] = crypto_sha256(email, "body.triggerData.email")
    if recipient is not None:
        event["context"]["traits"] = dict(recipient) if isinstance(recipient, dict) else recipient
    if recipient is None or (isinstance(recipient, dict) and recipient.get("email") is None):
        event["context"].setdefault("traits", {})["email"] = email
    if truthy(user := get(trigger, "userId")):
        event["context"]["externalId"] = external_id("mailmodoUserId", user)
    time = first_true(get(body, "recordedAt", "ts"), get(form, "recordedAt", "ts"))
    if truthy(time):
        event["originalTimestamp"] = iso_of_number(time)
    event["properties"] = dict(_texts(body))
    return event


def _texts(body: Json) -> Iterator[tuple[str, str]]:
    for path, value in flatten(body).items() if isinstance(body, dict) else ():
        if isinstance(value, str) and value and path not in _TAKEN and not path.startswith(_TAKEN_BELOW):
            yield path, value
