"""The request of a webhook in the form in which sources receive it, for webhooks that no gateway has received."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from svctoolkit.json_types import Json


def pack(
    body: Json | bytes = b"",
    *,
    topic: str = "",
    query: Mapping[str, str | Sequence[str]] | None = None,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> dict[str, Json]:
    """Return the request for `SourceType.events`. A body that is text or bytes stays as it is, any other becomes JSON.

    >>> request = pack({"id": 1}, topic="orders_create")
    >>> request["url"], request["query_parameters"], request["body"]
    ('/v1/webhook?topic=orders_create', {'topic': ['orders_create']}, '{"id": 1}')
    """
    if isinstance(body, bytes):
        text = body.decode("utf-8", "replace")
    else:
        text = body if isinstance(body, str) else json.dumps(body)
    named = {**({"topic": topic} if topic else {}), **(query or {})}
    parameters = {name: [value] if isinstance(value, str) else list(value) for name, value in named.items()}
    return {
        "method": method,
        "url": f"/v1/webhook{'?' if parameters else ''}{urlencode(parameters, doseq=True)}",
        "proto": "HTTP/1.1",
        "headers": {name: [value] for name, value in (headers or {}).items()},
        "body": text or "{}",
        "query_parameters": parameters,
    }
