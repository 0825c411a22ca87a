"""Requests as expectations and conditions see them: header names in lower case, queries and bodies parsed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from svctoolkit.delivery._http import HttpRequest
from svctoolkit.expect.headers import Headers
from svctoolkit.json_types import Json


def request_view(method: str, url: str, headers: Mapping[str, Json], body: bytes | str) -> dict[str, Json]:
    """Return `method`, `url`, `path`, `query`, `headers` and `body` of a request. See `body_value` for the body."""
    named, parts = Headers(lower_names(headers)), urlsplit(url)
    return {
        "method": method,
        "url": url,
        "path": parts.path,
        "query": fields(parts.query),
        "headers": named,
        "body": body_value(body, named.get("content-type", "")),
    }


def view_of(request: HttpRequest) -> dict[str, Json]:
    """Return the same for a request that is about to be sent."""
    return request_view(request.method, request.url, request.headers, request.body)


def lower_names(headers: Mapping[str, Json]) -> dict[str, Json]:
    """Return headers with their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


def fields(text: str) -> dict[str, Json]:
    """Return the fields of a query or form: a string each, or a list of strings if a name occurs more than once."""
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    return {name: several if len(several) > 1 else several[0] for name, several in values.items()}


def body_value(body: bytes | str, kind: str) -> Json:
    """Return a JSON body parsed, a form as an object, anything else as text. `kind` is its content type."""
    if isinstance(body, str):
        body = base64.b64decode(body[7:]) if body.startswith("base64:") else body.encode("utf-8", "surrogatepass")
    if "x-www-form-urlencoded" in kind:
        return fields(body.decode("utf-8", "replace"))
    return json_or_text(body)


def json_or_text(content: bytes) -> Json:
    """Return the JSON value, or the text if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
