"""How Pardot's responses are interpreted.

https://developer.salesforce.com/docs/marketing/pardot/guide/error-codes.html
"""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome
from svctoolkit.destinations._families.oauth_answers import judge_expired_token
from svctoolkit.mapping import as_object, text


def judge(delivery: Delivery) -> Outcome | None:
    """Retry a success response unless its `@attributes.stat` is `ok`."""
    reply = delivery.reply
    if not reply.successful:
        return judge_expired_token(delivery)
    body = as_object(reply.body)
    if as_object(body.get("@attributes")).get("stat") == "ok":
        return None
    return Outcome("retry", f"{reply.status}: {text(body.get('err') or reply.body)[:300]}")
