"""Bloomreach Catalog: items of a catalog, through the Data API.

It accepts only warehouse records, which have no mapping here. Events are refused, as in RudderStack. Bloomreach's
answers are interpreted for payloads from other sources.
"""

from __future__ import annotations

import msgspec

from svctoolkit.destinations import Answer, Delivery, DestinationType, Outcome, Settings
from svctoolkit.mapping import as_object, text
from svctoolkit.secrets import Secret


class BloomreachCatalogSettings(Settings, frozen=True, kw_only=True):
    api_base_url: str
    api_key: Secret
    api_secret: Secret
    project_token: str
    catalog_id: str = msgspec.field(name="catalogID")


destination = DestinationType(
    "Bloomreach Catalog",
    BloomreachCatalogSettings,
    docs="https://documentation.bloomreach.com/engagement/reference/partial-update-catalog-items",
    names=("bloomreach_catalog",),
    takes="records",
    answers=[
        Answer("success", 200, [{"success": True, "queued": True}]),
        Answer("bad key", 401, {"errors": ["Invalid credentials"]}),
        Answer("rate limit", 429, {"errors": ["Too many requests"]}),
        Answer("invalid field", 200, [{"success": False, "errors": {"properties": ["Fields [x] are not defined"]}}]),
    ],
)


@destination.judge
def judge(delivery: Delivery) -> Outcome | None:
    """Abort items without success: the answer is a list with an entry for each item."""
    reply = delivery.reply
    if not reply.successful:
        return None
    if not isinstance(reply.body, list):
        return Outcome("retry", f"{reply.status}: the answer is not a list of items")
    return delivery.each_of(
        [None if as_object(item).get("success") else text(as_object(item).get("errors")) for item in reply.body]
    )
