"""Shared by types that forward whole events, which may change their own request: Webhook and similar types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from svctoolkit.destinations._payload import Method, Payload
from svctoolkit.destinations._settings import SecretRows
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit, flatten, text

_NO_OPTIONS: Mapping[str, Json] = {}
_STEERING = frozenset({"appendPath", "fullPath", "header"})


def forward_event(
    event: Event,
    url: str,
    method: Method,
    rows: Iterable[SecretRows],
    *,
    tidy: bool = False,
    options: Mapping[str, Json] = _NO_OPTIONS,
) -> Payload:
    """Return a request with the whole event (GET and DELETE: with its properties, or the traits of identify).

    The event's `fullPath` replaces the URL, `appendPath` is appended to it, and the members of `header` become headers;
    these three members are removed from the body. The first two may also be in the event's `options` for the type. A
    `tidy` type removes top-level nulls from the event, and writes members of `header` that are not text as JSON; other
    types drop them. Raises `MappingError` for a path that is not text.
    """
    endpoint = _endpoint(event, url, options)
    has_body = method not in ("GET", "DELETE")
    headers = {"content-type": "application/json"} if has_body else {}
    for row in rows:
        if row.from_:
            headers[row.from_.lower()] = row.to.reveal()
    _add_own(event, headers, tidy)
    if not has_body:
        details = event.traits if event.type == "identify" else event.properties
        return Payload(endpoint=endpoint, method=method, headers=headers, params=flatten(details))
    return Payload(endpoint=endpoint, method=method, headers=headers, json=_body(event, tidy))


def _body(event: Event, tidy: bool) -> dict[str, Any]:
    body = dict(event.raw)
    if not _STEERING.isdisjoint(body) or (tidy and None in body.values()):
        body = {key: value for key, value in body.items() if key not in _STEERING and not (tidy and value is None)}
    context, ip = body.get("context") or {}, event.raw.get("request_ip")
    if ip and isinstance(context, dict) and not context.get("ip"):
        body["context"] = {**context, "ip": ip}
    return body


def _endpoint(event: Event, url: str, options: Mapping[str, Json]) -> str:
    path, more = (options.get(name, event.raw.get(name)) for name in ("fullPath", "appendPath"))
    base = url if path is None else _url_part("fullPath", path)
    return base + _url_part("appendPath", more) if more else base


def _url_part(name: str, value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise Misfit(name, "a string", value)
    return text(value)


def _add_own(event: Event, headers: dict[str, str], tidy: bool) -> None:
    own = event.raw.get("header")
    for name, value in own.items() if isinstance(own, dict) else ():
        if tidy or isinstance(value, str):
            headers.pop(name.lower(), None)
            headers[name] = text(value)
