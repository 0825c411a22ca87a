"""Deletion of users at Mixpanel: their profiles, or all of their data as a task (`userDeletionApi`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from svctoolkit.destinations import (
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Header,
    Param,
    Settings,
    bearer,
    by_setting,
    chunks,
)
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret

_PROFILES = {"us": "https://api.mixpanel.com", "eu": "https://api-eu.mixpanel.com", "in": "https://api-in.mixpanel.com"}
_TASKS = {
    region: f"https://{host}/api/app/data-deletions/v3.0/"
    for region, host in {"us": "mixpanel.com", "eu": "eu.mixpanel.com", "in": "in.mixpanel.com"}.items()
}


class MixpanelDeletionSettings(Settings, frozen=True, kw_only=True):
    token: str
    gdpr_api_token: Secret = Secret("")
    user_deletion_api: str = "engage"  # only `task` differs
    data_residency: Literal["us", "eu", "in"] = "us"

    def __post_init__(self) -> None:
        if self.user_deletion_api == "task" and not self.gdpr_api_token:
            raise ValueError("gdprApiToken: is required to delete users with a task")


PROFILES = Endpoint(by_setting("data_residency", _PROFILES), Header("Accept", "text/plain"), JSON)
TASKS = Endpoint(by_setting("data_residency", _TASKS), JSON, bearer("gdpr_api_token"), Param("token", "{token}"))


def _requests(ids: Sequence[Json], settings: MixpanelDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    if settings.user_deletion_api == "task":
        law = "GDPR" if settings.data_residency == "eu" else "CCPA"
        for some in chunks(ids, 1999):
            yield TASKS.lookup(settings, "", "POST", {"distinct_ids": some, "compliance_type": law})
        return
    for some in chunks(ids, 1000):
        operations: list[Json] = [
            {"$distinct_id": id, "$token": settings.token, "$delete": None, "$ignore_alias": True} for id in some
        ]
        yield PROFILES.lookup(settings, "engage", "POST", operations)


deletion = Deletion(
    "Mixpanel",
    MixpanelDeletionSettings,
    _requests,
    quirks=("Unless `userDeletionApi` is `task`, only the profile is deleted: events stay.",),
)
