"""The seam to the network: a request, a response, and the one method between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field


class HttpRequest(Struct, frozen=True):
    """One request, byte for byte. `url` includes the query."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __repr__(self) -> str:
        """Without what may be secret: path, query, headers, body."""
        from svctoolkit.delivery._display import place

        return f"<HttpRequest {self.method} {place(self)}, {len(self.body):,} bytes>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.delivery._display import request

        return display.bundle(request(self), repr(self))


class HttpResponse(Struct, frozen=True):
    """What came back. Header names are lower-case; `body` is decompressed."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.delivery._display import response

        return display.bundle(response(self), repr(self))

    def __repr__(self) -> str:
        return f"<HttpResponse {self.status}, {len(self.body):,} bytes>"


class Transport(Protocol):
    """Answers a request: the live network, a recorder, or whatever a test needs."""

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        """The answer within `timeout` seconds. Raises `DeliveryError`."""
        ...
