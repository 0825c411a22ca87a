"""Rules for every request and answer of a server: no ambiguous requests, and headers that browsers obey."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svctoolkit.json_codec import encode

#: What pages of other sites may load: the routes of client SDKs, such as the pixel, which is an image.
OPEN_PATHS = ("/v1/", "/beacon/", "/pixel/", "/sourceConfig", "/health", "/version", "/rsaMetrics")


#: For answers that contain nothing for other sites: browsers neither guess their type nor load them into other pages.
SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}
_OPEN_HEADERS = {**SAFE_HEADERS, "Cross-Origin-Resource-Policy": "cross-origin"}


def add_headers(path: str, headers: MutableHeaders) -> None:
    """Add the headers that browsers obey to the answer of a path, where it does not set them itself."""
    for name, value in (_OPEN_HEADERS if path.startswith(OPEN_PATHS) else SAFE_HEADERS).items():
        headers.setdefault(name, value)


class Hardening:
    """Answers 400 to ambiguous requests, and adds headers to the other answers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(scope["path"], MutableHeaders(scope=message))
            await send(message)

        if problem := _problem(scope):
            await _refuse(problem, sending)
        else:
            await self.app(scope, receive, sending)


def _problem(scope: Scope) -> str:
    """Why the request is not answered, or an empty string."""
    if not scope["path"].startswith("/"):  # `CONNECT host:22`, `OPTIONS *`
        return "the target of a request must be a path, such as /health"
    names = [name for name, _ in scope["headers"]]
    if b"content-length" in names and b"transfer-encoding" in names:  # proxies disagree about where the body ends
        return "a request must not have both Content-Length and Transfer-Encoding"
    return ""


async def _refuse(problem: str, send: Send) -> None:
    body = encode({"message": problem})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
