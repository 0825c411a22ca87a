"""Intercom: contacts, their companies and what they do.

identify creates a contact, or updates the one that Intercom finds by e-mail address (or the field that the event's
options name as `lookup`) or user ID; track sends an event of the contact; group writes a company and puts the contact
into it. Accounts that still use version 1 of the API are served with users instead of contacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings
from svctoolkit.destinations.intercom import _v1
from svctoolkit.destinations.intercom._shared import (
    HAPPENED,
    PERSON,
    company,
    event_body,
    name_of,
    own_traits,
    warehouse_traits,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import TIME, Table, as_object, first, number, path, seconds, string, value_of
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://api.intercom.io", "eu": "https://api.eu.intercom.io", "au": "https://api.au.intercom.io"}
_VERSIONS = {"v1": "1.4", "v2": "2.10"}


class IntercomSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")
    api_server: Literal["standard", "eu", "au"] = "standard"
    api_version: Literal["v1", "v2"] = "v2"
    send_anonymous_id: bool = False
    update_last_request_at: bool = True

    def __post_init__(self) -> None:
        if not self.api_key:
            raise ValueError("apiKey: is required, the access token of the account")


destination = DestinationType(
    "Intercom",
    IntercomSettings,
    docs="https://developers.intercom.com/docs/references/rest-api/api.intercom.io",
    answers=[
        Answer("success", 202, "", at="/events"),
        Answer("success", 200, {"type": "contact", "id": "5ba682d23d7cf92bef87bfd4", "role": "user"}),
        Answer(
            "bad key",
            401,
            {"type": "error.list", "errors": [{"code": "unauthorized", "message": "Access Token Invalid"}]},
        ),
        Answer(
            "rate limit",
            429,
            {
                "type": "error.list",
                "errors": [{"code": "rate_limit_exceeded", "message": "Exceeded rate limit of 83 in 10_seconds"}],
            },
        ),
        Answer(
            "invalid field",
            400,
            {
                "type": "error.list",
                "errors": [{"code": "parameter_invalid", "message": "Custom attribute does not exist"}],
            },
        ),
    ],
)

USER = string("userId", "context.traits.userId", "context.traits.id")
ANONYMOUS = string("anonymousId")
CONTACT = Table(
    {
        "owner_id": number("traits.ownerId", "context.traits.ownerId"),
        "last_seen_at": seconds("traits.lastSeenAt", "context.traits.lastSeenAt"),
        "role": first("traits.role", "context.traits.role"),
        "avatar": first("traits.avatar", "context.traits.avatar"),
    }
)

EVENT = Table({**HAPPENED, "created_at": seconds(TIME)})


@destination.on("identify")
def send_person(event: Event, settings: IntercomSettings, context: Context) -> Payload:
    """Creates or updates. A company of the traits with `remove` is taken from the contact."""
    if settings.api_version == "v1":
        body = _v1.user(event, _user(event, settings), seen=settings.update_last_request_at)
        return _post(settings, "/users", body)
    found = _search(event, settings, context)
    if event.context.get("mappedToDestination"):
        traits = _as_contact(warehouse_traits(event))
        body = {**traits, **name_of(event)}
    else:
        body = _contact(event, settings)
    if not body.get("external_id") and not body.get("email"):
        raise MappingError("needs a value at userId or traits.email", field="userId or traits.email")
    if not found:
        return _post(settings, "/contacts", body)
    left = as_object(event.traits.get("company"))
    if left.get("remove") and left.get("id"):
        _leave(settings, context, found, left["id"])
    return _post(settings, f"/contacts/{found}", body, "PUT")


@destination.on("track")
def send_event(event: Event, settings: IntercomSettings) -> Payload:
    user_id = _user(event, settings)
    if event.context.get("mappedToDestination"):
        return _post(settings, "/events", _as_contact(warehouse_traits(event)))
    table = _v1.EVENT if settings.api_version == "v1" else EVENT
    return _post(settings, "/events", {**table(event), **event_body(event, user_id)})


@destination.on("group")
def send_group(event: Event, settings: IntercomSettings, context: Context) -> Iterator[Payload]:
    """The company; or, where Intercom knows the contact, the contact's membership in the company that it answers."""
    if settings.api_version == "v1":
        for place, body in _v1.group(event, _user(event, settings)):
            yield _post(settings, place, body)
        return
    found, about = _search(event, settings, context), company(event)
    tags = as_object(event.raw.get("traits")).get("tags")
    tags = tags if isinstance(tags, list) else []
    if not found and not tags:
        yield _post(settings, "/companies", about)
        return
    known = as_object(_ask(settings, context, "POST", "/companies", about)).get("id")
    for tag in tags:
        _ask(settings, context, "POST", "/tags", {"name": tag, "companies": [{"id": known}]})
    if found:
        yield _post(settings, f"/contacts/{found}/companies", {"id": known})
    else:
        yield _post(settings, "/companies", about)


def _user(event: Event, settings: IntercomSettings) -> Any:
    return value_of(event, USER) or (settings.send_anonymous_id and value_of(event, ANONYMOUS)) or None


def _contact(event: Event, settings: IntercomSettings) -> dict[str, Any]:
    out = {**CONTACT(event), **PERSON(event), **name_of(event)}
    user_id, own = _user(event, settings), own_traits(event.traits, "_")
    if user_id:
        out["external_id"] = user_id
    if own:
        out["custom_attributes"] = own
    return out


def _as_contact(traits: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping may still name the ID as version 1 did."""
    renamed = {"external_id": traits["user_id"]} if traits.get("user_id") and not traits.get("external_id") else {}
    return {**traits, **renamed}


def _search(event: Event, settings: IntercomSettings, context: Context) -> str:
    """The ID of the contact that Intercom finds by the lookup field or the user ID; empty when there is none."""
    field = str(destination.options(event).get("lookup") or "email")
    wanted = {field: path(field)(event.traits)}
    wanted.setdefault("external_id", value_of(event, USER))
    terms = [{"field": name, "operator": "=", "value": value} for name, value in wanted.items() if value]
    if not terms:
        return ""
    query = {"query": {"operator": "OR" if len(terms) > 1 else "AND", "value": terms}}
    answer = as_object(_ask(settings, context, "POST", "/contacts/search", query))
    listed = answer.get("data")
    return str(as_object(listed[0]).get("id") or "") if isinstance(listed, list) and listed else ""


def _leave(settings: IntercomSettings, context: Context, contact: str, company_id: Any) -> None:
    """Asks for Intercom's own ID of the company, and takes it from the contact."""
    known = _ask(settings, context, "GET", "/companies", params={"company_id": company_id})
    place = f"/contacts/{contact}/companies/{as_object(known).get('id')}"
    _ask(settings, context, "DELETE", place)


def _ask(
    settings: IntercomSettings,
    context: Context,
    method: str,
    place: str,
    body: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    url = _HOSTS[settings.api_server] + place
    asked = {"method": method, "url": url, "headers": _headers(settings), "body": body, "params": params or {}}
    return context.ask(asked)


def _headers(settings: IntercomSettings) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {settings.api_key.reveal()}",
        "Accept": "application/json",
        "Intercom-Version": _VERSIONS[settings.api_version],
        "User-Agent": "RudderStack",
    }


def _post(
    settings: IntercomSettings, place: str, body: Mapping[str, Any], method: Literal["POST", "PUT"] = "POST"
) -> Payload:
    return Payload(endpoint=_HOSTS[settings.api_server] + place, method=method, headers=_headers(settings), json=body)
