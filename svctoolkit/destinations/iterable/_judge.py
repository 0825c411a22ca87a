"""How Iterable's responses are interpreted: bulk calls list rejected users with status 200.

https://api.iterable.com/api/docs
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json

_REFUSALS = ("invalid", "notFound", "forgotten", "conflict", "disallowed")


def judge(delivery: Delivery) -> Outcome | None:
    """Abort the jobs whose e-mail, user ID or event name is listed; the others are delivered."""
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
    """Yield each rejected value and the list that names it. Filtered and unchanged values count as accepted."""
    updates = body.get("failedUpdates")
    for where in (body, updates if isinstance(updates, Mapping) else {}):
        for name, values in where.items():
            if name.startswith(("invalid", "notFound", "forgotten", "conflict", "disallowed")) and isinstance(
                values, list
            ):
                yield from ((value, f"{value}: {name}") for value in values if isinstance(value, str))


def answer_batch(url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return how many users were accepted, and the e-mail addresses or user IDs that were not."""
    items = items_of(body, "events") or items_of(body, "users")
    if items is None or not any(part in url for part in ("/trackBulk", "/bulkUpdate")):
        return None
    refused = [items[at] for at in failed]
    emails = [item["email"] for item in refused if item.get("email")]
    ids = [item["userId"] for item in refused if not item.get("email") and item.get("userId")]
    counts = {"successCount": len(items) - len(refused), "failCount": len(refused)}
    return Answer("partial" if failed else "success", 200, {**counts, "invalidEmails": emails, "invalidUserIds": ids})
