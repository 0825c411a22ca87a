"""Shynet: page views, sent to the URL to which Shynet's tracking script reports."""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import Table, required


class ShynetSettings(Settings, frozen=True, kw_only=True):
    shynet_service_url: str


destination = DestinationType(
    "Shynet",
    ShynetSettings,
    docs="https://github.com/milesmcc/shynet/blob/master/GUIDE.md",
    answers=[
        Answer("success", 200, {"status": "OK"}),
        Answer("bad key", 404, {"detail": "Not found."}),
        Answer("rate limit", 429, {"detail": "Request was throttled."}),
        Answer("invalid field", 400, {"detail": "Bad request."}),
    ],
)

API = Endpoint("{shynet_service_url}", JSON)

VIEW = Table(
    {
        "idempotency": "messageId",
        "location": required("context.page.url"),
        "referrer": "context.page.referrer",
        "loadTime": "properties.loadTime",
    }
)


@destination.on("page")
def send_view(event: Event, settings: ShynetSettings, context: Context) -> Payload:
    """Return a page view, with a generated ID if it has no message ID."""
    view = VIEW(event)
    return API.post(settings, body=view if "idempotency" in view else {**view, "idempotency": context.new_id()})
