"""What Google's answers mean: the debug address lists what is wrong with an event, with status 200.

https://developers.google.com/analytics/devguides/collection/protocol/ga4/validating-events
"""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """Validation messages abort; none, and the status decides."""
    body = delivery.reply.body
    messages = body.get("validationMessages") if delivery.reply.successful and isinstance(body, dict) else None
    if not messages:
        return None
    first = messages[0] if isinstance(messages, list) and isinstance(messages[0], dict) else {}
    said = (first.get("fieldPath"), first.get("validationCode"), first.get("description"))
    return Outcome("abort", " | ".join(str(member) for member in said if member))
