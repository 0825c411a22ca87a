"""How HubSpot's responses are interpreted.

https://developers.hubspot.com/docs/api-reference/error-handling
"""

from __future__ import annotations

from collections.abc import Collection

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json


def judge(delivery: Delivery) -> Outcome | None:
    """Retry objects one by one after status 400, which a single object may cause. Status 207 lists rejected ones.

    If HubSpot returns no objects, it processed none of the batch, even with a success status.
    """
    reply = delivery.reply
    if reply.status == 400:
        return delivery.apart(f"HubSpot rejected the request: {reply.body}")
    url = str(delivery.payload.get("endpoint"))
    if not reply.successful or "/crm/v3/" not in url or "/batch/" not in url:
        return None
    body = reply.body if isinstance(reply.body, dict) else {}
    refused = _refused(body.get("errors"))
    if refused:
        failures = {at: refused[str(job)] for at, job in enumerate(delivery.jobs) if str(job) in refused}
        return delivery.each(failures, message="HubSpot rejected some of the objects")
    if body.get("results"):
        return None
    return Outcome("abort", "HubSpot processed none of the objects")


def _refused(errors: object) -> dict[str, str]:
    """Return the reasons, by the `objectWriteTraceId` of each object."""
    reasons = {}
    for error in errors if isinstance(errors, list) else []:
        for trace in error.get("context", {}).get("objectWriteTraceId", []):
            reasons[trace] = error.get("message", "refused")
    return reasons


def answer_batch(url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return the written objects, and the errors of the others by their `objectWriteTraceId`."""
    objects = items_of(body, "inputs")
    if objects is None or "/batch/" not in url:
        return None
    results = [{"id": str(512 + at)} for at in range(len(objects)) if at not in failed]
    if not failed:
        return Answer("success", 201, {"status": "COMPLETE", "results": results})
    traces = [str(objects[at].get("objectWriteTraceId")) for at in failed]
    errors = [
        {"status": "error", "category": "VALIDATION_ERROR", "message": "Property values were not valid"}
        | {"context": {"objectWriteTraceId": [trace]}}
        for trace in traces
    ]
    return Answer(
        "partial", 207, {"status": "COMPLETE", "results": results, "numErrors": len(errors), "errors": errors}
    )
