"""Outcomes of Campaign Manager's answers (https://developers.google.com/doubleclick-advertisers/rest/v4/conversions)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.json_types import Json


def judge(delivery: Delivery) -> Outcome | None:
    """Abort conversions whose status has errors; retry all if the answer has no statuses."""
    reply = delivery.reply
    if not reply.successful:
        return judge_account(delivery)
    statuses = reply.body.get("status") if isinstance(reply.body, dict) else None
    if not isinstance(statuses, list):
        return Outcome("retry", "Campaign Manager did not report a status for the conversions")
    errors = {number: entry.get("errors") for number, entry in enumerate(statuses) if isinstance(entry, dict)}
    failures = {number: _text(listed) for number, listed in errors.items() if listed}
    return delivery.each(failures)


def _text(errors: Iterable[Any]) -> str:
    return ", ".join(str(error.get("message")) for error in errors)


def answer_batch(_url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return a status for each conversion, with errors for refused ones."""
    conversions = items_of(body, "conversions")
    if conversions is None:
        return None
    states = []
    for at, conversion in enumerate(conversions):
        errors = {"errors": [{"code": "INVALID_ARGUMENT", "message": "ordinal"}]} if at in failed else {}
        states.append({"conversion": conversion, **errors, "kind": "dfareporting#conversionStatus"})
    return Answer("partial" if failed else "success", 200, {"hasFailures": bool(failed), "status": states})
