"""Zendesk: people, their organizations, and what people do, for the agents who help them.

identify creates or updates a user, group an organization, which the user joins; track adds an event to the user's
profile. Zendesk knows people by its own numbers, so a mapping looks them up by their e-mail address first. Traits that
are no fields of Zendesk's go into custom fields, and those that do not exist yet are created by the look-ups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from svctoolkit.destinations import Answer, Context, DestinationType, Method, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    USER_ID,
    Table,
    as_object,
    basic_auth,
    event_name,
    full_name,
    required,
    text,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class ZendeskSettings(Settings, frozen=True, kw_only=True):
    email: str
    api_token: Secret
    domain: str
    create_users_as_verified: bool = False
    send_group_calls_without_user_id: bool = False
    remove_users_from_organization: bool = False
    search_by_external_id: bool = False
    source_name: str = ""


destination = DestinationType(
    "Zendesk",
    ZendeskSettings,
    docs="https://developer.zendesk.com/api-reference/ticketing/users/users/",
    answers=[
        Answer("success", 200, {"user": {"id": 35436}}, at="/users/create_or_update"),
        Answer("success", 200, {"organization": {"id": 35436}}, at="/organizations/create_or_update"),
        Answer("success", 201, {"organization_membership": {"id": 461}}, at="/organization_memberships"),
        Answer("success", 201, "", at="/events"),
        Answer("success", 200, ""),
        Answer("bad key", 401, {"error": "Couldn't authenticate you"}),
        Answer("rate limit", 429, "Number of allowed API requests per minute exceeded", headers={"Retry-After": "30"}),
        Answer(
            "invalid field",
            422,
            {
                "error": "RecordInvalid",
                "description": "Record validation errors",
                "details": {"email": [{"description": "Email: x is not properly formatted"}]},
            },
        ),
    ],
)

USER = Table(
    {
        "email": EMAIL,
        "external_id": USER_ID,
        "organization_id": trait("organizationId"),
        "time_zone": trait("timezone"),
        "phone": trait("phone"),
    }
)
NEW_USER = Table({"email": EMAIL, "external_id": USER_ID})
ORGANIZATION = Table(
    {
        "name": required("traits.name"),
        "external_id": "groupId",
        "domain_names": "traits.domainNames",
        "tags": "traits.tags",
        "url": "traits.url",
        "deleted": "traits.deleted",
    }
)
_PERSON = frozenset({"name", "firstName", "firstname", "first_name", "lastName", "lastname", "last_name", "company"})


@destination.on("identify")
def send_person(event: Event, settings: ZendeskSettings, context: Context) -> Iterator[Payload]:
    """Changes to organizations and addresses go first, then the user."""
    zendesk = _Zendesk(settings, context)
    traits = event.traits
    user = {**USER(event), "name": _name(event), **_verification(settings)}
    user_id = value_of(event, USER_ID)
    own = _custom(USER.rest(traits, "traits"), _PERSON)
    zendesk.create_fields("user", own)
    fields = {**({"id": user_id} if user_id else {}), **own}
    body = {"user": {**user, **({"user_fields": fields} if fields else {})}}
    company = as_object(traits.get("company"))
    if settings.remove_users_from_organization and company.get("remove") and company.get("id"):
        yield from _leave(event, zendesk, company["id"])
    if settings.search_by_external_id and "email" in user:
        yield from _primary_address(zendesk, body, user["email"])
    yield zendesk.send("POST", "/users/create_or_update.json", body)


@destination.on("track")
def send_event(event: Event, settings: ZendeskSettings, context: Context) -> Payload:
    """An event of the profile that has the user's e-mail address. A user that Zendesk does not know is created."""
    name = event_name(event)
    zendesk = _Zendesk(settings, context)
    user = _user(event, zendesk)
    about = {"source": settings.source_name or "Rudder", "type": name}
    address = user.get("email") or value_of(event, EMAIL)
    body = {
        "event": {**about, "description": name, "properties": event.properties},
        "profile": {**about, "identifiers": [{"type": "email", "value": address}]},
    }
    return zendesk.send("POST", f"/users/{user['id']}/events", body)


@destination.on("group")
def send_group(event: Event, settings: ZendeskSettings, context: Context) -> Payload:
    """The organization alone, or the membership of a user in an organization that the look-ups create."""
    traits = as_object(event.raw.get("traits"))
    if not traits:
        raise MappingError("needs the organization's traits at traits", field="traits")
    if not event.raw.get("userId") and not settings.send_group_calls_without_user_id:
        raise MappingError(
            "needs a value at userId; organizations without one are sent with sendGroupCallsWithoutUserId only",
            field="userId",
        )
    zendesk = _Zendesk(settings, context)
    own = _custom(ORGANIZATION.rest(traits, "traits"))
    zendesk.create_fields("organization", own)
    organization = ORGANIZATION(event)
    fields = {**({"id": event.raw["groupId"]} if event.raw.get("groupId") else {}), **own}
    if fields:
        organization["organization_fields"] = fields
    place, body = "/organizations/create_or_update.json", {"organization": organization}
    if not event.raw.get("userId"):
        return zendesk.send("POST", place, body)
    joined = as_object(zendesk.ask("POST", place, body).get("organization")).get("id")
    if not joined:
        raise MappingError(f"Zendesk created no organization {organization['name']!r}", field="traits.name")
    user_id = _user(event, zendesk)["id"]
    if zendesk.membership(user_id, joined):
        raise MappingError("the user is in this organization already: there is nothing to join", field="groupId")
    membership = {"user_id": user_id, "organization_id": joined}
    return zendesk.send("POST", "/organization_memberships.json", {"organization_membership": membership})


