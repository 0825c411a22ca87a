"""Shared by OAuth types: outcomes of answers about the connected account."""

from __future__ import annotations

from svctoolkit.destinations._outcomes import Delivery, Outcome

_REFRESH, _INACTIVE = "REFRESH_TOKEN", "AUTH_STATUS_INACTIVE"


def judge_expired_token(delivery: Delivery) -> Outcome | None:
    """On 401, refresh the token and retry the events."""
    if delivery.reply.status == 401:
        return Outcome("retry", "the access token is no longer valid", auth=_REFRESH)
    return None


def judge_account(delivery: Delivery) -> Outcome | None:
    """Like `judge_expired_token`; 403 or a revoked token additionally marks the account as inactive."""
    reply = delivery.reply
    code = reply.body.get("code") if isinstance(reply.body, dict) else None
    if reply.status == 403 or (reply.status == 401 and code == "REVOKED_ACCESS_TOKEN"):
        return Outcome("abort", "the account may not send to the destination", auth=_INACTIVE)
    return judge_expired_token(delivery)
