"""Shared by Google Ads types: the account's number, and outcomes of answers.

https://developers.google.com/google-ads/api/docs/best-practices/partial-failures
"""

from __future__ import annotations

from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.json_types import Json
from svctoolkit.mapping import as_object, objects, text

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
    if not failure:
        return None
    places = _places(reply.body)
    if not places or not delivery.jobs or max(places) >= len(delivery.jobs):
        return Outcome("abort", failure)
    return delivery.each_of([failure if place in places else None for place in range(len(delivery.jobs))])


def _places(body: Json) -> set[int]:
    """Return the positions of the conversions that Google names in its errors; empty if it names none."""
    details = objects(as_object(as_object(body).get("partialFailureError")).get("details"))
    errors = [error for detail in details for error in objects(detail.get("errors"))]
    steps = [step for error in errors for step in objects(as_object(error.get("location")).get("fieldPathElements"))]
    return {index for step in steps if isinstance(index := step.get("index"), int)}


def _failure(body: Json) -> str:
    error = body.get("partialFailureError") if isinstance(body, dict) else None
    return str(error.get("message")) if error and error.get("code") else ""
