"""What Intercom's answers mean (https://developers.intercom.com/docs/references/rest-api/errors/http-responses)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """A contact that exists although the search did not show it (409) is found a little later: the index lags."""
    if delivery.reply.status == 409 and str(delivery.payload.get("endpoint")).endswith("/contacts"):
        return Outcome("retry", "the contact exists, and the search does not show it yet")
    return None
