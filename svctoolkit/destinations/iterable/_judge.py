"""What Iterable's answers mean: bulk calls say whom they refused, with status 200 (https://api.iterable.com/api/docs)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import Delivery, Outcome

_REFUSALS = ("invalid", "notFound", "forgotten", "conflict", "disallowed")


def judge(delivery: Delivery) -> Outcome | None:
    """Jobs whose e-mail, user ID or event name is listed abort, the others are delivered."""
    reply = delivery.reply
    if not (reply.successful and isinstance(reply.body, dict) and reply.body.get("failCount")):
        return None
    refused = dict(_refused(reply.body))
    body = (delivery.payload.get("body") or {}).get("JSON") or {}
    items = body.get("events") or body.get("users") or []
    failures = {}
    for at, item in enumerate(items):
        values = [item.get(key) for key in ("email", "userId", "eventName") if isinstance(item.get(key), str)]
        reason = next((refused[value] for value in values if value in refused), None)
        if reason:
            failures[at] = reason
    return delivery.each(failures)


def _refused(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each value that was refused, and the list that names it. What is filtered or makes no difference was taken."""
    updates = body.get("failedUpdates")
    for where in (body, updates if isinstance(updates, Mapping) else {}):
        for name, values in where.items():
            if name.startswith(("invalid", "notFound", "forgotten", "conflict", "disallowed")) and isinstance(
                values, list
            ):
                yield from ((value, f"{value}: {name}") for value in values if isinstance(value, str))
