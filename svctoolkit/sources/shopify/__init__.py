"""Shopify: the older tracker's webhooks, those of the pixel app, and events of the web pixel.

The request decides which of the three it is: a body with `pixelEventLabel` comes from the web pixel, `version=pixel` in
the query from the pixel app's server, and anything else from the older tracker. The setting `version` decides nothing.
"""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import Answer, SourceType, Webhook, crash, get, truthy
from svctoolkit.sources.shopify._identity import remember_session, remember_visitor
from svctoolkit.sources.shopify._pixel import map_pixel
from svctoolkit.sources.shopify._server import map_server
from svctoolkit.sources.shopify._tracker import map_tracker

source = SourceType(
    "Shopify",
    "Shopify",
    label="SHOPIFY",
    docs="https://shopify.dev/docs/api/admin-rest/latest/resources/webhook",
    topic="query.topic",
    quirks=(
        "Unknown topics are answered `OK` and ignored, so a wrong topic is never noticed.",
        "The setting `version` decides nothing: the query and the body do.",
        'With the older tracker, amounts are texts (`value: "32.00"`); with the pixel they are numbers.',
        "With the older tracker, an order's `rudderAnonymousId` counts only together with `rudderSessionId`.",
        "Only a few topics have a timestamp; the others get the time at which they arrive.",
        "A visitor that is not remembered gets an id computed from the cart's token; tracker and pixel app differ.",
        "`variant` of a product is id, price and title joined by blanks, also if they are missing.",
    ),
)
_OK = Answer(200, "OK", "text/plain")


@source.maps
def map_shopify(webhook: Webhook) -> list[dict[str, Json]] | Answer:
    """Return the events of a webhook, or `OK` for one that is ignored."""
    body = webhook.body
    if not isinstance(body, (dict, list)):
        raise crash("Cannot create property 'query_parameters'")
    if truthy(get(body, "pixelEventLabel")):
        return map_pixel(webhook) or _OK
    kind = get(body, "event")
    if kind == "rudderIdentifier":
        remember_visitor(webhook)
        return _OK
    if kind == "rudderSessionIdentifier":
        remember_session(webhook)
        return _OK
    topic = _topic(webhook)
    events = map_server(webhook, topic) if webhook.first("version") == "pixel" else map_tracker(webhook, topic)
    return events or _OK


def _topic(webhook: Webhook) -> str:
    """The first topic of the query. Raises `InvalidWebhook` if there is none."""
    topics = webhook.query.get("topic")
    if topics is None:
        raise InvalidWebhook("Invalid topic in query_parameters", field="query.topic")
    if not topics:
        raise InvalidWebhook("Topic not found", field="query.topic")
    return str(webhook.first("topic"))
