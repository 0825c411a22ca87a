"""Facebook Lead Ads: changes of a page, whose leads RudderStack fetches from Facebook afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import Setting, SourceType, Webhook, get, iso_of_number, js_text, member, truthy

source = SourceType(
    "facebook_lead_ads_native",
    "Facebook Lead Ads (native)",
    docs="https://developers.facebook.com/docs/marketing-api/guides/lead-ads/retrieving/",
    topic="body.entry.0.changes.0.field",
    settings=(Setting("pageAccessToken", "string", "Token of the page, to fetch its leads", secret=True),),
    quirks=(
        "The webhook has ids only: a lead's fields are fetched from Facebook before the event goes on.",
        "A change without leadgen_id, page_id or form_id is dropped silently if others remain.",
    ),
)


@source.maps
def map_changes(webhook: Webhook) -> list[dict[str, Json]]:
    """Return one identify event per change with a lead."""
    if member(webhook.body, "object") != "page":
        raise InvalidWebhook('object field must be "page"', field="body.object")
    entries = get(webhook.body, "entry")
    if not isinstance(entries, list) or not entries:
        raise InvalidWebhook("entry field is required", field="body.entry")
    found = [event for entry in entries for event in _of_entry(entry, webhook)]
    if not found:
        raise InvalidWebhook("No valid events found", field="body.entry")
    return found


def _of_entry(entry: Json, webhook: Webhook) -> Iterator[dict[str, Json]]:
    changes = get(entry, "changes")
    for change in changes if isinstance(changes, list) else []:
        value = get(change, "value")
        lead, page, form = (get(value, key) for key in ("leadgen_id", "page_id", "form_id"))
        if not (truthy(lead) and truthy(page) and truthy(form)):
            continue
        event: dict[str, Json] = {
            "type": "identify",
            "anonymousId": lead,
            "messageId": f"{webhook.source_id}-{js_text(lead)}",
            "context": {"traits": {"pageId": page, "formId": form}},
        }
        if truthy(created := get(value, "created_time")):
            event["originalTimestamp"] = iso_of_number(created)
        if truthy(sent := get(entry, "time")):
            event["sentAt"] = iso_of_number(sent)
        yield event
