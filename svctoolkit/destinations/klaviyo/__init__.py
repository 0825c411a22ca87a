"""Klaviyo: profiles, their list subscriptions, and their events.

identify creates or updates a profile and, if the traits say so, subscribes it to a list or unsubscribes it. track and
screen send events of the profile. group subscribes the profile to the list whose ID is the group ID. Accounts without a
chosen API version use the older one (`_v1`); `v3` is a later revision of `v2`, in which unsubscribing also names the
channels.

Traits that are not profile attributes become its properties; those of the context override those of the event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from svctoolkit.destinations import Answer, Context, DestinationType, Endpoint, Header, Payload
from svctoolkit.destinations.klaviyo import _v1
from svctoolkit.destinations.klaviyo._batches import batch
from svctoolkit.destinations.klaviyo._profile import (
    ADDRESS,
    CONTACT,
    LOCATION,
    NOT_CUSTOM,
    PARTS,
    PERSON,
    channels,
    flat,
    properties,
    require_contact,
)
from svctoolkit.destinations.klaviyo._settings import KlaviyoSettings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    IP,
    TIME,
    USER_ID,
    Misfit,
    Missing,
    Table,
    as_object,
    compact,
    custom_traits,
    first,
    nest_dotted,
    number,
    required,
    trait,
    value_of,
    warehouse_row,
)

_REVISIONS = {"v2": "2024-10-15", "v3": "2026-04-15"}
_E164 = re.compile(r"\+[1-9]\d{1,14}", re.ASCII)


destination = DestinationType(
    "Klaviyo",
    KlaviyoSettings,
    docs="https://developers.klaviyo.com/en/v2024-10-15/reference/api_overview",
    quirks=[
        "Times are sent unchanged, and an event without a name is sent without one.",
        "A profile without an e-mail address or phone number is still added to the list.",
        "In the older API, a group event's consent is read from traits.properties.consent, not from traits.consent.",
    ],
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
    needs=["lookup"],
)

API = Endpoint(ADDRESS, *PARTS, Header("revision", lambda settings: _REVISIONS[settings.api_version or "v2"]))
destination.batch(batch, may_refuse=False)

PROFILE = Table(
    {
        "external_id": USER_ID,
        "anonymous_id": "anonymousId",
        "_kx": trait("_kx"),
        **PERSON,
        "location": {
            **LOCATION,
            "ip": IP,
            "latitude": first("context.address.latitude", "context.location.latitude"),
            "longitude": first("context.address.longitude", "context.location.longitude"),
        },
    }
)
PROFILE_ID = Table({"id": "context.externalId.klaviyo-profileId"})
ACTION = Table(
    {
        "unique_id": "messageId",
        "time": TIME,
        "value": number("properties.revenue", "properties.total", "properties.value"),
        "value_currency": "properties.currency",
    }
)
LIST = required("groupId")
_IN_PROFILE = NOT_CUSTOM | {"street", "address", "_kx"}
_IN_ACTION = frozenset({"revenue", "total", "value", "currency", "email", "phone", "event"})


@destination.on("identify")
def send_person(event: Event, settings: KlaviyoSettings, context: Context) -> Iterator[Payload]:
    """Yield the profile, then its subscription."""
    if settings.is_older:
        yield from _v1.send_person(event, settings, context)
        return
    attributes, changes = _profile(event, settings)
    data = {"type": "profile", **PROFILE_ID(event), "attributes": attributes, "meta": {"patch_properties": changes}}
    yield API.post(settings, "profile-import", {"data": data})
    options = as_object(event.traits.get("properties"))
    where, subscribe = options.get("listId") or settings.list_id, options.get("subscribe")
    if where and subscribe is not None:
        consent = event.traits.get("consent") or options.get("consent")
        yield _subscription(event, settings, where, bool(subscribe), consent)


@destination.on("track", "screen")
def send_action(event: Event, settings: KlaviyoSettings) -> Payload:
    """Return an event of the profile that the traits describe."""
    if settings.is_older:
        return _v1.send_action(event, settings)
    profile, changes = _profile(event, settings)
    attributes = {
        **ACTION(event),
        "metric": {"data": {"type": "metric", "attributes": _name(event)}},
        "profile": {"data": {"type": "profile", "attributes": {**profile, "meta": {"patch_properties": changes}}}},
    }
    if settings.flatten_properties or isinstance(event.raw.get("properties"), dict):
        custom = nest_dotted({key: value for key, value in event.properties.items() if key not in _IN_ACTION})
        attributes["properties"] = flat(custom, settings)
    return API.post(settings, "events", {"data": {"type": "event", "attributes": attributes}})


def _name(event: Event) -> dict[str, Any]:
    """Return the name of the event; for screens, even an empty name is sent."""
    where = "event" if event.type == "track" else "name"
    name = event.raw.get(where)
    if name and not isinstance(name, str):
        raise Misfit(where, "a string", name)
    return {"name": name} if name or (event.type == "screen" and where in event.raw) else {}


@destination.on("group")
def send_group(event: Event, settings: KlaviyoSettings) -> Payload:
    """Subscribe or unsubscribe the profile, depending on `traits.subscribe`."""
    where, traits = value_of(event, LIST), as_object(event.raw.get("traits"))
    if settings.is_older:
        return _v1.send_group(event, settings, where)
    subscribe = traits.get("subscribe")
    if subscribe is None:
        raise Missing("traits.subscribe", wants="true or false")
    return _subscription(event, settings, where, bool(subscribe), traits.get("consent"))


def _profile(event: Event, settings: KlaviyoSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the profile's attributes, and the property updates that the event's options request."""
    require_contact(event, settings)
    attributes, custom = PROFILE(event), custom_traits(event, _IN_PROFILE)
    if row := warehouse_row(event).id:  # it replaces the user ID
        attributes["external_id"] = row
    phone = attributes.get("phone_number")
    if phone is not None and not _E164.fullmatch(re.sub(r"[\s()-]", "", str(phone))):
        raise Misfit("traits.phone", "a number such as +12345678900 (E.164)", phone)
    changes: dict[str, Any] = {}
    for change, option in (("append", "fieldsToAppend"), ("unappend", "fieldsToUnappend"), ("unset", "fieldsToUnset")):
        names = destination.options(event).get(option)
        if isinstance(names, list) and names:
            changes[change] = names if change == "unset" else _members(custom or {}, names)
            custom = custom and {key: value for key, value in custom.items() if key not in names}
    if settings.enforce_email_as_primary and "external_id" in attributes:
        custom = {**(custom or {}), "_id": attributes.pop("external_id")}
    return {**attributes, **properties(custom, settings)}, changes


def _members(custom: Mapping[str, Any], names: Iterable[Any]) -> dict[str, Any]:
    return {name: custom[name] for name in names if isinstance(name, str) and custom.get(name) is not None}


def _subscription(event: Event, settings: KlaviyoSettings, where: Any, subscribe: bool, consent: Any) -> Payload:
    """Return a job for one profile: Klaviyo subscribes the channels that have an address and the user's consent."""
    person: dict[str, Any] = CONTACT(event)
    if subscribe or settings.api_version == "v3":
        addresses = {"email": person.get("email"), "sms": person.get("phone_number")}
        agreement = {"marketing": {"consent": "SUBSCRIBED" if subscribe else "UNSUBSCRIBED"}}
        chosen = channels(consent, settings) or ()
        person |= compact(
            {"subscriptions": {name: agreement for name, to in addresses.items() if to and name in chosen}}
        )
    job = f"profile-subscription-bulk-{'create' if subscribe else 'delete'}-job"
    data = {
        "type": job,
        "attributes": {"profiles": {"data": [{"type": "profile", "attributes": person}]}},
        "relationships": {"list": {"data": {"type": "list", "id": where}}},
    }
    return API.post(settings, f"{job}s", {"data": data})
