"""Outcomes of CleverTap's answers (https://developer.clevertap.com/docs/upload-user-profiles-api)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """Abort the whole request unless the body says `success`, even if some records were accepted."""
    reply = delivery.reply
    if not reply.successful or reply.body in ("", None):
        return None
    body = reply.body if isinstance(reply.body, dict) else {}
    if body.get("status") == "success":
        return None
    refused = body.get("unprocessed")
    first = refused[0] if isinstance(refused, list) and refused and isinstance(refused[0], dict) else body
    reason = first.get("error") or f"status {body.get('status')!r}, not 'success'"
    return Outcome("abort", f"{reply.status}: {reason}")
