"""Deletion of users at Intercom: one request for each user."""

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
    bearer,
    by_status,
)
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret


class IntercomDeletionSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


API = Endpoint("https://api.intercom.io", ACCEPT_JSON, JSON, bearer("api_key"))


def _requests(ids: Sequence[Json], settings: IntercomDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for id in ids:
        yield API.lookup(settings, "user_delete_requests", "POST", {"intercom_user_id": id})


deletion = Deletion(
    "Intercom",
    IntercomDeletionSettings,
    _requests,
    judge=by_status(404),
    quirks=(
        "Deletions go to the American server, whatever `apiServer` says.",
        "The user ID is sent as Intercom's own ID of the contact, so a contact with this external ID is not found; "
        "Intercom's 404 counts as deleted.",
    ),
)
