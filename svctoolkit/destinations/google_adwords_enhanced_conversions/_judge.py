"""Outcomes of Google's answers."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome
from svctoolkit.destinations._families.google_ads import judge_google_ads


def judge(delivery: Delivery) -> Outcome | None:
    """Return the outcome as for Google Ads; abort if no conversion action with the event's name was found."""
    body = delivery.reply.body
    if delivery.reply.successful and isinstance(body, list) and not any(part.get("results") for part in body):
        return Outcome("abort", "Google Ads has no conversion action with the event's name")
    return judge_google_ads(delivery)
