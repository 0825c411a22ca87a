"""Gainsight PX: users, their events and their accounts.

identify looks up the user, then updates or creates it; track sends a custom event; group updates or creates the account
during mapping and then assigns the user to it. With `limitAPIForGroup` in the event's options for Gainsight PX, group
looks up neither user nor account, and only updates them.

The creation time of a new user is the time of the event; null if that is invalid.
"""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Method,
    Payload,
    Rows,
    Settings,
)
from svctoolkit.destinations.gainsight_px._tables import (
    ACCOUNT,
    EVENT,
    GROUP_ID,
    LOCATION,
    PERSON,
    is_custom,
    milliseconds,
    names,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    TIME,
    NotFound,
    as_object,
    javascript_text,
    json_text,
    required,
    value_of,
)
from svctoolkit.secrets import Secret

_NOT_FOUND = {"externalapierror": {"status": "NOT_FOUND", "message": "User was not found for parameters {id=u1}"}}
_USER, _GROUP = required(ANY_ID), required(GROUP_ID)


class GainsightPxSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    product_tag_key: str
    user_attribute_map: tuple[Rows, ...] = ()
    account_attribute_map: tuple[Rows, ...] = ()
    global_context_map: tuple[Rows, ...] = ()


destination = DestinationType(
    "Gainsight PX",
    GainsightPxSettings,
    docs="https://support.gainsight.com/PX/API_for_Developers/02Usage_of_Different_APIs",
    names=("GAINSIGHT_PX",),
    answers=[
        Answer("success", 201, "", at="/events/custom"),
        Answer("success", 204, ""),
        Answer("bad key", 401, {"externalapierror": {"status": "UNAUTHORIZED", "message": "Invalid API key"}}),
        Answer("invalid field", 400, {"externalapierror": {"status": "BAD_REQUEST", "message": "Malformed request"}}),
        Answer("rate limit", 429, {"externalapierror": {"status": "TOO_MANY_REQUESTS", "message": "Rate limit"}}),
        Answer("not found", 404, _NOT_FOUND),
    ],
    quirks=[
        "A name is split at spaces; only its first two words are sent.",
        "Null properties are sent as the text null, and objects and lists as JSON text.",
        "An event without a name is sent.",
    ],
    needs=["lookup"],
)

API = Endpoint("https://api.aptrinsic.com/v1", Header("X-APTRINSIC-API-KEY", "{api_key}"), JSON)


@destination.on("identify")
def send_user(event: Event, settings: GainsightPxSettings, context: Context) -> Payload:
    user = value_of(event, _USER)
    at = f"users/{javascript_text(user)}"
    person = {
        **PERSON(event),
        **names(event),
        **_location(event),
        "customAttributes": _custom(event, settings.user_attribute_map),
        "propertyKeys": [settings.product_tag_key],
        "type": "USER",
    }
    if _ask(settings, context, "GET", at) is not None:
        return API.request(settings, "PUT", at, person)
    now = milliseconds(value_of(event, TIME))
    return API.post(settings, "users", {"signUpDate": now, "createDate": now, **person, "identifyId": user})


@destination.on("track")
def send_event(event: Event, settings: GainsightPxSettings) -> Payload:
    attributes = {key: _plain(value) for key, value in event.properties.items() if key != "globalContext"}
    context = event.properties.get("globalContext") or {row.from_: row.to for row in settings.global_context_map}
    body = {
        **EVENT(event),
        "attributes": attributes,
        "propertyKey": settings.product_tag_key,
        "userType": "USER",
        **({"globalContext": context} if context else {}),
    }
    return API.post(settings, "events/custom", body)


@destination.on("group")
def send_group(event: Event, settings: GainsightPxSettings, context: Context) -> Payload:
    user, group = value_of(event, _USER), value_of(event, _GROUP)
    at = f"accounts/{javascript_text(group)}"
    created = milliseconds(value_of(event, TIME))
    custom = _custom(event, settings.account_attribute_map)
    account = {"createDate": created, **ACCOUNT(event), **_location(event)}
    account |= {"propertyKeys": [settings.product_tag_key], **({"customAttributes": custom} if custom else {})}
    if destination.options(event).get("limitAPIForGroup"):
        _change(settings, context, at, account)
    else:
        if _ask(settings, context, "GET", f"users/{javascript_text(user)}") is None:
            raise NotFound("user", user, field="userId")
        if _ask(settings, context, "GET", at) is None:
            _ask(settings, context, "POST", "accounts", {"id": group, **account}, may_miss=False)
        else:
            _change(settings, context, at, account)
    return API.request(settings, "PUT", f"users/{javascript_text(user)}", {"accountId": group})


def _change(settings: GainsightPxSettings, context: Context, at: str, account: Mapping[str, Json]) -> None:
    _ask(settings, context, "PUT", at, account, may_miss=False)


def _ask(
    settings: GainsightPxSettings,
    context: Context,
    method: Method,
    at: str,
    body: Mapping[str, Json] | None = None,
    may_miss: bool = True,
) -> Json:
    """Return Gainsight PX's answer; None if the item does not exist and `may_miss`."""
    return context.ask(API.lookup(settings, at, method, body or None), may_miss=may_miss, field="userId")


def _location(event: Event) -> dict[str, Json]:
    location = LOCATION(event)
    return {"location": location} if location else {}


def _custom(event: Event, rows: tuple[Rows, ...]) -> dict[str, Json]:
    """Return the traits that the configuration names, under Gainsight's names."""
    traits = {**as_object(event.context.get("traits")), **as_object(event.raw.get("traits"))}
    values = ((row.to, traits.get(row.from_)) for row in rows if is_custom(row.from_))
    return {name: value for name, value in values if value is not None}


def _plain(value: Json) -> Json:
    return json_text(value) if value is None or isinstance(value, (dict, list)) else value
