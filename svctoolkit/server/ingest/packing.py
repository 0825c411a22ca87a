"""Pack the request of a webhook into one JSON object, as the gateway hands it to the source: forms become JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from email import policy
from email.message import Message
from email.parser import BytesParser
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import msgspec
from starlette.requests import Request

from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.server.ingest.refusals import NO_FORM, NO_JSON, NO_MULTIPART, TOO_LARGE, GatewayRefusal
from svctoolkit.server.web.requests import ONLY_HEADER, RUN_HEADER

#: A webhook as a source gets it: `method`, `url`, `proto`, `headers`, `body`, `query_parameters`.
Packed: TypeAlias = dict[str, Any]
_JSON = "application/json"
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_OWN = ("host", RUN_HEADER, ONLY_HEADER)  # headers that are not part of the webhook
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_NUL = "\\u0000"  # in JSON
_MAX_PARTS = 10_000


def pack_request(request: Request, body: bytes, limit: int) -> Packed:
    """Return the packed request. Raises `GatewayRefusal` for a bad form, and for more than `limit` bytes."""
    scope = request.scope
    headers: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        if name not in _OWN:
            headers.setdefault(_canonical(name), []).append(value)
    kind = request.headers.get("content-type", "")
    text = _form_as_json(kind, body)
    if text is not None:
        headers["Content-Type"] = [_JSON]
    packed: Packed = {
        "method": request.method,
        "url": f"{request.url.path}{'?' if request.url.query else ''}{request.url.query}",
        "proto": f"HTTP/{scope.get('http_version', '1.1')}",
        "headers": headers,
        "body": body.decode("utf-8", "replace") or "{}" if text is None else text,
        "query_parameters": parse_qs(request.url.query, keep_blank_values=True),
    }
    return _checked(packed, limit)


def _checked(packed: Packed, limit: int) -> Packed:
    """Check the size of a packed request, and remove NUL characters from its JSON text, like the gateway.

    That breaks a body with the escape for NUL: its backslash remains, which is invalid JSON.
    """
    content = encode(packed)
    if len(content) > limit:
        raise GatewayRefusal(*TOO_LARGE)
    if _NUL.encode() not in content:
        return packed
    try:
        clean: Packed = msgspec.json.decode(content.replace(_NUL.encode(), b""))
    except msgspec.DecodeError as error:
        raise GatewayRefusal(*NO_JSON) from error
    return clean


def _canonical(name: str) -> str:
    """Return a header's name in the spelling that Go gives it."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def _form_as_json(kind: str, body: bytes) -> str | None:
    """Return the JSON text of a form; None for any other body."""
    if _FORM in kind.lower():
        fields = _fields(body)
    elif _MULTIPART in kind.lower():
        fields = _parts(kind, body)
    else:
        return None
    return encode(fields).decode()


def _fields(body: bytes) -> Mapping[str, Json]:
    """Return the fields of a form, each a list of texts, sorted by name."""
    text = body.decode("utf-8", "replace")
    if ";" in text or _BAD_ESCAPE.search(text):  # Go refuses both
        raise GatewayRefusal(*NO_FORM)
    return dict(sorted(parse_qs(text, keep_blank_values=True).items()))


def _parts(kind: str, body: bytes) -> Mapping[str, Json]:
    """Return the values and the files' names and sizes of a multipart form."""
    head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1", "replace")
    if body.count(b"\n--") > _MAX_PARTS:
        raise GatewayRefusal(*NO_MULTIPART)
    try:
        form = BytesParser(policy=policy.compat32).parsebytes(head + body)
        parts = form.get_payload()
    except (ValueError, LookupError, RecursionError) as error:
        raise GatewayRefusal(*NO_MULTIPART) from error
    if form.defects or not isinstance(parts, list):
        raise GatewayRefusal(*NO_MULTIPART)
    return _values_and_files(part for part in parts if isinstance(part, Message))


def _values_and_files(parts: Iterable[Message]) -> Mapping[str, Json]:
    values: dict[str, list[Json]] = {}
    files: dict[str, list[Json]] = {}
    for part in parts:
        name = part.get_param("name", header="content-disposition")
        if not isinstance(name, str):
            continue
        content = part.get_payload(decode=True)
        data = content if isinstance(content, bytes) else b""
        file = part.get_filename()
        if file is None:
            values.setdefault(name, []).append(data.decode("utf-8", "replace"))
        else:
            headers = {_canonical(key): [str(value)] for key, value in part.items()}
            files.setdefault(name, []).append({"Filename": file, "Header": headers, "Size": len(data)})
    return {"Value": dict(sorted(values.items())), "File": dict(sorted(files.items()))}
