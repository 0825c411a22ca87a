"""Slack: the Events API."""

from __future__ import annotations

from typing import Any

from svctoolkit.errors import InvalidWebhook
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.mapping import leading_number
from svctoolkit.sources import (
    Answer,
    FieldTable,
    SourceType,
    Webhook,
    capital_words,
    crypto_sha256,
    echo,
    first_true,
    get,
    iso_of_ms,
    message,
    truthy,
)

source = SourceType(
    "slack",
    "Slack",
    label="SLACK",
    docs="https://api.slack.com/apis/events-api",
    topic="body.event.type",
    quirks=(
        "`url_verification` is answered with the challenge.",
        "anonymousId is the first 36 characters of the SHA-256 of the user's id.",
        "team_join and user_change are identify calls, with an event name.",
    ),
)

_FIELDS = FieldTable(
    {
        "user.tz": "timezone",
        "user.profile.email": "context.traits.email",
        "user.profile.phone": "context.traits.phone",
        "user.profile.real_name_normalized": "context.traits.name",
        "user.profile.real_name": "context.traits.name",
        "user.profile.display_name_normalized": "context.traits.name",
        "user.profile.display_name": "context.traits.name",
        "user.profile.first_name": "context.traits.firstName",
        "user.profile.last_name": "context.traits.lastName",
        "user.profile.image_original": "context.traits.avatar",
        "user.profile.title": "context.traits.title",
    }
)
_IDENTIFY = ("team_join", "user_change")


@source.maps
def map_event(webhook: Webhook) -> dict[str, Json] | Answer:
    """Return one event, or the challenge."""
    body = webhook.body
    if get(body, "type") == "url_verification" and truthy(challenge := get(body, "challenge")):
        return echo({"challenge": challenge})
    inner = get(body, "event")
    if not truthy(inner):
        raise InvalidWebhook("Missing the required event data", field="body.event")
    user, kind = get(inner, "user"), get(inner, "type")
    if not truthy(user):
        raise InvalidWebhook("UserId not found", field="body.event.user")
    event = message("SLACK", kind="identify" if kind in _IDENTIFY else "track")
    event["event"] = capital_words(kind) if isinstance(kind, str) else "undefined"
    _set_user(event, user, webhook)
    times = (get(inner, "ts"), get(inner, "event_ts"), get(body, "event_time"))
    for name, time in (("originalTimestamp", first_true(*times)), ("sentAt", times[2])):
        if (stamp := _iso(time, webhook)) is not None:
            event[name] = stamp
    _FIELDS.fill(event, inner)
    event["properties"] = inner
    return event


def _set_user(event: dict[str, Any], user: Json, webhook: Webhook) -> None:
    outside: dict[str, Json] = {"type": "slackUserId"}
    number = user
    if isinstance(user, (dict, list)):
        number = get(user, "id")
    if not isinstance(user, list) and (not isinstance(user, dict) or "id" in user):
        outside["id"] = number
    event["context"]["externalId"] = [outside]
    event["anonymousId"] = crypto_sha256(number, "body.event.user")[:36] if truthy(number) else webhook.random()


def _iso(time: Json, webhook: Webhook) -> str | None:
    """A time of Slack, in seconds with a fraction, as ISO 8601; now for none, None for what is not a number."""
    if not truthy(time):
        return iso(webhook.now)
    seconds = leading_number(time)
    return None if seconds is None else iso_of_ms(seconds * 1000)
