"""Campaign Manager 360: offline conversions, through its API (dfareporting).

track inserts or updates a conversion, depending on `properties.requestType`. Enhanced conversions include user data:
hashed e-mail address, telephone number, and name with address. Requests carry the access token of the account.
https://developers.google.com/doubleclick-advertisers/rest/v5/conversions
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import (
    JSON,
    Answer,
    Batch,
    Context,
    DestinationType,
    Endpoint,
    MappedJob,
    Payload,
    Settings,
    oauth,
)
from svctoolkit.destinations._batches import chunks
from svctoolkit.destinations.campaign_manager._judge import answer_batch, judge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_POSTAL_CODE,
    CITY,
    COUNTRY,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    STATE,
    TIME,
    Misfit,
    Missing,
    Table,
    WrongValue,
    converter,
    hash_lower,
    moment,
    number_or_none,
    required,
    sha256,
    string,
    text,
    trait,
)
from svctoolkit.mapping.times import microseconds

_KINDS = {
    "batchinsert": "dfareporting#conversionsBatchInsertRequest",
    "batchupdate": "dfareporting#conversionsBatchUpdateRequest",
}
#: a conversion needs one of these
_IDS = (
    "encryptedUserId",
    "encryptedUserIdCandidates",
    "matchId",
    "mobileDeviceId",
    "gclid",
    "dclid",
    "impressionId",
)
_SOURCES = ("AD_SERVING", "DATA_TRANSFER", "ENCRYPTION_SCOPE_UNKNOWN")
_ENTITY_TYPES = (
    "ADWORDS_CUSTOMER",
    "DBM_ADVERTISER",
    "DBM_PARTNER",
    "DCM_ACCOUNT",
    "DCM_ADVERTISER",
    "DFP_NETWORK_CODE",
    "ENCRYPTION_ENTITY_TYPE_UNKNOWN",
)
#: E.164; in North America neither area codes nor exchanges begin with 0 or 1, and no area has the code 555
_PHONE = re.compile(r"\+(1(?!555)[2-9]\d{2}[2-9]\d{6}|[2-9]\d{6,14})")


class CampaignManagerSettings(Settings, frozen=True, kw_only=True):
    profile_id: str = ""
    limit_ad_tracking: bool = False
    child_directed_treatment: bool = False
    treatment_for_underage: bool = False
    non_personalized_ad: bool = False
    enable_enhanced_conversions: bool = False
    is_hashing_required: bool = True


destination = DestinationType(
    "Campaign Manager 360",
    CampaignManagerSettings,
    docs="https://developers.google.com/doubleclick-advertisers/rest/v5/conversions/batchinsert",
    names=("campaign_manager",),
    quirks=[
        "An `encryptedUserId` requires the details of the encryption, but is not sent itself; candidates are.",
        "Conversions that share a request are sent to the profile of the first one, whatever the others name.",
        "`limitAdTracking` and `childDirectedTreatment` are sent with inserts, but not with updates.",
        "Only updates have user identifiers (enhanced conversions).",
        "With enhanced conversions, an event with an invalid telephone number is refused.",
    ],
    answers=[
        Answer("success", 200, {"hasFailures": False, "status": [{"kind": "dfareporting#conversionStatus"}]}),
        Answer("bad key", 401, {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Invalid credentials"}}),
        Answer(
            "rate limit", 429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded"}}
        ),
        Answer("invalid field", 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "ordinal"}}),
    ],
    needs=["account"],
)

API = Endpoint("https://dfareporting.googleapis.com/dfareporting/v5/userprofiles", oauth(), JSON)


@converter
def micros(value: Json) -> str:
    """Return a time as microseconds, in a string. Digits are seconds or milliseconds; numbers are not converted."""
    if isinstance(value, str):
        if value.isascii() and value.isdigit():
            return value.ljust(16, "0")
        when = moment(value)
        return "NaN" if when is None else str(microseconds(when) // 1000 * 1000)
    return str(int(value)) if type(value) in (int, float) else "NaN"


@converter
def hash_number(value: Json) -> str:
    """Return the SHA-256 of a telephone number, normalised to plus and digits."""
    phone = re.sub(r"[\s().-]", "", string.of(value))
    if not _PHONE.fullmatch(phone):
        raise WrongValue("a telephone number with plus and country code", value, case="phone")
    return sha256(phone)


_STREET = trait("street", "address.street")
CONVERSION = Table(
    {
        "floodlightConfigurationId": required("properties.floodlightConfigurationId"),
        "floodlightActivityId": required("properties.floodlightActivityId"),
        "ordinal": required("properties.ordinal"),
        "quantity": required("properties.quantity"),
        "timestampMicros": required(micros(TIME)),
        "value": number_or_none("properties.value", "properties.total", "properties.revenue"),
        "customVariables": "properties.customVariables",
        "encryptedUserIdCandidates": "properties.encryptedUserIdCandidates",
        "matchId": "properties.matchId",
        "mobileDeviceId": "properties.mobileDeviceId",
        "gclid": "properties.gclid",
        "dclid": "properties.dclid",
        "impressionId": "properties.impressionId",
    }
)
ENCRYPTION = Table(
    {
        "encryptionEntityType": "properties.encryptionEntityType",
        "encryptionSource": "properties.encryptionSource",
        "encryptionEntityId": "properties.encryptionEntityId",
    }
)
HASHED = Table(
    {
        "hashedEmail": hash_lower(EMAIL),
        "hashedPhoneNumber": hash_number(PHONE),
        "hashedFirstName": hash_lower(FIRST_NAME),
        "hashedLastName": hash_lower(LAST_NAME),
        "hashedStreetAddress": hash_lower(_STREET),
    }
)
PLAIN = Table(
    {
        "hashedEmail": EMAIL,
        "hashedPhoneNumber": PHONE,
        "hashedFirstName": FIRST_NAME,
        "hashedLastName": LAST_NAME,
        "hashedStreetAddress": _STREET,
    }
)
PLACE = Table({"city": CITY, "state": STATE, "countryCode": COUNTRY, "postalCode": ANY_POSTAL_CODE})


@destination.on("track")
def send_conversion(event: Event, settings: CampaignManagerSettings, context: Context) -> Payload:
    """Return the conversion that the properties describe."""
    properties = event.properties
    request = properties.get("requestType")
    if not isinstance(request, str) or request not in _KINDS:
        raise Misfit("properties.requestType", "batchinsert or batchupdate", request)
    conversion: dict[str, Any] = CONVERSION(event)
    if not any(properties.get(name) for name in _IDS):
        raise Missing(*(f"properties.{name}" for name in _IDS), wants="one of the IDs of the conversion")
    conversion.update(_consents(event, settings, request))
    body: dict[str, Any] = {"kind": _KINDS[request], "conversions": [conversion]}
    if properties.get("encryptedUserId") or properties.get("encryptedUserIdCandidates"):
        body["encryptionInfo"] = _encryption(event)
    updates = request == "batchupdate"
    if updates and settings.enable_enhanced_conversions and (identifiers := _identifiers(event, settings)):
        conversion["userIdentifiers"] = identifiers
    profile = properties.get("profileId") or settings.profile_id
    if not profile:
        raise Missing("properties.profileId", setting="profileId", why="or set profileId in the configuration")
    return API.post(settings, f"{_number(profile)}/conversions/{request}", body, context=context)


def _number(profile: Json) -> str:
    """Return the number of a profile as JavaScript's `Number` writes it: NaN for what is not a number."""
    found = number_or_none.of(profile)
    return "NaN" if isinstance(found, str) else text(found)


