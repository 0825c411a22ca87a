"""Klaviyo: profiles, their subscriptions to lists, and what people do.

identify creates or updates a profile and, where the traits say so, subscribes it to a list or ends that; track and
screen send events of the profile; group subscribes to the list whose ID is the group's. Accounts that chose no version
of the API are served with the older one (`_v1`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings, Tags
from svctoolkit.destinations.klaviyo import _v1
from svctoolkit.destinations.klaviyo._profile import (
    CONTACT,
    HOST,
    PROFILE,
    channels,
    custom,
    flat,
    headers,
    require_contact,
    subscription,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    Table,
    as_object,
    compact,
    iso_ms,
    number,
    require_name,
    required,
    string,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_REVISION = "2024-10-15"
_E164 = re.compile(r"\+[1-9]\d{1,14}", re.ASCII)


class KlaviyoSettings(Settings, frozen=True, kw_only=True):
    private_api_key: Secret
    api_version: Literal["v1", "v2"] | None = None  # stored configurations from before v2 have none: they are v1
    enforce_email_as_primary: bool = False
    flatten_properties: bool = False
    list_id: str = ""
    consent: Tags = Tags()


destination = DestinationType(
    "Klaviyo",
    KlaviyoSettings,
    docs="https://developers.klaviyo.com/en/v2024-10-15/reference/api_overview",
    answers=[
        Answer("success", 202, "", at="/events"),
        Answer("success", 202, "", at="-jobs"),
        Answer("success", 200, {"data": {"type": "profile", "id": "01HD0000000000000000000000"}}),
        Answer(
            "bad key",
            401,
            {
                "errors": [
                    {"status": 401, "code": "authentication_failed", "detail": "Incorrect authentication credentials."}
                ]
            },
        ),
        Answer(
            "rate limit",
            429,
            {"errors": [{"status": 429, "code": "throttled", "detail": "Request was throttled."}]},
            headers={"Retry-After": "30"},
        ),
        Answer(
            "invalid field",
            400,
            {
                "errors": [
                    {
                        "status": 400,
                        "code": "invalid",
                        "detail": "Invalid email address",
                        "source": {"pointer": "/data/attributes/email"},
                    }
                ]
            },
        ),
    ],
)

IDS = Table({"external_id": "userId", "anonymous_id": "anonymousId"})
PROFILE_ID = Table({"id": "context.externalId.klaviyo-profileId"})
HAPPENED = Table(
    {
        "unique_id": "messageId",
        "time": iso_ms(TIME),
        "value": number("properties.revenue", "properties.value"),
        "value_currency": "properties.currency",
    }
)
LIST = required(string("groupId"))


@destination.on("identify")
def send_person(event: Event, settings: KlaviyoSettings, context: Context) -> Iterator[Payload]:
    """The profile, then its subscription."""
    if settings.api_version != "v2":
        yield from _v1.identify(event, settings, context)
        return
    attributes, changes = _profile(event, settings)
    data = {"type": "profile", **PROFILE_ID(event), "attributes": attributes, "meta": {"patch_properties": changes}}
    yield _send(settings, "/profile-import", data)
    where, wanted = subscription(event, settings)
    if where and isinstance(wanted, bool):
        yield _subscribe(event, settings, where, wanted)


@destination.on("track", "screen")
def send_event(event: Event, settings: KlaviyoSettings) -> Payload:
    """An event, of the profile that the traits describe."""
    name = event.raw.get("event") if event.type == "track" else event.raw.get("name") or event.raw.get("event")
    name = require_name(event, name, "event" if event.type == "track" else "name")
    if settings.api_version != "v2":
        return _v1.event_payload(event, settings, name)
    profile, changes = _profile(event, settings)
    attributes = {
        **HAPPENED(event),
        "metric": {"data": {"type": "metric", "attributes": {"name": name}}},
        "properties": flat(HAPPENED.rest(event.properties, "properties"), settings),
        "profile": {"data": {"type": "profile", "attributes": {**profile, "meta": {"patch_properties": changes}}}},
    }
    return _send(settings, "/events", {"type": "event", "attributes": attributes})


@destination.on("group")
def send_group(event: Event, settings: KlaviyoSettings) -> Payload:
    """`traits.subscribe` says whether the person wants to be on the list."""
    where = value_of(event, LIST)
    if settings.api_version != "v2":
        return _v1.group(event, settings, where)
    wanted = as_object(event.raw.get("traits")).get("subscribe")
    if not isinstance(wanted, bool):
        raise MappingError(f"traits.subscribe: expected true or false, got {wanted!r}", field="traits.subscribe")
    return _subscribe(event, settings, where, wanted)


def _profile(event: Event, settings: KlaviyoSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """The attributes of the profile, and the changes of single properties that the event's options ask for."""
    require_contact(event, settings)
    attributes, own = {**PROFILE(event), **IDS(event)}, custom(event.traits)
    phone = attributes.get("phone_number")
    if phone is not None and not _E164.fullmatch(re.sub(r"[\s()-]", "", str(phone))):
        raise MappingError(
            f"traits.phone: expected a number such as +12345678900 (E.164), got {phone!r}", field="traits.phone"
        )
    changes: dict[str, Any] = {}
    for change, option in (("append", "fieldsToAppend"), ("unappend", "fieldsToUnappend"), ("unset", "fieldsToUnset")):
        names = _texts(destination.options(event).get(option))
        chosen = {name: own[name] for name in names if name in own}
        if change == "unset" and names:
            changes[change] = names
        elif chosen:
            changes[change] = chosen
        own = without(own, names)
    if settings.enforce_email_as_primary and "external_id" in attributes:
        own["_id"] = attributes.pop("external_id")
    if own:
        attributes["properties"] = flat(own, settings)
    return attributes, changes


def _texts(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _subscribe(event: Event, settings: KlaviyoSettings, where: Any, wanted: bool) -> Payload:
    """A job for one profile: Klaviyo subscribes the channels that have an address and were agreed to."""
    person: dict[str, Any] = CONTACT(event)
    if not person:
        raise MappingError("needs a value at traits.email or traits.phone", field="traits.email or traits.phone")
    if wanted:
        reached = {"email": person.get("email"), "sms": person.get("phone_number")}
        agreed = {"marketing": {"consent": "SUBSCRIBED"}}
        chosen = channels(event, settings)
        person |= compact({"subscriptions": {name: agreed for name, to in reached.items() if to and name in chosen}})
    job = f"profile-subscription-bulk-{'create' if wanted else 'delete'}-job"
    data = {
        "type": job,
        "attributes": {"profiles": {"data": [{"type": "profile", "attributes": person}]}},
        "relationships": {"list": {"data": {"type": "list", "id": where}}},
    }
    return _send(settings, f"/{job}s", data)


def _send(settings: KlaviyoSettings, place: str, data: Mapping[str, Any]) -> Payload:
    return Payload(endpoint=HOST + place, headers=headers(settings, _REVISION), json={"data": data})
