"""Outcomes of Amplitude's answers (https://amplitude.com/docs/apis/analytics/batch-event-upload)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome
from svctoolkit.destinations._outcomes import outcome_of_status


def judge(delivery: Delivery) -> Outcome | None:
    """Retry a refused batch event by event, because one wrong event refuses all of them."""
    reply = delivery.reply
    if outcome_of_status(reply).outcome != "abort":
        return None
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    return delivery.apart(f"{reply.status}: {error or 'refused'}")