def _consents(event: Event, settings: CampaignManagerSettings, request: str) -> dict[str, Json]:
    """Return the privacy flags, from the properties or else from the configuration."""
    chosen: dict[str, Json] = {
        "nonPersonalizedAd": settings.non_personalized_ad,
        "treatmentForUnderage": settings.treatment_for_underage,
    }
    if request == "batchinsert":
        chosen["limitAdTracking"] = settings.limit_ad_tracking
        chosen["childDirectedTreatment"] = settings.child_directed_treatment
    return {name: event.properties.get(name) or default for name, default in chosen.items()}


def _encryption(event: Event) -> dict[str, Json]:
    info = ENCRYPTION(event)
    for key, allowed in (("encryptionSource", _SOURCES), ("encryptionEntityType", _ENTITY_TYPES)):
        if info.get(key) not in allowed:
            raise Misfit(
                f"properties.{key}", f"one of {', '.join(allowed)}", info.get(key), why="encrypted users need it"
            )
    if "encryptionEntityId" not in info:
        raise Missing("properties.encryptionEntityId", why="encrypted users need it")
    return {**info, "kind": "dfareporting#encryptionInfo"}


def _identifiers(event: Event, settings: CampaignManagerSettings) -> list[dict[str, Json]]:
    """Return e-mail address, telephone number, and name with address, each as a separate identifier."""
    person: dict[str, Any] = (HASHED if settings.is_hashing_required else PLAIN)(event)
    identifiers: list[dict[str, Json]] = [
        {key: person.pop(key)} for key in ("hashedEmail", "hashedPhoneNumber") if key in person
    ]
    if address := {**person, **PLACE(event)}:
        identifiers.append({"addressInfo": address})
    return identifiers


@destination.batch
def share(jobs: Sequence[MappedJob], _settings: CampaignManagerSettings) -> Iterator[Batch]:
    """Merge inserts, and merge updates, up to 1,000 conversions per request."""
    groups: dict[str, list[MappedJob]] = {}
    for job in jobs:
        groups.setdefault(_body(job)["kind"], []).append(job)
    for members in groups.values():
        for chunk in chunks(members, 1000, 0, lambda job: _body(job)["conversions"]):
            yield _merge(chunk)


def _body(job: MappedJob) -> Any:
    return job.payloads[0].json


def _merge(jobs: Sequence[MappedJob]) -> Batch:
    body: dict[str, Any] = {}
    for job in reversed(jobs):
        body.update(_body(job))
    body["conversions"] = [conversion for job in jobs for conversion in _body(job)["conversions"]]
    shared = msgspec.structs.replace(jobs[0].payloads[0], json=body)
    return Batch(tuple(job.id for job in jobs), (shared.to_dict(),), batched=True)


destination.judge(judge)
destination.answer_batch(answer_batch)
