"""Webhook sources: one folder per type, and what the gateway answers to the senders of webhooks.

>>> request = {"method": "POST", "body": '{"order": 7}'}
>>> event, = CATALOGUE["webhook"].events(request)
>>> event["event"], event["properties"]
('webhook_source_event', {'order': 7})
>>> receive("webhook", request)
{'status': 200, 'body': 'ok', 'contentType': 'text/plain; charset=utf-8'}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path

from svctoolkit.displayed import Displayed
from svctoolkit.errors import InvalidWebhook, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.registry import Registry
from svctoolkit.sources._dates import date_ms, moment_ms
from svctoolkit.sources._define import JSON_TYPE, PLAIN_TEXT, Answer, Handled, Setting, SourceType, echo
from svctoolkit.sources._examples import Example, difference, load_examples
from svctoolkit.sources._gateway import IGNORED, OK, accepted, check_events, refusal
from svctoolkit.sources._memory import Memory, Remembered, remember
from svctoolkit.sources._message import Fields, FieldTable, message, put
from svctoolkit.sources._request import pack
from svctoolkit.sources._times import (
    INVALID_DATE,
    iso_of_date,
    iso_of_ms,
    iso_of_number,
    iso_of_whole_seconds,
    iso_without_ms,
    js_number,
)
from svctoolkit.sources._values import (
    capital_words,
    crash,
    crypto_sha256,
    external_id,
    first_given,
    first_true,
    flat_rest,
    get,
    is_empty_lodash,
    js_text,
    md5_text,
    member,
    rest,
    sha256_text,
    truthy,
    unlist,
    without_empty,
)
from svctoolkit.sources._webhook import Webhook, parse_body

__all__ = [
    "CATALOGUE",
    "IGNORED",
    "INVALID_DATE",
    "JSON_TYPE",
    "OK",
    "PLAIN_TEXT",
    "Answer",
    "Example",
    "FieldTable",
    "Fields",
    "Handled",
    "Memory",
    "Remembered",
    "Setting",
    "SourceType",
    "Webhook",
    "accepted",
    "capital_words",
    "check_events",
    "crash",
    "crypto_sha256",
    "date_ms",
    "difference",
    "echo",
    "examples",
    "external_id",
    "first_given",
    "first_true",
    "flat_rest",
    "get",
    "is_empty_lodash",
    "iso_of_date",
    "iso_of_ms",
    "iso_of_number",
    "iso_of_whole_seconds",
    "iso_without_ms",
    "js_number",
    "js_text",
    "md5_text",
    "member",
    "message",
    "moment_ms",
    "pack",
    "parse_body",
    "put",
    "receive",
    "refusal",
    "remember",
    "rest",
    "sha256_text",
    "truthy",
    "unlist",
    "without_empty",
]

#: Types whose name is not that of their folder. Listing the catalogue imports no type.
_CAPITALS = {
    name.lower(): name
    for name in ("Appcenter", "Auth0", "Braze", "Customerio", "Extole", "GainsightPX", "Segment", "Shopify")
}


def _has_mapping(entry: os.DirEntry[str]) -> bool:
    return entry.name[0] not in "_." and os.path.isfile(os.path.join(entry.path, "__init__.py"))


class _Catalogue(Displayed, Registry[SourceType]):
    @cached_property
    def _local(self) -> dict[str, str]:
        folders = sorted(entry.name for path in __path__ for entry in os.scandir(path) if _has_mapping(entry))
        return {_CAPITALS.get(folder, folder): folder for folder in folders}

    def folder(self, name: str) -> Path:
        """Return the folder of a type in this package. Raises `UnknownName`."""
        if name not in self._local:
            raise UnknownName(self._what, name, self.names())
        return Path(__file__).with_name(self._local[name])

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} webhook source types: {', '.join(self)}>"


CATALOGUE = _Catalogue(SourceType, package=__name__, attribute="source", what="webhook source type")


def examples(type: str) -> list[Example]:
    """Return the worked examples of one type: a webhook, and its events, answer or refusal.

    Raises `UnknownName` for an unknown type, and `ConfigError` for a file that cannot be read.
    """
    return load_examples(CATALOGUE.folder(type))


def receive(
    type: str,
    request: Mapping[str, Json],
    config: Mapping[str, Json] | None = None,
    clock: str | datetime | None = None,
    source: Mapping[str, Json] | None = None,
    memory: Remembered | None = None,
) -> dict[str, Json]:
    """Return what the sender of a webhook gets in the end: `{"status", "body", "contentType"}`.

    The arguments are those of `Webhook`. Raises `UnknownName` for an unknown type, and nothing else: a webhook that is
    refused is answered with the refusal.
    """
    kind = CATALOGUE[type]
    if request.get("method") == "GET" and not kind.takes_get:
        return IGNORED.to_dict()
    try:
        return accepted(kind.handle(Webhook(request, config, clock, source, memory))).to_dict()
    except InvalidWebhook as error:
        return refusal(error).to_dict()
