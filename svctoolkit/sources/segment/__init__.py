"""Segment: the body is the event, or a list of them."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.json_types import Json
from svctoolkit.sources import SourceType, Webhook, crash

source = SourceType(
    "Segment",
    "Segment",
    docs="https://segment.com/docs/connections/destinations/catalog/webhooks/",
    topic="body.type",
    quirks=("An event without userId and anonymousId is refused with 400, together with all others of its request.",),
)


@source.maps
def map_segment(webhook: Webhook) -> Iterator[dict[str, Json]]:
    """Return the events unchanged."""
    for event in webhook.body if isinstance(webhook.body, list) else [webhook.body]:
        if not isinstance(event, dict):
            raise crash("an element of the body is not an object")
        yield event
