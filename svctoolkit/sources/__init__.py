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

from svctoolkit.displayed import Displayed
from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.registry import Registry
from svctoolkit.sources._define import JSON_TYPE, PLAIN_TEXT, Answer, Handled, Setting, SourceType
from svctoolkit.sources._gateway import IGNORED, OK, accepted, check_events, refusal
from svctoolkit.sources._memory import Memory, Remembered, remember
from svctoolkit.sources._message import FieldTable, message, put
from svctoolkit.sources._times import iso_of_ms, iso_of_seconds
from svctoolkit.sources._values import crash, first_true, get, member, truthy
from svctoolkit.sources._webhook import Webhook

__all__ = [
    "CATALOGUE",
    "IGNORED",
    "JSON_TYPE",
    "OK",
    "PLAIN_TEXT",
    "Answer",
    "FieldTable",
    "Handled",
    "Memory",
    "Remembered",
    "Setting",
    "SourceType",
    "Webhook",
    "accepted",
    "check_events",
    "crash",
    "first_true",
    "get",
    "iso_of_ms",
    "iso_of_seconds",
    "member",
    "message",
    "put",
    "receive",
    "refusal",
    "remember",
    "truthy",
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

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} webhook source types: {', '.join(self)}>"


CATALOGUE = _Catalogue(SourceType, package=__name__, attribute="source", what="webhook source type")


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
