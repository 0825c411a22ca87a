"""How Intercom's responses are interpreted.

https://developers.intercom.com/docs/references/rest-api/errors/http-responses
"""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """Retry after status 409: the contact exists, but Intercom's search index has not caught up yet."""
    if delivery.reply.status == 409 and str(delivery.payload.get("endpoint")).endswith("/contacts"):
        return Outcome("retry", "the contact exists, but Intercom's search does not find it yet")
    return None
