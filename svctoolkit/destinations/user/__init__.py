"""user.com: users, their companies, events and page views.

identify updates the user with this user ID (or e-mail address, if the event's options say `lookup: email`), or creates
one. track and page require a user that exists in user.com. group creates or updates a company and adds the user to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

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
    authorization,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    TIME,
    USER_ID,
    LookupFailed,
    Misfit,
    Missing,
    NotFound,
    Table,
    WrongValue,
    as_object,
    converter,
    first,
    is_empty,
    js_join,
    lenient_seconds,
    required,
    text,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_GENDERS = {"male": 2, "m": 2, "female": 3, "f": 3}
_STATUSES = {"visitor": 1, "user": 2}


class NamedEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names of an event and its properties in user.com."""

    rs_event_name: str = ""
    user_event_name: str = ""
    event_properties: tuple[Rows, ...] = ()


class UserSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    app_subdomain: str
    user_attributes_mapping: tuple[Rows, ...] = ()
    user_events: tuple[NamedEvent, ...] = ()
    company_attributes_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "user.com",
    UserSettings,
    docs="https://user.com/en/api/users/",
    names=("user",),
    quirks=[
        "The trait `useroccupation` is sent only if it is mapped.",
        "A user's city is read only from the address.",
        "The time of a page view is sent unchanged, that of other events in seconds.",
        "The address of a company consists of its members, joined in order.",
    ],
    answers=[
        Answer("success", 200, {"id": 59, "custom_id": "u1"}),
        Answer("bad key", 403, {"detail": "Invalid token."}),
        Answer("rate limit", 429, {"detail": "Request was throttled."}),
        Answer("invalid field", 400, {"email": ["Enter a valid email address."]}),
    ],
    differences=["`lookup` accepts only the e-mail address: it is unknown which other fields RudderStack accepts."],
    needs=["lookup"],
)

API = Endpoint(
    "https://{app_subdomain}.user.com/api/public",
    JSON,
    authorization("Token", "api_key"),
    Header("Accept", "*/*;version=2"),
)


@converter
def gender(value: Json) -> int:
    """Return user.com's number for a gender."""
    return _number(_GENDERS, value)


@converter
def status(value: Json) -> int:
    """Return user.com's number for a status."""
    return _number(_STATUSES, value)


def _number(numbers: Mapping[str, int], value: Any) -> int:
    if not isinstance(value, str) or value not in numbers:
        raise WrongValue(f"one of {', '.join(numbers)}", value, case="word")
    return numbers[value]


PERSON = Table(
    {
        "custom_id": required(ANY_ID),
        "email": EMAIL,
        "phone_number": PHONE,
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "tags": trait("tags"),
        "city": trait("address.city"),
        "region": trait("region"),
        "country": trait("country"),
        "gender": gender(trait("gender")),
        "status": status(trait("status")),
        "google_url": trait("googleUrl"),
        "linkedin_url": trait("linkedinUrl"),
        "twitter_url": trait("twitterUrl"),
        "facebook_url": trait("facebookUrl"),
        "gravatar_url": first(trait("avatar"), trait("avatarURL"), trait("avatar_URL")),
        "timezone": trait("timezone"),
    }
)
_NOT_CUSTOM = frozenset({
    "avatar", "avatarURL", "avatar_URL", "city", "country", "email", "facebookUrl", "firstName", "first_name",
    "firstname", "gender", "googleUrl", "id", "lastName", "last_name", "lastname", "linkedinUrl", "phone", "region",
    "status", "tags", "timezone", "twitterUrl", "userId", "useroccupation",
})  # fmt: skip
COMPANY = Table(
    {
        "name": required("traits.name"),
        "email": "traits.email",
        "city": "traits.address.city",
        "region": "traits.region",
        "country": "traits.country",
        "phone_numbers": "traits.phone",
        "postal_code": first("traits.postal_code", "traits.address.postalCode"),
    }
)
GROUP_ID = first("groupId", "traits.groupId")
ACTION = Table({"name": required("event"), "timestamp": lenient_seconds(TIME)})
VIEW = Table(
    {
        "page_domain": required(first("context.page.url", "properties.url")),
        "page_path": first("context.page.path", "properties.path"),
        "timestamp": required(TIME),
    }
)

KEY = "context.externalId.userKey"
REQUIRED_ID = required(USER_ID)


