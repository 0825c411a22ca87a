"""Deletion of users at AppsFlyer: one OpenDSR erasure request for each user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from svctoolkit.destinations import JSON, Context, Deletion, DeletionRequest, Endpoint, Settings, User, bearer
from svctoolkit.errors import InvalidDeletion
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret

_MAX_CALLBACKS = 3


class AppsFlyerDeletionSettings(Settings, frozen=True, kw_only=True):
    api_token: Secret
    android_app_id: str = ""
    apple_app_id: str = ""
    status_callback_urls: str = ""

    @property
    def callbacks(self) -> list[str]:
        """The URLs that AppsFlyer calls when the status of a request changes."""
        return [url.strip() for url in self.status_callback_urls.split(",") if url.strip()]

    def __post_init__(self) -> None:
        if len(self.callbacks) > _MAX_CALLBACKS:
            raise ValueError(f"statusCallbackUrls: expected up to {_MAX_CALLBACKS} URLs, got {len(self.callbacks)}")
        if not self.android_app_id and not self.apple_app_id:
            raise ValueError("androidAppId: required, unless appleAppId is set")

    def app_of(self, kind: str) -> str:
        """Return the app in which an id of this kind is deleted. Raises `InvalidDeletion` if it is not set."""
        if kind == "appsflyer_id":
            return self.android_app_id or self.apple_app_id
        setting, app = (
            ("appleAppId", self.apple_app_id) if kind == "ios_advertising_id" else ("androidAppId", self.android_app_id)
        )
        if not app:
            raise InvalidDeletion(f"{kind} needs the setting {setting}, which is not set")
        return app


class Identity(NamedTuple):
    """The id with which a user is deleted in one app."""

    kind: str
    value: Json
    app: str


API = Endpoint("https://hq1.appsflyer.com/api/gdpr/v1", JSON, bearer("api_token"))


def _identify(user: User, settings: AppsFlyerDeletionSettings) -> Identity:
    for kind in ("appsflyer_id", "ios_advertising_id", "android_advertising_id"):
        if value := user.get(kind):
            return Identity(kind, value, settings.app_of(kind))
    raise InvalidDeletion("appsflyer_id, ios_advertising_id or android_advertising_id is missing; add one of them")


def _requests(
    ids: Sequence[Identity], settings: AppsFlyerDeletionSettings, context: Context
) -> Iterator[DeletionRequest]:
    for id in ids:
        identity = {"identity_type": id.kind, "identity_value": id.value, "identity_format": "raw"}
        body: dict[str, Json] = {
            "subject_request_type": "erasure",
            "subject_identities": [identity],
            "property_id": id.app,
            "subject_request_id": context.new_id(),
            "submitted_time": iso(context.clock()),
        }
        if settings.callbacks:
            body["status_callback_urls"] = settings.callbacks
        yield API.lookup(settings, "opendsr_request", "POST", body)


deletion = Deletion("AppsFlyer", AppsFlyerDeletionSettings, _requests, identify=_identify)
