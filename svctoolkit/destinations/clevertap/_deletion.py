"""Deletion of users at CleverTap: up to 100 identities in a request, one request after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from svctoolkit.destinations import JSON, Context, Deletion, DeletionRequest, Endpoint, Header, Settings, chunks
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret


class ClevertapDeletionSettings(Settings, frozen=True, kw_only=True):
    account_id: str
    passcode: Secret
    region: Literal["none", "in1", "sg1", "us1", "sk1", "aps3", "mec1"] = "none"

    @property
    def host(self) -> str:
        return "api.clevertap.com" if self.region == "none" else f"{self.region}.api.clevertap.com"


API = Endpoint(
    "https://{host}/1",
    JSON,
    Header("X-CleverTap-Account-Id", "{account_id}"),
    Header("X-CleverTap-Passcode", "{passcode}"),
)


def _requests(ids: Sequence[Json], settings: ClevertapDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for some in chunks(ids, 100):
        yield API.lookup(settings, "delete/profiles.json", "POST", {"identity": some})


# CleverTap allows only a few requests at a time.
deletion = Deletion("CleverTap", ClevertapDeletionSettings, _requests, at_once=1)
