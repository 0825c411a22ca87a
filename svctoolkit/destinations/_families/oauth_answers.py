"""What the answers of destinations with OAuth say of the account that delivers."""

from __future__ import annotations

from svctoolkit.destinations._outcomes import Delivery, Outcome

_REFRESH, _INACTIVE = "REFRESH_TOKEN", "AUTH_STATUS_INACTIVE"


def judge_expired_token(delivery: Delivery) -> Outcome | None:
    """401: the token is renewed, and the events are tried again."""
    if delivery.reply.status == 401:
        return Outcome("retry", "the access token is no longer valid", auth=_REFRESH)
    return None


def judge_account(delivery: Delivery) -> Outcome | None:
    """As `judge_expired_token`; 403, or a token that its owner revoked: this account delivers nothing any more."""
    reply = delivery.reply
    code = reply.body.get("code") if isinstance(reply.body, dict) else None
    if reply.status == 403 or (reply.status == 401 and code == "REVOKED_ACCESS_TOKEN"):
        return Outcome("abort", "the account may not send to the destination", auth=_INACTIVE)
    return judge_expired_token(delivery)
