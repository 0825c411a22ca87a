"""Requests with a JSON body as a server reads them, for servers of this process that need no bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from svctoolkit.delivery import _encode
from svctoolkit.delivery._js import NotPlain, plain
from svctoolkit.delivery._request import Fields, content_of, headers_of, method_of
from svctoolkit.delivery._url import Url
from svctoolkit.errors import DeliveryError
from svctoolkit.json_types import Json


class PlainRequest(NamedTuple):
    """A request as a server reads it: `body` is a JSON value, or the fields of a form.

    `size` returns the bytes of the body. Header names are in lower case.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: Json
    size: Callable[[], int]


def plain_request(payload: Mapping[str, Json]) -> PlainRequest | None:
    """Return what a server would read of `request(payload)`, several times faster; None for unusual payloads.

    The headers do not include those that only describe the bytes.
    """
    endpoint, body = payload.get("endpoint"), payload.get("body")
    params: Any = payload.get("params")
    if not isinstance(endpoint, str) or not isinstance(body, dict) or not isinstance(params, (dict, type(None))):
        return None
    try:
        url, headers = _plain_url(endpoint, params), _lower_headers(payload.get("headers"))
        kind, content = content_of(body)
        content_type = headers.setdefault("content-type", _TYPES.get(kind, ""))
        if url is None or not content_type.startswith(_TYPES.get(kind, "application/json")):
            return None
        method = method_of(payload.get("method"))
        if kind == "":
            return PlainRequest(method, url, headers, None, lambda: 0)
        if kind == "FORM" and type(content) is dict:
            fields: dict[str, Json] = _encode.fields(content)
            return PlainRequest(method, url, headers, fields, lambda: len(_encode.form(content)))
        if kind == "JSON" and type(content) is dict:
            value = _as_read(content)
            return PlainRequest(method, url, headers, value, lambda: len(_ENCODE(value)))
        if kind == "JSON_ARRAY" and type(content) is str:
            encoded = content.strip().encode()
            return PlainRequest(method, url, headers, _DECODE(encoded), lambda: len(encoded))
        return None
    except (DeliveryError, NotPlain, TypeError, UnicodeEncodeError, msgspec.DecodeError, RecursionError):
        return None


#: the content types of requests whose payloads name none
_TYPES: Final = {"JSON": "application/json", "FORM": "application/x-www-form-urlencoded", "": ""}

_SHORT: Final = 50  # a longer parameter is one of the event, which does not occur again
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


def _as_read(content: Json) -> Json:
    """Return a copy of an object with the numbers that a server reads, which JavaScript has written."""
    encoded = _ENCODE(content)
    if _BIG not in encoded.translate(_DIGITS):
        read: Json = _DECODE_NUMBERS(encoded)
        if read == content:  # otherwise it has something that JSON does not have, such as a date
            return read
    return _DECODE(_ENCODE(plain(content)))


def _number(text: str) -> float:
    """Return a number with a point or an exponent as JavaScript writes it, see `plain`."""
    number: float = plain(float(text))
    return number


#: All digits become 0. JavaScript may write numbers of sixteen digits otherwise.
_DIGITS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_BIG: Final = b"0" * 16
_DECODE_NUMBERS = msgspec.json.Decoder(float_hook=_number).decode


def _lower_headers(given: Any) -> dict[str, str]:
    # Most requests of a destination have the same headers. Only texts: a key of 1 equals one of true.
    is_simple = isinstance(given, dict) and all(type(value) is str for value in given.values())
    return dict(_cached_headers(tuple(given.items())) if is_simple else _without_names(headers_of(given)))


@lru_cache(maxsize=256)
def _cached_headers(given: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return _without_names(headers_of(dict(given)))


def _without_names(fields: Fields) -> dict[str, str]:
    return {name: value for name, (_, value) in fields.items()}


def _plain_url(endpoint: str, params: Mapping[str, Json] | None) -> str | None:
    """Return the URL with its query; None if it has a password, which would become a header."""
    if not params or all(
        type(value) is int or (type(value) is str and len(value) < _SHORT) for value in params.values()
    ):
        return _cached_url(endpoint, tuple(params.items()) if params else ())
    return _url(endpoint, params)


@lru_cache(maxsize=256)
def _cached_url(endpoint: str, params: tuple[tuple[str, str | int], ...]) -> str | None:
    return _url(endpoint, dict(params))


def _url(endpoint: str, params: Mapping[str, Json]) -> str | None:
    url = Url.parse(endpoint)
    if url.userinfo:
        return None
    return str(url.with_query(_encode.query(params)) if params else url)
