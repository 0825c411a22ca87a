"""Extole: rewards and other events of referral programs."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, member, message

source = SourceType(
    "Extole",
    "Extole",
    label="EXTOLE",
    docs="https://dev.extole.com/docs/outbound-webhooks",
    topic="body.type",
    quirks=(
        "Only reward_earned, reward_fulfilled and reward_sent are mapped; of others every member is a property.",
        "Each event gets a new anonymousId, also with a partner_user_id.",
    ),
)

_FIELDS = FieldTable(
    {
        "event_id": "properties.eventId",
        "event_time": "originalTimestamp",
        "reward_id": "properties.rewardId",
        "reward_supplier_name": "properties.rewardSupplierName",
        "reward_supplier_id": "properties.rewardSupplierId",
        "partner_reward_supplier_id": "properties.partnerRewardSupplierId",
        "reward_supplier_type": "properties.partnerRewardSupplierType",
        "person_id": "properties.personId",
        "partner_user_id": ("userId", "context.traits.userId", "properties.partnerUserId"),
        "face_value": "properties.faceValue",
        "face_value_type": "properties.faceValueType",
        "message": "properties.message",
        "partner_reward_id": "properties.partnerRewardId",
        "email": "properties.email",
        "data": "properties.data",
        "schema_version": "properties.schemaVersion",
    }
)
_REWARDS = ("reward_earned", "reward_fulfilled", "reward_sent")


@source.maps
def map_event(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    body = webhook.body
    kind = member(body, "type")
    event = message("EXTOLE")
    if kind in _REWARDS:
        _FIELDS.fill(event, body)
    else:
        for key, value in _members(body).items():
            if key != "type":
                event.setdefault("properties", {})[key] = value
    if kind is not None:
        event["event"] = kind
    event.setdefault("properties", {})
    event["anonymousId"] = webhook.random()
    return event


def _members(body: Json) -> dict[str, Json]:
    """The members of an object. For a text, RudderStack's mapping finds the text itself under each number."""
    if isinstance(body, str):
        return {str(number): body for number in range(len(body))}
    if isinstance(body, list):
        return {str(number): item for number, item in enumerate(body)}
    return body if isinstance(body, dict) else {}
