"""RevenueCat: purchases and subscriptions."""

from __future__ import annotations

import re
from functools import lru_cache

from svctoolkit.json_types import Json
from svctoolkit.sources import (
    SourceType,
    Webhook,
    external_id,
    first_true,
    get,
    is_empty_lodash,
    iso_of_date,
    member,
    message,
    moment_ms,
    truthy,
)

source = SourceType(
    "revenuecat",
    "RevenueCat",
    label="RevenueCat",
    docs="https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields",
    topic="body.event.type",
    quirks=(
        "An event without a user has an empty userId and a new anonymousId.",
        "A numeric app_user_id gets a new anonymousId, too.",
    ),
)

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")


@source.maps
def map_purchase(webhook: Webhook) -> dict[str, Json]:
    """Return one track event whose properties are the members of RevenueCat's event in camel case."""
    purchase = member(webhook.body, "event")
    event = message("RevenueCat")
    if isinstance(purchase, dict) and purchase:
        event["properties"] = {_camel(key): value for key, value in purchase.items()}
    if isinstance(purchase, dict) and "type" in purchase:
        event["event"] = purchase["type"]
    user = first_true(get(purchase, "app_user_id"), get(purchase, "original_app_user_id"))
    event["userId"] = user if truthy(user) else ""
    if is_empty_lodash(event["userId"]):
        event["anonymousId"] = webhook.random()
    if truthy(number := get(purchase, "app_user_id")):
        event["context"]["externalId"] = external_id("revenuecatAppUserId", number)
    time = get(purchase, "event_timestamp_ms")
    if moment_ms(time, webhook.now) is not None:
        event["originalTimestamp"] = event["sentAt"] = iso_of_date(time)
    if isinstance(purchase, dict) and "id" in purchase:
        event["messageId"] = purchase["id"]
    return event


@lru_cache(maxsize=512)
def _camel(name: str) -> str:
    words: list[str] = _WORDS.findall(name.replace("'", ""))
    return "".join(words[:1]).lower() + "".join(word[:1].upper() + word[1:].lower() for word in words[1:])
