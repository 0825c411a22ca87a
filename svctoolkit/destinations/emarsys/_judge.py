"""Outcomes of Emarsys's answers (https://dev.emarsys.com/docs/core-api-reference)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json
from svctoolkit.mapping import as_object, text

#: Emarsys's key for all contacts if the identifying field is wrong: all of them are refused
_NOBODY = "<NO_KEY_ID>"


def judge(delivery: Delivery) -> Outcome | None:
    """Abort the contacts that `data.errors` names by key; the others are delivered."""
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
    """Return the key of each contact in the request."""
    body = as_object(as_object(delivery.payload.get("body")).get("JSON"))
    contacts = body.get("contacts")
    if isinstance(contacts, list):
        field = text(body.get("key_id"))
        return [text(contact.get(field)) for contact in map(as_object, contacts)]
    listed: list[Any] = body.get("external_ids") or [body.get("external_id")]
    return [text(key) for key in listed]


def answer_batch(_url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return the ids of accepted contacts, and the errors of the others by key."""
    contacts = items_of(body, "contacts")
    members = contacts if contacts is not None else items_of(body, "external_ids")
    if members is None:
        return None
    field = text(body.get("key_id"))
    keys = [text(as_object(member).get(field)) if contacts is not None else text(member) for member in members]
    errors = {keys[at]: {"2004": "Invalid key field id"} for at in failed}
    data = {"ids": [str(1000 + at) for at in range(len(keys)) if at not in failed], "errors": errors}
    return Answer("partial" if failed else "success", 200, {"replyCode": 0, "replyText": "OK", "data": data})
