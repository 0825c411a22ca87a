"""Deletion of users at Braze: up to 50 external IDs in a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svctoolkit.destinations import (
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Settings,
    bearer,
    by_status,
    chunks,
)
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret


class BrazeDeletionSettings(Settings, frozen=True, kw_only=True):
    rest_api_key: Secret
    data_center: str

    def __post_init__(self) -> None:
        if not self.data_center.strip().partition("-")[2]:
            raise ValueError(f"dataCenter: expected one such as US-01 or EU-02, got {self.data_center!r}")

    @property
    def host(self) -> str:
        region, _, number = self.data_center.strip().upper().partition("-")
        return f"rest.fra-{number}.braze.eu" if region == "EU" else f"rest.iad-{number}.braze.com"


API = Endpoint("https://{host}", JSON, bearer("rest_api_key"))


def _requests(ids: Sequence[Json], settings: BrazeDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for some in chunks(ids, 50):
        yield API.lookup(settings, "users/delete", "POST", {"external_ids": some})


deletion = Deletion(
    "Braze",
    BrazeDeletionSettings,
    _requests,
    judge=by_status(404),
    quirks=("Deletions of an Australian data center (AU-01) go to the American one (US-01), which has no such users.",),
)