class _Zendesk:
    """The questions that are put to one account, and the requests for it."""

    def __init__(self, settings: ZendeskSettings, context: Context) -> None:
        self.settings, self._context = settings, context
        self._api = f"https://{settings.domain}.zendesk.com/api/v2"

    def ask(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The answer's object; an empty one when Zendesk knows no such thing."""
        request = {"method": method, "url": self._api + place, "headers": self._headers(), "body": body}
        return as_object(self._context.ask(request, may_miss=True))

    def send(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Payload:
        return Payload(endpoint=self._api + place, method=method, headers=self._headers(), json=body)

    def create_fields(self, of: str, values: Mapping[str, Any]) -> None:
        """Custom fields for these values where Zendesk has none: it would drop the values."""
        known = self.ask("GET", f"/{of}_fields.json").get(f"{of}_fields") if values else None
        if isinstance(known, list):
            keys = [as_object(field).get("key") for field in known]
            for key in (key for key in values if key not in keys):
                field = {"title": key, "key": key, "description": key, "type": "text", "active": True}
                self.ask("POST", f"/{of}_fields.json", {f"{of}_field": field})

    def membership(self, user_id: Any, organization_id: Any) -> Any:
        """The number of the user's membership in an organization, or None."""
        found = self.ask("GET", f"/users/{user_id}/organization_memberships.json").get("organization_memberships")
        listed = map(as_object, found if isinstance(found, list) else [])
        return next((m.get("id") for m in listed if str(m.get("organization_id")) == str(organization_id)), None)

    def _headers(self) -> dict[str, str]:
        return {
            "Authorization": basic_auth(f"{self.settings.email}/token", self.settings.api_token.reveal()),
            "Content-Type": "application/json",
            "X-Zendesk-Marketplace-Name": "RudderStack",
            "X-Zendesk-Marketplace-Organization-Id": "3339",
            "X-Zendesk-Marketplace-App-Id": "263241",
        }


def _name(event: Event) -> str:
    found = full_name(event)
    if not found:
        raise MappingError("needs a value at traits.name, which Zendesk requires of a user", field="traits.name")
    return found


def _verification(settings: ZendeskSettings) -> dict[str, bool]:
    return {"verified": True} if settings.create_users_as_verified else {}


def _custom(traits: Mapping[str, Any], barred: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Custom fields hold plain values only."""
    return {k: v for k, v in traits.items() if k not in barred and isinstance(v, str | int | float) and v != ""}


def _find_user(event: Event, zendesk: _Zendesk) -> Mapping[str, Any]:
    """The user with the event's e-mail address, without one with its user id; empty when there is none."""
    address, external = value_of(event, EMAIL), value_of(event, USER_ID)
    if not address and not external:
        raise MappingError("needs a value at traits.email or userId, to find the user", field="traits.email or userId")
    wanted = f"query={quote(text(address), safe='@')}" if address else f"external_id={quote(text(external), safe='')}"
    users = zendesk.ask("GET", f"/users/search.json?{wanted}").get("users")
    return as_object(users[0]) if isinstance(users, list) and users else {}


def _user(event: Event, zendesk: _Zendesk) -> Mapping[str, Any]:
    """That user, who is created when there is none."""
    user = _find_user(event, zendesk)
    if not user.get("id"):
        new = {"name": _name(event), **NEW_USER(event), **_verification(zendesk.settings)}
        user = as_object(zendesk.ask("POST", "/users/create_or_update.json", {"user": new}).get("user"))
    if not user.get("id"):
        raise MappingError("Zendesk neither has this user nor creates it", field="traits.email or userId")
    return user


def _leave(event: Event, zendesk: _Zendesk, organization_id: Any) -> Iterator[Payload]:
    user_id = _find_user(event, zendesk).get("id")
    membership = zendesk.membership(user_id, organization_id) if user_id else None
    if membership:
        yield zendesk.send("DELETE", f"/users/{user_id}/organization_memberships/{membership}.json")


def _primary_address(zendesk: _Zendesk, body: Mapping[str, Any], address: str) -> Iterator[Payload]:
    """Zendesk adds a new address as a further one. To become the first, it must not be a further one any more."""
    user_id = as_object(zendesk.ask("POST", "/users/create_or_update.json", body).get("user")).get("id")
    found = zendesk.ask("GET", f"/users/{user_id}/identities").get("identities") if user_id else None
    addresses = [i for i in map(as_object, found if isinstance(found, list) else []) if i.get("type") == "email"]
    primary = next((i for i in addresses if i.get("primary")), None)
    if primary is None or primary.get("value") == address:
        return
    for other in addresses:
        if other.get("value") == address:
            yield zendesk.send("DELETE", f"/users/{user_id}/identities/{other.get('id')}")
    identity = {"type": "email", "value": address, "verified": True}
    yield zendesk.send("PUT", f"/users/{user_id}/identities/{primary.get('id')}", {"identity": identity})
