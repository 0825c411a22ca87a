"""Customer.io: reporting webhooks about messages and subscriptions."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, crash, get, iso_of_number, member, message, moment_ms

source = SourceType(
    "Customerio",
    "Customer.io",
    label="Customer.io",
    docs="https://docs.customer.io/journeys/webhooks/",
    topic="body.metric",
    quirks=(
        "A timestamp that is the text of a number is ignored.",
        "The recipient of a Slack message or webhook becomes the trait email.",
        "Without an id, anonymousId is the email address itself.",
    ),
)

_FIELDS = FieldTable(
    {
        "event_id": "properties.eventId",
        "data.customer_id": "userId",
        "data.identifiers.id": "userId",
        "data.identifiers.cio_id": "context.traits.cioId",
        "data.identifiers.email": "context.traits.email",
        "data.recipient": "context.traits.email",
        "data.email_address": "context.traits.email",
        "data.delivery_id": "properties.deliveryId",
        "data.action_id": "properties.actionId",
        "data.subject": "properties.emailSubject",
        "data.campaign_id": "properties.campaignId",
        "data.broadcast_id": "properties.broadcastId",
        "data.newsletter_id": "properties.newsletterId",
        "data.transactional_message_id": "properties.transactionalMessageId",
        "data.trigger_id": "properties.triggerId",
        "data.journey_id": "properties.journeyId",
        "data.parent_action_id": "properties.parentActionId",
        "data.content": "properties.content",
        "data.content_id": "properties.contentId",
        "data.device_id": "properties.deviceId",
        "data.device_platform": "properties.devicePlatform",
        "data.event_type": "properties.type",
        "data.href": "properties.link.url",
        "data.link_id": "properties.link.id",
        "data.failure_message": "properties.reason",
        "data.recipients.failure_message": "properties.reason",
        "data.recipients": "properties.recipients",
    }
)
_SENT = {"attempted": "Attempted", "sent": "Sent", "failed": "Failed", "drafted": "Drafted", "clicked": "Link Clicked"}
_ARRIVED = {"bounced": "Bounced", "converted": "Converted", "delivered": "Delivered"}
_SUBSCRIBED = {"subscribed": "Subscribed", "unsubscribed": "Unsubscribed"}
_OPENED = {"dropped": "Dropped", "opened": "Opened"}
#: For each object type, the first word of its events and the rest by metric.
_NAMES = {
    "customer": ("Customer", _SUBSCRIBED),
    "email": (
        "Email",
        {**_SUBSCRIBED, **_SENT, **_ARRIVED, **_OPENED, "spammed": "Marked as Spam", "deferred": "Deferred"},
    ),
    "sms": ("SMS", {**_SENT, **_ARRIVED}),
    "push": ("Push", {**_SENT, **_ARRIVED, **_OPENED}),
    "slack": ("Slack Message", _SENT),
    "webhook": ("Webhook Message", _SENT),
}


@source.maps
def map_report(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    body = webhook.body
    event = message("Customer.io")
    event["event"] = _name(member(body, "object_type"), get(body, "metric"))
    _FIELDS.fill(event, body)
    time = get(body, "timestamp")
    if moment_ms(time, webhook.now) is not None:
        event["originalTimestamp"] = event["sentAt"] = iso_of_number(time)
    email = get(event["context"], "traits", "email")
    if event.get("userId") is None and email is not None:
        event["anonymousId"] = email
    return event


def _name(kind: Json, metric: Json) -> str:
    if kind is None:
        return "Unknown Event"
    if not isinstance(kind, str):
        raise crash("event.object_type?.toLowerCase is not a function", "body.object_type")
    first, names = _NAMES.get(kind.lower(), ("", {}))
    return f"{first} {names[metric]}" if isinstance(metric, str) and metric in names else "Unknown Event"
