"""What Mixpanel's answers mean (https://developer.mixpanel.com/reference/import-events)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


def judge(delivery: Delivery) -> Outcome | None:
    """A strict import lists the records that it did not take; groups and people say their error with status 200."""
    reply, body = delivery.reply, delivery.reply.body
    if not isinstance(body, dict):
        return None
    failed = body.get("failed_records")
    if reply.status == 400 and isinstance(failed, list) and "/import" in str(delivery.payload.get("endpoint")):
        records = [record for record in failed if isinstance(record, dict)]
        return delivery.each({record["index"]: str(record.get("message")) for record in records if "index" in record})
    if reply.successful and body.get("error"):
        return Outcome("abort", str(body["error"]))
    return None
