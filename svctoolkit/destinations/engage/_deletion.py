"""Deletion of users at Engage: one request for each user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svctoolkit.destinations import (
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Settings,
    basic,
    in_url,
)
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret


class EngageDeletionSettings(Settings, frozen=True, kw_only=True):
    public_key: str
    private_key: Secret


API = Endpoint("https://api.engage.so/v1", basic("public_key", "private_key"), JSON)


def _requests(ids: Sequence[Json], settings: EngageDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for id in ids:
        yield API.lookup(settings, f"users/{in_url(id)}", "DELETE")


deletion = Deletion("Engage", EngageDeletionSettings, _requests)
