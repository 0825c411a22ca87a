"""What Mixpanel's answers mean (https://developer.mixpanel.com/reference/import-events)."""

from __future__ import annotations

from collections.abc import Collection

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.json_types import Json


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


def answer_batch(url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """A strict import takes the good records, and lists the others by their place."""
    if "/import" not in url or not isinstance(body, list):
        return None
    taken = len(body) - len(failed)
    if not failed:
        return Answer("success", 200, {"code": 200, "num_records_imported": taken, "status": "OK"})
    records = [{"index": at, "field": "properties.time", "message": "'properties.time' is invalid"} for at in failed]
    answer = {"code": 400, "error": "some data points in the request failed validation", "status": "Bad Request"}
    return Answer("partial", 400, {**answer, "failed_records": records, "num_records_imported": taken})
