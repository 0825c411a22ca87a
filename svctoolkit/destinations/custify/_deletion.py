"""Deletion of people at Custify: one request for each user."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from svctoolkit.destinations import (
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Exchange,
    Failure,
    Settings,
    bearer,
    required_user_id,
)
from svctoolkit.json_types import Json
from svctoolkit.mapping import text
from svctoolkit.secrets import Secret


class CustifyDeletionSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


API = Endpoint("https://api.custify.com", bearer("api_key"))


def _requests(ids: Sequence[Json], settings: CustifyDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for id in ids:
        yield API.lookup(settings, f"people?user_id={quote(text(id), safe='')}", "DELETE")


def _judge(exchange: Exchange) -> Failure | None:
    """Accept only 200 and 404: a 202 is reported as a failure."""
    if exchange.status in (200, 404):
        return None
    return Failure(exchange.status or 500, json.dumps(exchange.body, separators=(",", ":"), ensure_ascii=False))


deletion = Deletion(
    "Custify",
    CustifyDeletionSettings,
    _requests,
    identify=required_user_id,
    judge=_judge,
    quirks=("An answer 202 counts as a failure.",),
)
