"""The boundary to the network: a request, a response, and the one call between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from svctoolkit.displayed import Displayed
from svctoolkit.secrets import MASK
from svctoolkit.url_secrets import mask_url

#: A path segment of digits and letters that looks generated: it may be a key.
_KEY_IN_PATH = re.compile(r"(?<=[^/])/(?=[^/]*[A-Za-z])(?=[^/]*\d)[\w~-]{16,}(?=/|$)")


class HttpRequest(Displayed, Struct, frozen=True):
    """One request, byte for byte. `url` includes the query."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __repr__(self) -> str:
        """Omit what may be secret: path, query, headers, body."""
        return f"<HttpRequest {self.method} {public_url(self.url)}, {len(self.body):,} bytes>"


class HttpResponse(Displayed, Struct, frozen=True):
    """One response. Header names are lower-case; `body` is decompressed."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __repr__(self) -> str:
        return f"<HttpResponse {self.status}, {len(self.body):,} bytes>"


def public_url(address: str, *, path: bool = False) -> str:
    """Return the URL without secrets: scheme and host; with `path` also its path, except what looks like a key.

    A query is reduced to a marker that it exists.
    """
    url, query, _ = mask_url(address).partition("?")
    if not path:
        scheme, slashes, rest = url.partition("//")
        host, slash, _ = rest.partition("/")
        return f"{scheme}{slashes}{host}{'/…' if slash else ''}"
    url = _KEY_IN_PATH.sub(f"/{MASK}", url)
    return f"{url}?…" if query else url


class Transport(Protocol):
    """Responds to a request: the live network, a recorder, or whatever a test needs."""

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        """Return the response within `timeout` seconds. Raises `DeliveryError`."""
        ...
