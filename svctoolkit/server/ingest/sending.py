"""Build the HTTP request of a webhook, as a vendor sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

from svctoolkit.errors import UsageError
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.server.web.requests import RUN_HEADER

PATH = "/v1/webhook"
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
#: Fields of a form or a query; a list repeats the name.
Fields: TypeAlias = Mapping[str, str | int | float | bool | Sequence[str]]


class WebhookRequest(NamedTuple):
    """An HTTP request to a data plane; `path` has the query."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def webhook_request(
    write_key: str,
    body: Json | bytes = b"",
    *,
    topic: str = "",
    query: Fields | None = None,
    form: Fields | None = None,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
    run: str = "",
) -> WebhookRequest:
    """Return the request of a webhook. `body` is sent as it is if it is text or bytes, and otherwise as JSON.

    `topic` is the query parameter of that name, which Shopify uses. `form` is sent instead of a body. Raises
    `UsageError` for a body and a form.
    """
    kind = _JSON
    if form is not None:
        if body != b"":
            raise UsageError("a webhook has a body or a form, not both")
        kind, content = _FORM, urlencode(_texts(form), doseq=True).encode()
    elif isinstance(body, bytes):
        content = body
    elif isinstance(body, str):
        content = body.encode("utf-8", "surrogatepass")
    else:
        content = encode(body)
    parameters = {"writeKey": write_key, **({"topic": topic} if topic else {}), **_texts(query or {})}
    path = f"{PATH}?{urlencode(parameters, doseq=True, quote_via=quote)}"
    sent = {name: _text(value) for name, value in (headers or {}).items()}
    all_headers = {"Content-Type": kind, **({RUN_HEADER: run} if run else {}), **sent}
    return WebhookRequest(method, path, all_headers if content else _without_type(all_headers, headers), content)


def _without_type(headers: dict[str, str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Leave out the default content type of a request without a body."""
    return {name: value for name, value in headers.items() if name != "Content-Type" or name in (given or {})}


def _texts(fields: Fields) -> dict[str, str | list[str]]:
    return {
        name: [*map(_text, value)] if isinstance(value, (list, tuple)) else _text(value)
        for name, value in fields.items()
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
