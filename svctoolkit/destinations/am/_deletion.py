"""Deletion of users at Amplitude: up to 100 user IDs in a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from svctoolkit.destinations import (
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Settings,
    basic,
    by_setting,
    chunks,
)
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://amplitude.com", "EU": "https://analytics.eu.amplitude.com"}


class AmplitudeDeletionSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    api_secret: Secret
    residency_server: Literal["standard", "EU"] = "standard"


API = Endpoint(by_setting("residency_server", _HOSTS), JSON, basic("api_key", "api_secret"))


def _requests(ids: Sequence[Json], settings: AmplitudeDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for some in chunks(ids, 100):
        # Amplitude refuses a request with one unknown ID unless `ignore_invalid_id` is set.
        body = {"user_ids": some, "requester": "RudderStack", "ignore_invalid_id": "true"}
        yield API.lookup(settings, "api/2/deletions/users", "POST", body)


deletion = Deletion("Amplitude", AmplitudeDeletionSettings, _requests)
