"""MoEngage: RudderStack events, passed on."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.json_types import Json
from svctoolkit.sources import SourceType, Webhook, crash, get

source = SourceType(
    "moengage",
    "MoEngage",
    docs="https://developers.moengage.com/hc/en-us/articles/4593614023956-Streams",
    topic="body.type",
    quirks=("The body must be RudderStack events already: one, a list, or a list in `batch`.",),
)


@source.maps
def map_stream(webhook: Webhook) -> Iterator[dict[str, Json]]:
    """Return the events unchanged."""
    body = webhook.body
    batch = get(body, "batch") if isinstance(body, dict) else None
    found = body if batch is None else batch
    for event in found if isinstance(found, list) else [found]:
        if not isinstance(event, dict):
            raise crash("an event is not an object")
        yield event
