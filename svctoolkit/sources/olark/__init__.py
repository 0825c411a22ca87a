"""Olark: transcripts of chats."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, crash, get, member, message, truthy

source = SourceType(
    "olark",
    "Olark",
    label="Olark",
    docs="https://www.olark.com/help/webhooks",
    topic="body.kind",
    quirks=("The time of a chat is lost: events get the time at which they arrive.",),
)

_FIELDS = FieldTable(
    {
        "visitor.id": "userId",
        "kind": "event",
        "visitor.fullName": "context.traits.name",
        "visitor.phoneNumber": "context.traits.phone",
        "visitor.emailAddress": "context.traits.email",
        "visitor.city": "context.traits.city",
        "visitor.region": "context.traits.region",
        "visitor.country": "context.traits.country",
        "visitor.organization": "traits.organization",
        "visitor.chat_feedback": "traits.chat_feedback",
        "visitor.operatingSystem": "context.os.name",
        "visitor.referrer": "context.page.referrer",
        "visitor.conversationBeginPage": "context.page.url",
        "items": "properties.items",
        "tags": "properties.tags",
        "ip": ("context.ip", "properties.ip"),
    }
)
_GROUP_FIELDS = FieldTable({"visitor.id": "userId"})


@source.maps
def map_chat(webhook: Webhook) -> Iterator[dict[str, Json]]:
    """Yield one track event, and one group event per group of the chat."""
    body = webhook.body
    visitor = member(body, "visitor")
    event = message("Olark")
    _FIELDS.fill(event, body)
    if truthy(browser := get(visitor, "browser")):
        if not isinstance(browser, str):
            raise crash("browserInfo.split is not a function", "body.visitor.browser")
        name, _, version = browser.rpartition(" ")
        event["context"]["browser"] = {"name": name, "version": version}
    event["context"].setdefault("traits", {})
    event.setdefault("traits", {})
    event.setdefault("properties", {})
    yield event
    groups = get(body, "groups")
    for group in groups if isinstance(groups, list) else []:
        if truthy(get(group, "id")):
            call = message("Olark", kind="group")
            _GROUP_FIELDS.fill(call, body)
            call["groupId"] = group["id"]
            call["traits"] = {key: group[key] for key in ("name", "kind") if group.get(key) is not None}
            yield call
