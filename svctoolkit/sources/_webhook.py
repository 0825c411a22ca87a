"""One webhook as a mapping sees it: body parsed, query and settings readable, clock and randomness given."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.errors import InvalidWebhook
from svctoolkit.events import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.json_types import Json
from svctoolkit.mapping.times import moment
from svctoolkit.sources._memory import Remembered

_MALFORMED = "Malformed JSON in request body"
_NOTHING: Mapping[str, Json] = {}


class Webhook:
    """A request to `/v1/webhook`, with what its mapping may use.

    `request` is the request as the gateway packs it: `method`, `url` (path and query), `proto`, `headers` and
    `query_parameters` (each name with its list of values), `body` (text). `config` are the source's settings, `clock`
    is the current time, and `source` the source's `{"id": ...}`. `memory` is read and updated; without it nothing is
    remembered. `random` returns a new id for each user without one (default: UUID 4).

    Raises `InvalidWebhook` if the body is not JSON, or nested too deeply.
    """

    __slots__ = ("__dict__", "body", "config", "memory", "random", "request", "source_id")

    def __init__(
        self,
        request: Mapping[str, Json],
        config: Mapping[str, Json] | None = None,
        clock: str | datetime | None = None,
        source: Mapping[str, Json] | None = None,
        memory: Remembered | None = None,
        random: Callable[[], str] | None = None,
    ) -> None:
        self.request = request
        self.config = config or _NOTHING
        self.source_id = (source or _NOTHING).get("id")
        self.memory: Remembered = {} if memory is None else memory
        self.random: Callable[[], str] = random or _uuid
        self.body: Json = parse_body(request.get("body"))
        self._clock = clock

    @property
    def query(self) -> Mapping[str, Json]:
        """The query parameters, each a list of texts."""
        query = self.request.get("query_parameters")
        return query if isinstance(query, dict) else _NOTHING

    @cached_property
    def now(self) -> datetime:
        """The current time in UTC."""
        return moment(self._clock) or datetime.now(UTC)

    def first(self, name: str) -> Json:
        """The first value of a query parameter; None if it is missing."""
        values = self.query.get(name)
        return (values[0] if values else None) if isinstance(values, list) else values


def parse_body(text: Json) -> Json:
    """The value of a JSON text; an empty text is `{}`. Raises `InvalidWebhook`."""
    if text is None or text == "":
        return {}
    if not isinstance(text, str):
        raise InvalidWebhook(_MALFORMED, field="body")
    try:
        data = text.encode()
        body = msgspec.json.decode(data)
    except RecursionError:
        raise _too_deep() from None
    except (UnicodeEncodeError, msgspec.DecodeError):
        return _lenient(text)
    if may_be_deeper(data) and too_deep(body):
        raise _too_deep()
    return body


def _lenient(text: str) -> Json:
    """Read what JavaScript accepts and msgspec rejects: lone surrogates, and numbers beyond the range of a double."""
    try:
        body = json.loads(text, parse_constant=_reject, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise InvalidWebhook(_MALFORMED, field="body") from None
    if too_deep(body):
        raise _too_deep()
    return body


def _finite(digits: str) -> float | None:
    """JavaScript reads a number beyond the range of a double as infinity, and writes that as null."""
    number = float(digits)
    return number if math.isfinite(number) else None


def _reject(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _too_deep() -> InvalidWebhook:
    return InvalidWebhook(f"the body is nested more than {MAX_DEPTH} levels deep", field="body")


def _uuid() -> str:
    return str(uuid.uuid4())
