"""Shared by Google Ads types: the account's number, and outcomes of answers.

https://developers.google.com/google-ads/api/docs/best-practices/partial-failures
"""

from __future__ import annotations

from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.json_types import Json
from svctoolkit.mapping import text

_TWO_STEPS = "TWO_STEP_VERIFICATION_NOT_ENROLLED"


def account_number(written: str | int) -> str:
    """Return `123-456-7890` without dashes, as Google's URLs contain it."""
    return str(written).replace("-", "")


def judge_google_ads(delivery: Delivery) -> Outcome | None:
    """Check for `partialFailureError`, even with status 200, and for accounts that must set up 2-Step Verification."""
    reply = delivery.reply
    if reply.status == 401 and _TWO_STEPS in text(reply.body):
        return Outcome("abort", "the account requires 2-Step Verification", auth="AUTH_STATUS_INACTIVE")
    if not reply.successful:
        return judge_account(delivery)
    failure = _failure(reply.body)
    return Outcome("abort", failure) if failure else None


def _failure(body: Json) -> str:
    error = body.get("partialFailureError") if isinstance(body, dict) else None
    return str(error.get("message")) if error and error.get("code") else ""
