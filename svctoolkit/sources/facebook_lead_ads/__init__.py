"""Facebook Lead Ads through Zapier: fields of a lead as a form."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import (
    FieldTable,
    SourceType,
    Webhook,
    date_ms,
    first_given,
    iso_of_ms,
    js_text,
    message,
    truthy,
    unlist,
)

source = SourceType(
    "facebook_lead_ads",
    "Facebook Lead Ads",
    label="FacebookLeadAds",
    docs="https://www.rudderstack.com/docs/sources/event-streams/cloud-apps/facebook-lead-ads/",
    quirks=(
        "`created_time` is read in UTC, in the order month, day, year; one that cannot be read is ignored.",
        "All fields are traits, and the known ones are traits under RudderStack's names, too.",
    ),
)

_FIELDS = FieldTable(
    {
        "email": "context.traits.email",
        "full_name": "context.traits.name",
        "first_name": "context.traits.firstName",
        "last_name": "context.traits.lastName",
        "date_of_birth": "context.traits.birthday",
        "gender": "context.traits.gender",
        "phone_number": "context.traits.phone",
        "company_name": "context.traits.company.name",
        "city": "context.traits.address.city",
        "country": "context.traits.address.country",
        "post_code": "context.traits.address.postalCode",
        "zip_code": "context.traits.address.zipCode",
        "state": "context.traits.address.state",
        "province": "context.traits.address.province",
        "street_address": "context.traits.address.street",
    }
)


@source.maps
def map_lead(webhook: Webhook) -> dict[str, Json]:
    """Return one identify event."""
    lead = {key: unlist(value) for key, value in _members(webhook.body).items() if value != []}
    lead = {key: value for key, value in lead.items() if value is not None}
    if not lead:
        raise InvalidWebhook("input event must have at least one field", field="body")
    event = message("FacebookLeadAds", kind="identify")
    _FIELDS.fill(event, lead)
    event["context"].setdefault("traits", {}).update(lead)
    user = first_given(lead.get("id"), lead.get("facebook_lead_id"))
    if user is not None:
        event["userId"] = user
    if not truthy(user):
        event["anonymousId"] = webhook.random()
    created = lead.get("created_time")
    milliseconds = date_ms(f"{js_text(created)} UTC") if truthy(created) else None
    if milliseconds is not None:
        event["originalTimestamp"] = iso_of_ms(milliseconds)
    return event


def _members(body: Json) -> dict[str, Json]:
    if isinstance(body, dict):
        return body
    return {str(number): item for number, item in enumerate(body)} if isinstance(body, (str, list)) else {}
