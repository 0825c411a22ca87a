"""Formsort: answers to the questions of a flow."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, member, message, truthy

source = SourceType(
    "formsort",
    "Formsort",
    label="Formsort",
    docs="https://docs.formsort.com/handling-data/integration-reference/webhooks",
    quirks=("Every webhook before the last one of a flow becomes an event FlowLoaded.",),
)

_FIELDS = FieldTable(
    {
        "responder_uuid": "userId",
        "flow_label": "context.page.title",
        "variant_label": "context.variantLabel",
        "variant_uuid": "context.variantUuid",
        "created_at": "originalTimestamp",
        "answers": "properties",
    }
)


@source.maps
def map_answers(webhook: Webhook) -> dict[str, Json]:
    """Return one track event: FlowFinalized with the last answers, FlowLoaded before."""
    finalized = member(webhook.body, "finalized")
    event = message("Formsort")
    _FIELDS.fill(event, webhook.body)
    event["event"] = "FlowFinalized" if truthy(finalized) else "FlowLoaded"
    if "userId" not in event:
        event["anonymousId"] = webhook.random()
    return event
