"""The gateway's refusals, with RudderStack's exact status and body."""

from __future__ import annotations

from starlette.responses import Response

from svctoolkit.lexical import storable

_TEXT = "text/plain; charset=utf-8"


class GatewayRefusal(Exception):
    """A refusal with the gateway's status and text.

    `position` is the place of the bad event in the batch, or -1; `key` is the unknown write key, if that is the reason.
    """

    def __init__(self, status: int, reason: str, position: int = -1, *, key: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason, self.position, self.key = status, storable(reason), position, key

    def response(self) -> Response:
        headers = {"X-Content-Type-Options": "nosniff"}
        return Response(f"{self.reason}\n", self.status, headers, _TEXT)


NO_KEY = 401, "failed to read writekey from header"
NO_KEY_IN_QUERY = 401, "failed to read writekey from query params"
UNKNOWN_KEY = 401, "invalid write key"
SOURCE_DISABLED = 404, "source is disabled"
NO_JSON = 400, "invalid json"
NO_FORM = 400, "error during parsing form"
NO_MULTIPART = 400, "error during parsing multiform"
EMPTY_BATCH = 400, "empty batch payload"
NO_EVENT = 400, "event is not a valid rudder event"
NO_IDENTITY = 400, "request neither has anonymousId nor userId"
TOO_LARGE = 413, "request size exceeds max limit"
RUN_OVER = 410, "this run has ended"
UNREADABLE = 500, "failed to read body from request"


def ok() -> Response:
    """Return the gateway's answer since version 1.46; earlier versions answered `OK`."""
    return Response("ok", 200, None, _TEXT)
