"""Outcomes of Customer.io's answers: status 207 for a batch lists the refused items.

https://docs.customer.io/integrations/api/track/#operation/batch
"""

from __future__ import annotations

from collections.abc import Collection

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json


def judge(delivery: Delivery) -> Outcome | None:
    """Abort the items that `errors` names by `batch_index`; the others are delivered."""
    reply = delivery.reply
    errors = reply.body.get("errors") if reply.status == 207 and isinstance(reply.body, dict) else None
    if not isinstance(errors, list):
        return None
    items = [error for error in errors if isinstance(error, dict) and "batch_index" in error]
    return delivery.each({error["batch_index"]: _reason(error) for error in items})


def _reason(error: dict[str, object]) -> str:
    members = (error.get("reason"), error.get("field"), error.get("message"))
    return ": ".join(str(member) for member in members if member)


def answer_batch(_url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return the refused items by position."""
    if items_of(body, "batch") is None:
        return None
    errors = [
        {"batch_index": at, "reason": "invalid", "field": "identifiers", "message": "is invalid"} for at in failed
    ]
    return Answer("partial", 207, {"errors": errors}) if failed else Answer("success", 200, {})
