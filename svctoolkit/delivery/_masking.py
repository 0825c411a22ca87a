"""Requests and answers without secrets, for whatever shows or keeps them."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from svctoolkit.url_secrets import mask_headers, mask_url

if TYPE_CHECKING:
    from svctoolkit.delivery._http import HttpRequest, HttpResponse
    from svctoolkit.secrets import Masker


def mask_request(request: HttpRequest, masker: Masker) -> HttpRequest:
    """The request with the secrets that `masker` knows masked, and what is secret in any URL and any header."""
    headers = mask_headers(masker.mask(dict(request.headers)))
    return replace(
        request, url=mask_url(masker.text(request.url)), headers=headers, body=mask_body(request.body, masker)
    )


def mask_response(response: HttpResponse, masker: Masker) -> HttpResponse:
    """The same for an answer."""
    headers = mask_headers(masker.mask(dict(response.headers)))
    return replace(response, headers=headers, body=mask_body(response.body, masker))


def mask_body(body: bytes, masker: Masker) -> bytes:
    """A body with known secrets masked, also inside of gzip; one that is no text stays as it is."""
    if body[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(body)
        except (OSError, EOFError, zlib.error):
            return body
        masked = mask_body(raw, masker)
        return body if masked == raw else gzip.compress(masked, mtime=0)
    try:
        return masker.text(body.decode()).encode()
    except UnicodeDecodeError:
        return body
