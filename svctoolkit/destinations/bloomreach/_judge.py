"""Outcomes of Bloomreach's answers (https://documentation.bloomreach.com/engagement/reference/batch-commands-2)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json


def judge(delivery: Delivery) -> Outcome | None:
    """Abort commands without success: `results` has an entry for each command, in order."""
    reply = delivery.reply
    if not reply.successful:
        return None
    results = reply.body.get("results") if isinstance(reply.body, dict) else None
    if not isinstance(results, list):
        return Outcome("retry", f"{reply.status}: the answer has no results")
    return delivery.each({at: _reason(result) for at, result in enumerate(results) if not _is_success(result)})


def _is_success(result: Any) -> bool:
    return isinstance(result, dict) and bool(result.get("success"))


def _reason(result: Any) -> str:
    errors = result.get("errors") if isinstance(result, dict) else None
    return f"the command was refused: {errors or result}"


def answer_batch(_url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return a result for each command."""
    commands = items_of(body, "commands")
    if commands is None:
        return None
    refusal = {"success": False, "errors": ["customer_ids: no ID is given"]}
    results = [refusal if at in failed else {"success": True} for at in range(len(commands))]
    return Answer("partial" if failed else "success", 200, {"success": True, "results": results})
