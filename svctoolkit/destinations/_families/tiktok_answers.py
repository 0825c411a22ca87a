"""Outcomes of TikTok's answers: `code` in a body of status 200 decides (https://business-api.tiktok.com/portal/docs)."""

from __future__ import annotations

from svctoolkit.destinations._outcomes import Delivery, Outcome

_THROTTLED = 40100


def judge(delivery: Delivery) -> Outcome | None:
    """Return the outcome by code: 0 is success, 40100 means too many requests, and any other code aborts."""
    reply = delivery.reply
    code = reply.body.get("code") if reply.successful and isinstance(reply.body, dict) else None
    if code is None:
        return None
    if code == 0:
        return Outcome("delivered")
    message = f"{reply.body.get('message')} (code {code})"
    return Outcome("throttle" if code == _THROTTLED else "abort", message)
