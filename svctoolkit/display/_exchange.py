"""An HTTP request and its response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any, Protocol
from urllib.parse import parse_qsl

from svctoolkit.display._blocks import code, facts, pill
from svctoolkit.display._html import Html, Kind, box, columns, more, quantity
from svctoolkit.display._tree import tree
from svctoolkit.json_types import Json

_MAX_BODY = 20_000


class Request(Protocol):
    """The parts of a request to show; `svctoolkit.delivery.HttpRequest` has them."""

    @property
    def method(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Response(Protocol):
    """The parts of a response to show; `body` is bytes, a string, or JSON."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> Json: ...


def exchange(request: Request, response: Response | None = None) -> Html:
    """The request and its response side by side. Mask secrets first: everything passed in is shown."""
    head = Html(f'{pill(request.method, "info")} <span class="url">{escape(request.url)}</span>')
    request_box = box(head, _content(request.headers, request.body), label="HTTP request", note="request")
    if response is None:
        return request_box
    kind: Kind = "ok" if 200 <= response.status < 300 else "warning" if response.status < 500 else "error"
    answer = _content(response.headers, response.body)
    return columns(request_box, box(pill(response.status, kind), answer, label="HTTP response", note="response"))


def _content(headers: Mapping[str, str], body: Any) -> Html:
    if not headers:
        return Html(_body(body))
    folded = more(quantity(len(headers), "header"), Html(f'<div class="pad">{facts(headers)}</div>'))
    return Html(_body(body) + folded)


def _body(body: Any) -> str:
    if body in (b"", "", None):
        return '<div class="pad dim">no body</div>'
    if isinstance(body, bytes):
        try:
            body = body.decode()
        except UnicodeDecodeError:
            return f'<div class="pad dim">{quantity(len(body), "byte")}, no text</div>'
    if not isinstance(body, str):
        return tree(body, open_depth=3)
    return _text(body)


def _text(body: str) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, (dict, list)):
        return tree(value, open_depth=3)
    form = parse_qsl(body) if "\n" not in body and "=" in body and "<" not in body and " " not in body else []
    if form:
        return f'<div class="pad">{facts(dict(form))}</div>'
    rest = f"\n… {len(body) - _MAX_BODY:,} more characters" if len(body) > _MAX_BODY else ""
    return code(body[:_MAX_BODY] + rest, "body")
