"""What Emarsys's answers mean (https://dev.emarsys.com/docs/core-api-reference)."""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Delivery, Outcome
from svctoolkit.mapping import as_object, text

#: what Emarsys calls contacts when the field is wrong by which they are known: all of them are refused
_NOBODY = "<NO_KEY_ID>"


def judge(delivery: Delivery) -> Outcome | None:
    """`data.errors` names the contacts that were refused by their key: these abort, the others are delivered."""
    reply = delivery.reply
    if not reply.successful:
        return None
    data = as_object(reply.body).get("data")
    if data is None:
        return Outcome("retry", f"{reply.status}: the answer has no data")
    errors = as_object(as_object(data).get("errors"))
    keys = [_NOBODY] * len(delivery.jobs) if _NOBODY in errors else _keys(delivery)
    return delivery.each({at: text(errors[key]) for at, key in enumerate(keys) if key in errors})


def _keys(delivery: Delivery) -> list[str]:
    """What each contact of the request is known by."""
    body = as_object(as_object(delivery.payload.get("body")).get("JSON"))
    contacts = body.get("contacts")
    if isinstance(contacts, list):
        field = text(body.get("key_id"))
        return [text(contact.get(field)) for contact in map(as_object, contacts)]
    listed: list[Any] = body.get("external_ids") or [body.get("external_id")]
    return [text(key) for key in listed]
