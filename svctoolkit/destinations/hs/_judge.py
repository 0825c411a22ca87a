"""What HubSpot's answers mean (https://developers.hubspot.com/docs/api-reference/error-handling)."""

from __future__ import annotations

from collections.abc import Collection

from svctoolkit.destinations import Answer, Delivery, Outcome
from svctoolkit.destinations._answers import items_of
from svctoolkit.json_types import Json


def judge(delivery: Delivery) -> Outcome | None:
    """400 of a batch may be the fault of one object: they are tried alone. 207 says which were refused.

    A batch of objects of which HubSpot returns none was not processed, although the status is a success.
    """
    reply = delivery.reply
    if reply.status == 400:
        return delivery.apart(f"HubSpot refuses the request: {reply.body}")
    url = str(delivery.payload.get("endpoint"))
    if not reply.successful or "/crm/v3/" not in url or "/batch/" not in url:
        return None
    body = reply.body if isinstance(reply.body, dict) else {}
    refused = _refused(body.get("errors"))
    if refused:
        failures = {at: refused[str(job)] for at, job in enumerate(delivery.jobs) if str(job) in refused}
        return delivery.each(failures, message="HubSpot refuses some of the objects")
    if body.get("results"):
        return None
    return Outcome("abort", "HubSpot processed none of the objects")


def _refused(errors: object) -> dict[str, str]:
    """The reasons, by what the request calls each object (`objectWriteTraceId`)."""
    reasons = {}
    for error in errors if isinstance(errors, list) else []:
        for trace in error.get("context", {}).get("objectWriteTraceId", []):
            reasons[trace] = error.get("message", "refused")
    return reasons


def answer_batch(url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """The objects that were written, and what is wrong with the others under the name that the request gives them."""
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
