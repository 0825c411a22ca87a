"""Deletion of users at Google Analytics (Universal Analytics): one request for each user, with an OAuth token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Exchange,
    Failure,
    Settings,
    oauth,
    required_user_id,
)
from svctoolkit.json_types import Json
from svctoolkit.mapping import as_object, compact


class GoogleAnalyticsDeletionSettings(Settings, frozen=True, kw_only=True):
    tracking_id: str | None = msgspec.field(name="trackingID", default=None)
    use_native_sdk: bool = msgspec.field(name="useNativeSDK", default=False)


API = Endpoint("https://www.googleapis.com/analytics/v3/userDeletion", ACCEPT_JSON, JSON, oauth())


def _requests(
    ids: Sequence[Json], settings: GoogleAnalyticsDeletionSettings, context: Context
) -> Iterator[DeletionRequest]:
    of = "propertyId" if settings.use_native_sdk else "webPropertyId"
    for id in ids:
        user = {"type": "USER_ID", "userId": id}
        body = compact({"kind": "analytics#userDeletionRequest", "id": user, of: settings.tracking_id})
        yield API.lookup(settings, "userDeletionRequests:upsert", "POST", body, context=context)


def _judge(exchange: Exchange) -> Failure | None:
    """Read Google's `error`; without one, users count as deleted, whatever the status and even without an answer."""
    error = as_object(exchange.body).get("error")
    if not error:
        return None
    about = as_object(error)
    listed = about.get("errors")
    reasons = [as_object(one).get("reason") for one in listed] if isinstance(listed, list) else []
    if about.get("status") == "UNAUTHENTICATED" or "invalidCredentials" in reasons:
        return Failure(500, "invalid credentials", "REFRESH_TOKEN")
    why = str(about.get("message") or error)
    code = about.get("code")
    if code == 403 and "insufficientPermissions" in reasons:
        return Failure(400, why, "AUTH_STATUS_INACTIVE")
    status = code if isinstance(code, int) and code >= 400 else exchange.status
    return Failure(status or 500, f"Error occurred while completing deletion request: {why}")


deletion = Deletion(
    "Google Analytics",
    GoogleAnalyticsDeletionSettings,
    _requests,
    identify=required_user_id,
    all_or_none=True,
    judge=_judge,
    quirks=("Users count as deleted if Google's answer has no `error`, even without an answer or with a status 500.",),
)
