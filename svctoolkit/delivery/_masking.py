"""Mask secrets in requests and responses before they are shown or stored."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from msgspec.structs import replace

from svctoolkit.delivery._inflate import gunzip
from svctoolkit.url_secrets import mask_headers, mask_url

if TYPE_CHECKING:
    from svctoolkit.delivery._http import HttpRequest, HttpResponse
    from svctoolkit.secrets import Masker


def mask_request(request: HttpRequest, masker: Masker) -> HttpRequest:
    """Return the request with all secrets of `masker`, and the secret parts of any URL and header, masked."""
    headers = mask_headers(masker.mask(dict(request.headers)))
    url: str = masker.mask({"url": request.url})["url"]
    return replace(request, url=mask_url(url), headers=headers, body=mask_body(request.body, masker))


def mask_response(response: HttpResponse, masker: Masker) -> HttpResponse:
    """Return the response with the same masking."""
    headers = mask_headers(masker.mask(dict(response.headers)))
    return replace(response, headers=headers, body=mask_body(response.body, masker))


def mask_body(body: bytes, masker: Masker) -> bytes:
    """Return a body with known secrets masked, also inside gzip. A body that is not text is returned unchanged."""
    if body[:2] == b"\x1f\x8b":
        raw = gunzip(body)
        masked = raw and mask_body(raw, masker)
        return gzip.compress(masked, mtime=0) if masked and masked != raw else body
    try:
        return masker.body(body.decode()).encode()
    except UnicodeDecodeError:
        return body
