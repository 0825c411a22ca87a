"""Stored exchanges with destinations, as objects."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from svctoolkit.delivery import HttpRequest
from svctoolkit.json_types import Json


def request_of(members: Mapping[str, Json]) -> HttpRequest:
    """Return the request that was sent, from its JSON form."""
    body: str = members["body"]
    raw = base64.b64decode(body[7:]) if body.startswith("base64:") else body.encode("utf-8", "surrogatepass")
    return HttpRequest(members["method"], members["url"], members["headers"], raw)
