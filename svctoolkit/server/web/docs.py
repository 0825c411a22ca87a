"""The documentation of the API: `/openapi.json` for programs, `/docs` for users. Both are public and work offline."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from svctoolkit.json_codec import encode
from svctoolkit.server.web.operation import Operation
from svctoolkit.server.web.routes import route


class Docs:
    """The documentation. Built once, on the first request."""

    def __init__(self, operations: Sequence[Operation], loopback: bool) -> None:
        self._operations, self._loopback = operations, loopback

    @cached_property
    def _document(self) -> dict[str, Any]:
        from svctoolkit.server.web.openapi import document

        return document(self._operations, self._loopback)

    @cached_property
    def _page(self) -> HTMLResponse:
        from svctoolkit.server.web.docs_page import page

        here = files(__package__)
        style, script = ((here / name).read_text("utf-8") for name in ("docs.css", "docs.js"))
        policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; connect-src 'self'; "
        policy += "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}
        return HTMLResponse(page(self._document, style, script), headers=headers)

    async def openapi(self, _request: Request) -> Response:
        return Response(encode(self._document), media_type="application/json")

    async def html(self, _request: Request) -> Response:
        return self._page

    def routes(self) -> list[Route]:
        return [route("/openapi.json", self.openapi), route("/docs", self.html)]


def _hash(text: str) -> str:
    """Return the hash of a string as a source in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
