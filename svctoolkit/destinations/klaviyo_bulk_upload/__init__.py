"""Klaviyo Bulk Upload: profiles from reverse ETL, imported by Klaviyo's bulk jobs and added to a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import Missing, external_ids, js_join
from svctoolkit.secrets import Secret


class KlaviyoBulkUploadSettings(Settings, frozen=True, kw_only=True):
    private_api_key: Secret
    list_id: str = ""


destination = DestinationType(
    "Klaviyo Bulk Upload",
    KlaviyoBulkUploadSettings,
    docs="https://developers.klaviyo.com/en/reference/bulk_import_profiles",
    quirks=[
        "Profiles are uploaded in bulk: payloads have no URL.",
        "The ID of the profile is sent as its anonymous ID.",
    ],
    answers=[
        Answer("success", 202, {"data": {"type": "profile-bulk-import-job", "id": "j1"}}),
        Answer("bad key", 401, {"errors": [{"code": "not_authenticated", "title": "Authentication credentials"}]}),
        Answer("rate limit", 429, {"errors": [{"code": "throttled", "title": "Request was throttled."}]}),
        Answer("invalid field", 400, {"errors": [{"code": "invalid", "title": "Invalid input."}]}),
    ],
)

_ATTRIBUTES = (
    "email", "external_id", "first_name", "image", "last_name", "organization", "phone_number", "title",
)  # fmt: skip
_LOCATION = ("address1", "address2", "city", "country", "ip", "latitude", "longitude", "region", "zip")
_OWN = frozenset(_ATTRIBUTES + _LOCATION)


@destination.on("identify")
def send_profile(event: Event, settings: KlaviyoBulkUploadSettings, context: Context) -> Payload:
    """Return one profile of a job."""
    ids = external_ids(event)
    if not ids:
        raise Missing("context.externalId", wants="the ID of the profile")
    # Outside of a job's file there is a single event, numbered 1.
    number = context.metadata.get("jobId", 1)
    attributes = {
        **_profile(event.traits),
        "anonymous_id": ids[0].id,
        "jobIdentifier": f"{js_join(ids[0].id)}:{js_join(number)}",
    }
    data: dict[str, Any] = {
        "type": "profile-bulk-import-job",
        "attributes": {"profiles": {"data": [{"type": "profile", "attributes": attributes}]}},
    }
    if settings.list_id:
        data["relationships"] = {"lists": {"data": [{"type": "list", "id": settings.list_id}]}}
    return Payload(endpoint="", json={"data": data})


def _profile(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return Klaviyo's own attributes, with the address fields in `location`; all other traits are properties."""
    out = {key: traits[key] for key in _ATTRIBUTES if key in traits}
    location = {key: traits[key] for key in _LOCATION if key in traits}
    properties = {key: value for key, value in traits.items() if key not in _OWN}
    return {**out, **({"location": location} if location else {}), **({"properties": properties} if properties else {})}
