"""Outcomes of Algolia's answers (https://www.algolia.com/doc/rest-api/insights/)."""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Delivery, JobOutcome, Outcome
from svctoolkit.destinations._outcomes import outcome_of_status
from svctoolkit.mapping import as_object


def judge(delivery: Delivery) -> Outcome | None:
    """Retry a refused batch event by event, because one wrong event refuses all; retry a single event, too."""
    reply = delivery.reply
    if reply.status < 400 or outcome_of_status(reply).outcome != "abort":
        return None
    message = _reason(reply.body)
    return Outcome("retry", message, tuple(JobOutcome("retry", message, alone=True) for _ in delivery.jobs))


def _reason(body: Any) -> str:
    answer = as_object(body)
    reason = as_object(answer.get("error")).get("message") or answer.get("message")
    return str(reason or "Algolia refused the events without a reason")
