"""What Intercom's answers mean (https://developers.intercom.com/docs/references/rest-api/errors/http-responses)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """Intercom's tokens do not end by time: one that is refused was revoked, and has to be given anew."""
    if delivery.reply.status == 401:
        return Outcome("abort", "the account may not send to the destination", auth="AUTH_STATUS_INACTIVE")
    return None
