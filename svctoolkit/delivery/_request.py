"""Builds the HTTP request that RudderStack sends for a payload.

One difference is deliberate: requests name this package as `User-Agent`, so that no destination mistakes a test for
RudderStack. `Accept-Encoding` lists only the encodings that this package can decode.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from svctoolkit import __version__
from svctoolkit.delivery import _encode
from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._http import HttpRequest
from svctoolkit.delivery._js import json_bytes, parse, stringify, text, well_formed
from svctoolkit.delivery._url import Url
from svctoolkit.json_types import Json

USER_AGENT = f"svctoolkit/{__version__}"
MAX_BYTES = 100_000_000
_FORM = "application/x-www-form-urlencoded"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_HEADER_VALUE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
#: Always computed from the body, which is never sent chunked.
_FRAMING = ("content-length", "transfer-encoding")

_CONTENTS = (dict, str, list, tuple, Mapping)  # concrete types first: isinstance of an abstract class is slow


#: Header fields by lower-case name, each with its spelling, because header names are case-insensitive.
Fields: TypeAlias = "dict[str, tuple[str, str]]"


def _set(fields: Fields, name: str, value: str) -> None:
    """Set a field. One that is already set keeps its position and spelling."""
    key = name.lower()
    fields[key] = (fields[key][0] if key in fields else name, value)


def request(payload: Mapping[str, Json]) -> HttpRequest:
    """Return the request for one element of `dest_transformed_payload`, byte for byte as RudderStack sends it.

    Of the members `JSON`, `JSON_ARRAY`, `XML`, `FORM` and `GZIP` of `body`, the last one that is not empty is sent.
    A `Content-Type` of the payload is kept. `Content-Length` is always that of the body: the payload's own value and
    any `Transfer-Encoding` are dropped.

    Raises `DeliveryError` for a payload without `endpoint` or `body`, and for a URL, header or value that HTTP cannot
    carry. Error messages never contain the URL's path or query or a header's value.
    """
    try:
        return _request(payload)
    except RecursionError:
        raise failure("ERR_INVALID_PAYLOAD", "the payload is nested too deeply to be sent") from None


def _request(payload: Mapping[str, Any]) -> HttpRequest:
    endpoint, params = payload.get("endpoint"), payload.get("params")
    if not isinstance(endpoint, str) or not endpoint.strip():
        raise failure("ERR_INVALID_PAYLOAD", "the payload has no endpoint, so it is not an HTTP request")
    if params is not None and not isinstance(params, Mapping):
        raise failure("ERR_INVALID_PAYLOAD", f"params must be an object, not a {type(params).__name__}")
    method = method_of(payload.get("method"))
    headers = headers_of(payload.get("headers"))
    body = _body(payload.get("body"), method, headers)
    url = Url.parse(endpoint)
    if params:
        url = url.with_query(_encode.query(params))
    if url.userinfo:
        name_and_password = url.userinfo if ":" in url.userinfo else f"{url.userinfo}:"
        _set(headers, "Authorization", f"Basic {base64.b64encode(name_and_password.encode()).decode()}")
    if len(body) > MAX_BYTES:
        raise failure(
            "ERR_BAD_REQUEST", f"the body for {url.place} has {len(body):,} bytes, the limit is {MAX_BYTES:,}"
        )
    if body or method in ("POST", "PUT", "PATCH"):
        headers["content-length"] = "Content-Length", str(len(body))
    headers.setdefault("accept-encoding", ("Accept-Encoding", "gzip, deflate"))
    headers.setdefault("connection", ("Connection", "keep-alive"))
    return HttpRequest(method, str(url), dict(headers.values()), body)


def method_of(value: Json) -> str:
    method = text(value or "GET").upper()
    if not _TOKEN.fullmatch(method):
        raise failure("ERR_INVALID_HTTP_TOKEN", f"{well_formed(method)[:40]!r} is not an HTTP method")
    return method


def headers_of(fields: Json) -> Fields:
    if fields is not None and not isinstance(fields, Mapping):
        raise failure("ERR_INVALID_PAYLOAD", f"headers must be an object, not a {type(fields).__name__}")
    headers: Fields = {"accept": ("Accept", "application/json, text/plain, */*")}
    for name, value in (fields or {}).items():
        if value is not None and value is not False:  # RudderStack's HTTP client drops both
            _set(headers, _header_name(name), _header_value(name, value))
    for name in _FRAMING:
        headers.pop(name, None)
    _set(headers, "User-Agent", USER_AGENT)
    return headers


def _header_name(name: Any) -> str:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise failure("ERR_INVALID_HTTP_TOKEN", f"{well_formed(text(name))[:80]!r} is not a valid header name")
    return name


def _header_value(name: str, value: Any) -> str:
    line = ", ".join(map(text, value)) if isinstance(value, (list, tuple)) else text(value)
    bad = _NO_HEADER_VALUE.search(line)
    if bad:
        character = f"U+{ord(bad[0]):04X}"
        raise failure(
            "ERR_INVALID_CHAR", f"header {name} contains {character} at position {bad.start()}, which HTTP forbids"
        )
    return line.strip(" \t")


def _body(body: Any, method: str, headers: Fields) -> bytes:
    if not isinstance(body, Mapping):
        raise failure("ERR_INVALID_PAYLOAD", "the payload has no body: it must be an object, which may be empty")
    kind, content = content_of(body)
    if kind == "FORM":
        headers.setdefault("content-type", ("Content-Type", f"{_FORM};charset=utf-8"))
        return _encode.form(content).encode()
    if kind != "GZIP" and isinstance(content, (Mapping, list, tuple)):
        return _object(content, headers)
    if method in ("POST", "PUT", "PATCH"):
        headers.setdefault("content-type", ("Content-Type", _FORM))
    if kind == "GZIP":
        _set(headers, "Content-Encoding", "gzip")
        return _gzip(content)
    if content is not None and not isinstance(content, str):
        raise failure("ERR_BAD_REQUEST", f"the body must be a string or an object, not a {type(content).__name__}")
    if content is not None and "application/json" in _content_type(headers):
        content = _as_json(content)
    return str(well_formed(content or "")).encode()


def _content_type(headers: Fields) -> str:
    return headers["content-type"][1] if "content-type" in headers else ""


def _as_json(content: str) -> str:
    """Encode text under a JSON content type as JSON unless it already is, as RudderStack's HTTP client does."""
    try:
        parse(content)
    except ValueError:
        return stringify(content)
    return content.strip()


def content_of(body: Mapping[str, Json]) -> tuple[str, Json]:
    """Return the name and content of the last non-empty member, or no content if all known members are empty."""
    filled = [name for name, value in body.items() if value and isinstance(value, _CONTENTS)]
    kind = filled[-1] if filled else ""
    value = body.get(kind)
    if kind == "JSON":
        return kind, value
    if kind not in ("JSON_ARRAY", "XML", "FORM", "GZIP"):
        return "", None
    if not isinstance(value, Mapping):
        raise failure("ERR_INVALID_PAYLOAD", f"body.{kind} must be an object, not a {type(value).__name__}")
    return kind, value if kind == "FORM" else value.get("batch" if kind == "JSON_ARRAY" else "payload")


def _gzip(value: Any) -> bytes:
    if not isinstance(value, str):
        raise failure("ERR_GZIP", "Failed to do GZIP compression: body.GZIP.payload must be a string")
    return gzip.compress(str(well_formed(value)).encode(), mtime=0)


def _object(content: Any, headers: Fields) -> bytes:
    if _FORM in _content_type(headers).lower():
        return _encode.form_of_object(content).encode()
    headers.setdefault("content-type", ("Content-Type", "application/json"))
    return json_bytes(content)
