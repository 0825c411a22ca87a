"""Canny: posts, comments and votes."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import (
    FieldTable,
    SourceType,
    Webhook,
    crash,
    crypto_sha256,
    external_id,
    get,
    member,
    message,
    rest,
    truthy,
)

source = SourceType(
    "canny",
    "Canny",
    label="Canny",
    docs="https://developers.canny.io/webhooks",
    topic="body.type",
    quirks=(
        "The user of a vote is its voter, otherwise the author of the post or comment.",
        "Without `userID`, anonymousId is the SHA-256 of the email address; a user without both makes it crash.",
    ),
)

_FIELDS = FieldTable({"created": ("timestamp", "originalTimestamp"), "type": "event"})
_VOTES = frozenset({"vote.created", "vote.deleted"})
_IDS = frozenset({"id", "userID"})
_MISSING = "Missing essential fields from Canny"


@source.maps
def map_change(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    kind = member(webhook.body, "type")
    changed = get(webhook.body, "object")
    if not isinstance(changed, dict):
        raise crash(_MISSING, "body.object")
    role = "voter" if isinstance(kind, str) and kind in _VOTES else "author"
    event = message("Canny", version="1.0.0")
    _FIELDS.fill(event, webhook.body)
    user = changed.get(role)
    _identify(event, user, role)
    if not truthy(kind):
        raise InvalidWebhook(_MISSING, field="body.type")
    event["properties"] = rest(changed, {role})
    if event["properties"].get("objectType") is None and (name := get(webhook.body, "objectType")) is not None:
        event["properties"]["objectType"] = name
    return event


def _identify(event: dict[str, Json], user: Json, role: str) -> None:
    number, email = get(user, "userID"), get(user, "email")
    if truthy(number):
        event["userId"] = number
    else:
        event["anonymousId"] = crypto_sha256(email, f"body.object.{role}.email")
    if truthy(get(user, "id")):
        event["context"]["externalId"] = external_id("cannyUserId", user["id"])
    event["context"]["traits"] = rest(user, _IDS)
