"""What Salesforce's answers mean: `errorCode` in a list of errors
(https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm)."""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Delivery, Outcome

_THROTTLES = {"REQUEST_LIMIT_EXCEEDED": {403}, "SERVER_UNAVAILABLE": {500, 503}}


def judge(delivery: Delivery) -> Outcome | None:
    """An ended session is opened again; a limit that is reached, or a server that is away, slows down."""
    reply = delivery.reply
    for error in _errors(reply.body):
        code, message = error.get("errorCode"), str(error.get("message"))
        if code == "INVALID_SESSION_ID":
            return Outcome("retry", message, auth="REFRESH_TOKEN")
        if reply.status in _THROTTLES.get(str(code), ()):
            return Outcome("throttle", message)
    return None


def _errors(body: Any) -> list[dict[str, Any]]:
    return [error for error in body if isinstance(error, dict)] if isinstance(body, list) else []
