"""monday.com: changes of boards."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import (
    Answer,
    SourceType,
    Webhook,
    capital_words,
    crash,
    echo,
    external_id,
    get,
    js_text,
    message,
    rest,
    sha256_text,
    truthy,
)

source = SourceType(
    "monday",
    "monday.com",
    label="MONDAY",
    docs="https://developer.monday.com/api-reference/reference/webhooks",
    topic="body.event.type",
    quirks=(
        "A webhook with `challenge` is answered with its own body.",
        "anonymousId is the first 36 characters of the SHA-256 of the user id.",
    ),
)

_TAKEN = frozenset({"userId", "triggerTime"})


@source.maps
def map_change(webhook: Webhook) -> dict[str, Json] | Answer:
    """Return one track event, or the challenge."""
    if webhook.body is None:
        raise crash("Cannot read properties of null (reading 'challenge')")
    if truthy(get(webhook.body, "challenge")):
        return echo(webhook.body)
    change = get(webhook.body, "event")
    name = get(change, "type")
    if not isinstance(name, str):
        raise crash("evtName.split is not a function", "body.event.type")
    user = get(change, "userId")
    if not truthy(user):
        raise InvalidWebhook("UserId not found", field="body.event.userId")
    event = message("MONDAY")
    event["event"] = capital_words(name)
    event["anonymousId"] = sha256_text(js_text(user))[:36]
    event["context"]["externalId"] = external_id("mondayUserId", user)
    if (time := get(change, "triggerTime")) is not None:
        event["timestamp"] = event["originalTimestamp"] = time
    event["properties"] = rest(change, _TAKEN)
    return event
