"""How Intercom's responses are interpreted.

https://developers.intercom.com/docs/references/rest-api/errors/http-responses
"""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """Deactivate the account when its token is rejected: Intercom tokens never expire, so the token was revoked."""
    if delivery.reply.status == 401:
        return Outcome("abort", "the account is not authorized to send to Intercom", auth="AUTH_STATUS_INACTIVE")
    return None
