"""What HubSpot's answers mean (https://developers.hubspot.com/docs/api-reference/error-handling)."""

from __future__ import annotations

from svctoolkit.destinations import Delivery, Outcome


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
    found = {}
    for error in errors if isinstance(errors, list) else []:
        for trace in error.get("context", {}).get("objectWriteTraceId", []):
            found[trace] = error.get("message", "refused")
    return found
