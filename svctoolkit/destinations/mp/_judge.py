"""How Mixpanel's responses are interpreted (https://developer.mixpanel.com/reference/import-events)."""

from __future__ import annotations

from collections.abc import Collection

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.json_types import Json


def judge(delivery: Delivery) -> Outcome | None:
    """Fail the records that a strict import lists. The APIs for groups and people report errors with status 200."""
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
    """Answer like a strict import, which accepts the valid records and lists the others by index."""
    if "/import" not in url or not isinstance(body, list):
        return None
    taken = len(body) - len(failed)
    if not failed:
        return Answer("success", 200, {"code": 200, "num_records_imported": taken, "status": "OK"})
    records = [{"index": at, "field": "properties.time", "message": "'properties.time' is invalid"} for at in failed]
    answer = {"code": 400, "error": "some data points in the request failed validation", "status": "Bad Request"}
    return Answer("partial", 400, {**answer, "failed_records": records, "num_records_imported": taken})