@destination.on("identify")
def send_person(event: Event, settings: UserSettings, context: Context) -> Payload:
    """Create or update the user, with all traits."""
    mapped = {row.from_ for row in settings.user_attributes_mapping}
    traits = {**as_object(event.raw.get("traits")), **as_object(event.context.get("traits"))}
    own = {key: value for key, value in traits.items() if key not in _NOT_CUSTOM | mapped and value is not None}
    body = {**PERSON(event), **_values_of_rows(traits, settings.user_attributes_mapping), **own}
    person_id = as_object(_person(event, settings, context)).get("id")
    if not person_id:
        return API.post(settings, "users/", body)
    return API.put(settings, f"users/{text(person_id)}/", body)


@destination.on("track")
def send_action(event: Event, settings: UserSettings, context: Context) -> Payload:
    """Return an event of an existing user."""
    body = ACTION(event)
    value_of(event, REQUIRED_ID)
    chosen = next((named for named in settings.user_events if named.rs_event_name == body["name"]), NamedEvent())
    properties, rows = event.properties, chosen.event_properties
    own = {key: value for key, value in properties.items() if key not in {row.from_ for row in rows}}
    user_id = _person_value(event, settings, context, "id")
    body["name"] = chosen.user_event_name or body["name"]
    return API.post(
        settings, "events/", {"user_id": user_id, **body, "data": {**own, **_values_of_rows(properties, rows)}}
    )


@destination.on("page")
def send_view(event: Event, settings: UserSettings, context: Context) -> Payload:
    """Return a page view of an existing user."""
    view = VIEW(event)
    return API.post(
        settings, "site-views/", {"client_user": _person_value(event, settings, context, "user_key"), **view}
    )


@destination.on("group")
def send_member(event: Event, settings: UserSettings, context: Context) -> Payload:
    """Write the company, then add the user to it."""
    body, user_id = _company(event, settings), value_of(event, USER_ID)
    person = _ask(settings, context, f"users-by-id/{js_join(user_id)}/")
    if not person.get("id"):
        raise NotFound("person", user_id, field="userId")
    group_id = value_of(event, GROUP_ID)
    company_id = _ask(settings, context, f"companies-by-id/{js_join(group_id)}/").get("id")
    if company_id:
        company_id = _ask(settings, context, f"companies/{text(company_id)}/", "PUT", body).get("id")
    else:
        company_id = _ask(settings, context, "companies/", "POST", body).get("id")
    if not company_id:
        raise LookupFailed("groupId", "user.com's response has no company ID", case="id")
    member = {"user_id": person["id"], "user_custom_id": user_id}
    return API.post(settings, f"companies/{text(company_id)}/add_member/", member)


def _company(event: Event, settings: UserSettings) -> dict[str, Any]:
    traits, rows = event.traits, settings.company_attributes_mapping
    body = COMPANY(event)
    address = traits.get("address")
    if isinstance(address, dict):
        body["address"] = "".join(js_join(value) for value in address.values() if value is not None)
    ids = {"custom_id": value_of(event, GROUP_ID), "user_custom_id": value_of(event, USER_ID)}
    own = {key: value for key, value in traits.items() if key not in {row.from_ for row in rows}}
    for key in ("address", "email", "groupId", "id", "name", "phone", "userId"):
        own.pop(key, None)
    return {**ids, **own, **_values_of_rows(traits, rows), **body}


def _values_of_rows(values: Mapping[str, Any], rows: Iterable[Rows]) -> dict[str, Any]:
    """Return the values that are mapped to a name in user.com."""
    return {row.to: values[row.from_] for row in rows if row.from_ in values and not is_empty(values[row.from_])}


def _person(event: Event, settings: UserSettings, context: Context) -> Mapping[str, Any] | None:
    """Look up the user in user.com by its key, the field in the event's options, the user ID, or the e-mail address."""
    lookup, email = destination.options(event).get("lookup"), value_of(event, EMAIL)
    if key := value_of(event, KEY):
        return _ask(settings, context, f"users/search/?key={js_join(key)}")
    if lookup and lookup != "email":
        raise Misfit("integrations.user.lookup", "email", lookup)
    if not lookup and event.raw.get("userId"):
        return _ask(settings, context, f"users-by-id/{js_join(event.raw['userId'])}/")
    if email is None:
        raise Missing(*EMAIL.paths)
    return _ask(settings, context, f"users/search/?email={js_join(email)}")


def _person_value(event: Event, settings: UserSettings, context: Context, name: str) -> Any:
    """Return the field `name` of user.com's user."""
    value = as_object(_person(event, settings, context)).get(name)
    if not value:
        raise NotFound("person", event.raw.get("userId"), field="userId", case="value")
    return value


def _ask(
    settings: UserSettings, context: Context, path: str, method: Method = "GET", body: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    request = API.lookup(settings, path, method, body)
    return as_object(context.ask(request, may_miss=True, field="userId"))
