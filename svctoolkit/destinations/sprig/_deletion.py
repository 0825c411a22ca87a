"""Deletion of users at Sprig: up to 100 user IDs in a request, one request after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Settings,
    authorization,
    by_status,
    chunks,
)
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret


class SprigDeletionSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


API = Endpoint("https://api.sprig.com/v2", ACCEPT_JSON, JSON, authorization("API-Key", "api_key"))


def _requests(ids: Sequence[Json], settings: SprigDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for some in chunks(ids, 100):
        yield API.lookup(settings, "purge/visitors", "POST", {"userIds": some})


deletion = Deletion(
    "Sprig",
    SprigDeletionSettings,
    _requests,
    at_once=1,
    judge=by_status(400),
    quirks=("An answer 400 counts as deleted: Sprig gives it for unknown users, but also for bad requests.",),
)
