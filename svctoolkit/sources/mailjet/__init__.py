"""Mailjet: what happens to sent mails, one or several in a request."""

from __future__ import annotations

from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sources import (
    FieldTable,
    SourceType,
    Webhook,
    external_id,
    get,
    iso_of_number,
    md5_text,
    member,
    message,
    truthy,
)

source = SourceType(
    "mailjet",
    "Mailjet",
    label="MailJet",
    docs="https://dev.mailjet.com/email/guides/webhooks/",
    topic="body.event",
    quirks=(
        "The userId is the MD5 of the email address, unless `customId` (Mailjet sends `CustomID`) is there.",
        "An event without an email address is refused with 400, together with all others of its request.",
        "An empty list is refused with 400.",
    ),
)

_FIELDS = FieldTable(
    {
        "event": "event",
        "email": "context.traits.email",
        "messageId": "properties.mailJetMessageId",
        "url": ("context.page.url", "properties.url"),
        "ip": ("context.ip", "properties.ip"),
        "customId": "userId",
        "customcampaign": "properties.customcampaign",
        "mj_campaign_id": "properties.mj_campaign_id",
        "Payload": "properties.Payload",
        "agent": "context.userAgent",
        "source": "context.campaign.source",
    }
)


@source.maps
def map_mails(webhook: Webhook) -> list[dict[str, Json]]:
    """Return one track event per mail event."""
    return [_map_mail(mail) for mail in (webhook.body if isinstance(webhook.body, list) else [webhook.body])]


def _map_mail(mail: Json) -> dict[str, Any]:
    name = member(mail, "event")
    event = message("MailJet")
    _FIELDS.fill(event, mail)
    event.pop("event", None)
    if isinstance(mail, dict) and "event" in mail:
        event["event"] = name
    if truthy(time := get(mail, "time")):
        event["originalTimestamp"] = iso_of_number(time)
    if event.get("userId") is None and truthy(email := get(mail, "email")):
        event["userId"] = md5_text(email)
    contact = get(mail, "mj_contact_id")
    event["context"]["externalId"] = external_id("mailjetContactId", contact) if truthy(contact) else []
    return event
