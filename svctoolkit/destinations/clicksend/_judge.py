"""Outcomes of ClickSend's answers: an accepted request lists its messages, each with a status.

https://developers.clicksend.com/docs/rest/v3/#send-sms
"""

from __future__ import annotations

from collections.abc import Collection

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json
from svctoolkit.mapping import as_object


def judge(delivery: Delivery) -> Outcome | None:
    """Abort messages whose status is not SUCCESS; retry all after a 2xx answer without data."""
    reply = delivery.reply
    if not reply.successful:
        return None
    data = as_object(reply.body).get("data")
    if not isinstance(data, dict):
        return Outcome("retry", "ClickSend's answer has no data")
    messages = data.get("messages")
    if not isinstance(messages, list):
        return None
    states = [str(as_object(message).get("status") or "no status") for message in messages]
    return delivery.each({at: state for at, state in enumerate(states) if state != "SUCCESS"})


def answer_batch(_url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return a status for each message."""
    messages = items_of(body, "messages")
    if messages is None:
        return None
    states = [{"status": "INVALID_RECIPIENT" if at in failed else "SUCCESS"} for at in range(len(messages))]
    data = {"total_count": len(states), "messages": states}
    return Answer("partial" if failed else "success", 200, {"http_code": 200, "response_code": "SUCCESS", "data": data})
