"""Outcomes of answers of Google Ads and of the Data Manager API, whose bodies decide.

https://developers.google.com/data-manager/api/reference/rest
"""

from __future__ import annotations

from msgspec.structs import replace

from svctoolkit.destinations import Delivery, Outcome
from svctoolkit.destinations._families.google_ads import judge_google_ads
from svctoolkit.destinations._outcomes import Reply, outcome_of_status
from svctoolkit.mapping import as_object, text

_DATA_MANAGER = "https://datamanager.googleapis.com/"
_PASSING = "CONCURRENT_MODIFICATION"
_NO_CUSTOMER = "CUSTOMER_NOT_FOUND"


def judge(delivery: Delivery) -> Outcome | None:
    """Return the outcome as for Google Ads, but retry if another request is changing the list."""
    if str(delivery.payload.get("endpoint")).startswith(_DATA_MANAGER):
        reply = _as_the_body_says(delivery.reply)
        delivery = replace(delivery, replies=[reply])
        return _judge_account(delivery) or outcome_of_status(reply)
    if _PASSING in text(delivery.reply.body):
        return Outcome("retry", "another request changes the list")
    return _judge_account(delivery)


def _judge_account(delivery: Delivery) -> Outcome | None:
    if not delivery.reply.successful and _NO_CUSTOMER in text(delivery.reply.body):
        return Outcome("abort", "Google Ads does not have this customer")
    return judge_google_ads(delivery)


def _as_the_body_says(reply: Reply) -> Reply:
    """Return the reply with the error code in its body as the status."""
    code = as_object(as_object(reply.body).get("error")).get("code")
    return reply if reply.successful or not isinstance(code, int) else reply._replace(status=code)
