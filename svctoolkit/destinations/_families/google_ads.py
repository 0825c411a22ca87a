"""What types of Google Ads share: the account's number, and what answers mean
(https://developers.google.com/google-ads/api/docs/best-practices/partial-failures)."""

from __future__ import annotations

from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.json_types import Json
from svctoolkit.mapping import text

_TWO_STEPS = "TWO_STEP_VERIFICATION_NOT_ENROLLED"


def account_number(written: str | int) -> str:
    """`123-456-7890` as Google's addresses have it."""
    return str(written).replace("-", "")


def judge_google_ads(delivery: Delivery) -> Outcome | None:
    """A success may hold `partialFailureError`; an account whose people need a second step delivers nothing more."""
    reply = delivery.reply
    if reply.status == 401 and _TWO_STEPS in text(reply.body):
        return Outcome("abort", "the account asks for 2-Step Verification", auth="AUTH_STATUS_INACTIVE")
    if not reply.successful:
        return judge_account(delivery)
    failure = _failure(reply.body)
    return Outcome("abort", failure) if failure else None


def _failure(body: Json) -> str:
    error = body.get("partialFailureError") if isinstance(body, dict) else None
    return str(error.get("message")) if error and error.get("code") else ""
