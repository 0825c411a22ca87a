"""What Google's answers mean (https://developers.google.com/google-ads/api/docs/best-practices/partial-failures)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome
from svctoolkit.destinations._oauth_answers import judge_account


def judge(delivery: Delivery) -> Outcome | None:
    """A success may hold `partialFailureError`, or find no conversion of the event's name: both refuse the event."""
    reply = delivery.reply
    if not reply.successful:
        return judge_account(delivery)
    body = reply.body
    if isinstance(body, list) and not any(part.get("results") for part in body):
        return Outcome("abort", "Google Ads has no conversion action with the event's name")
    error = body.get("partialFailureError") if isinstance(body, dict) else None
    if error and error.get("code"):
        return Outcome("abort", str(error.get("message")))
    return None
