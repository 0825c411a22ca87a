"""Zendesk: people, their organizations, and what people do, for the agents who help them.

identify creates or updates a user, group an organization, which the user joins; track adds an event to the user's
profile. Zendesk knows people by its own numbers, so a mapping looks them up by their e-mail address first. Traits that
are no fields of Zendesk's go into custom fields, and those that do not exist yet are created by the look-ups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Method, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    LookupFailed,
    Misfit,
    Missing,
    Table,
    as_object,
    basic_auth,
    first,
    required,
    text,
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
    quirks=[
        "A further address is made the first one while the event is mapped, and once more when it is sent.",
        "A user's name is the trait name: it is not put together of first and last name.",
        "A track event's person is found by the trait email alone, a group event's by that of the context.",
        "An event without a name is sent without one.",
    ],
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

API = Endpoint(
    "https://{domain}.zendesk.com/api/v2",
    Header("Authorization", lambda settings: basic_auth(f"{settings.email}/token", settings.api_token.reveal())),
    JSON,
    Header("X-Zendesk-Marketplace-Name", "RudderStack"),
    Header("X-Zendesk-Marketplace-Organization-Id", "3339"),
    Header("X-Zendesk-Marketplace-App-Id", "263241"),
)

#: of the traits: those of the event, and those of its context for an event without
USER = Table(
    {
        "name": required("name"),
        "email": "email",
        "external_id": first("userId", "id"),
        "organization_id": "organizationId",
        "time_zone": "timezone",
        "phone": "phone",
    },
    of="traits",
)
NEW_USER = Table({"name": "name", "email": "email"}, of="traits")
ORGANIZATION = Table(
    {
        "name": "name",
        "domain_names": "domainNames",
        "tags": "tags",
        "url": "url",
        "deleted": "deleted",
    },
    of="traits",
)


@destination.on("identify")
def send_person(event: Event, settings: ZendeskSettings, context: Context) -> Iterator[Payload]:
    """Changes to organizations and addresses go first, then the user."""
    user_id, traits = _user_id(event), event.traits
    zendesk = _Zendesk(settings, context)
    user = {"external_id": user_id, **USER(traits)}
    fields = {"id": user["external_id"], **_custom(USER.rest(traits))}
    zendesk.create_fields("user", fields)
    body = {"user": {**user, **zendesk.verification(), "user_fields": fields}}
    company = as_object(traits.get("company"))
    if settings.remove_users_from_organization and company.get("remove") and company.get("id") and "email" in user:
        yield from _leave(zendesk, user["email"], company["id"])
    if settings.search_by_external_id and "email" in user:
        yield from _primary_address(zendesk, body, text(user["email"]))
    yield zendesk.send("POST", "users/create_or_update.json", body)


@destination.on("track")
def send_action(event: Event, settings: ZendeskSettings, context: Context) -> Payload:
    """An event of the profile that has the user's e-mail address. A user that Zendesk does not know is created."""
    _user_id(event)
    zendesk = _Zendesk(settings, context)
    user = _user(zendesk, event, event.traits)
    about, action = {"source": settings.source_name or "Rudder"}, {}
    if "event" in event.raw:
        about["type"] = action["description"] = event.raw["event"]
    if "properties" in event.raw:
        action["properties"] = event.properties
    profile = {**about, "identifiers": [{"type": "email", "value": user["email"]}]}
    body = {"event": {**about, **action}, "profile": profile}
    return zendesk.send("POST", f"users/{user['id']}/events", body)


@destination.on("group")
def send_group(event: Event, settings: ZendeskSettings, context: Context) -> Payload:
    """The organization alone, or the membership of a user in an organization that the look-ups create.

    The user is the one of the context's traits: those of the event are the organization's.
    """
    traits = as_object(event.raw.get("traits"))
    if not traits:
        raise Missing("traits", wants="the organization's traits")
    if not settings.send_group_calls_without_user_id:
        _user_id(event)
    zendesk = _Zendesk(settings, context)
    group_id = event.raw.get("groupId") or None
    identity = {} if group_id is None else {"id": group_id}
    fields = {**identity, **_custom(ORGANIZATION.rest({k: v for k, v in traits.items() if k != "groupId"}))}
    zendesk.create_fields("organization", fields)
    organization = ORGANIZATION(traits)
    if group_id is not None:
        organization["external_id"] = group_id
    if fields:
        organization["organization_fields"] = fields
    place, body = "organizations/create_or_update.json", {"organization": organization}
    if not event.raw.get("userId"):
        return zendesk.send("POST", place, body)
    organization_id = as_object(zendesk.ask("POST", place, body).get("organization")).get("id")
    if not organization_id:
        raise LookupFailed("traits.name", f"Zendesk created no organization {organization.get('name')!r}")
    user_id = _user(zendesk, event, as_object(event.context.get("traits")))["id"]
    if zendesk.membership(user_id, organization_id):
        raise Misfit("groupId", "an organization that the user is not in yet", event.raw.get("groupId"))
    membership = {"user_id": user_id, "organization_id": organization_id}
    return zendesk.send("POST", "organization_memberships.json", {"organization_membership": membership})


class _Zendesk:
    """The questions that are put to one account, and the requests for it."""

    def __init__(self, settings: ZendeskSettings, context: Context) -> None:
        self.settings, self._context = settings, context

    def ask(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The answer's object; an empty one when Zendesk knows no such thing."""
        return as_object(
            self._context.ask(API.lookup(self.settings, place, method, body), may_miss=True, field="userId")
        )

    def change(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Payload:
        """A change that is made while the event is mapped, and sent once more. A refused one refuses the event."""
        self._context.ask(API.lookup(self.settings, place, method, body), may_miss=method == "DELETE", field="userId")
        return self.send(method, place, body)

    def send(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Payload:
        return API.request(self.settings, method, place, body)

    def create_fields(self, of: str, values: Mapping[str, Any]) -> None:
        """Custom fields for these values where Zendesk has none: it would drop the values."""
        fields = self.ask("GET", f"{of}_fields.json").get(f"{of}_fields") if values.keys() - {"id"} else None
        if isinstance(fields, list):
            keys = {as_object(field).get("key") for field in fields} | {"id"}
            for key in (key for key in values if key not in keys):
                field = {"title": key, "key": key, "description": key, "type": "text", "active": True}
                self.ask("POST", f"{of}_fields.json", {f"{of}_field": field})

    def membership(self, user_id: Any, organization_id: Any) -> Any:
        """The number of the user's membership in an organization, or None."""
        memberships = self.ask("GET", f"users/{user_id}/organization_memberships.json").get("organization_memberships")
        listed = map(as_object, memberships if isinstance(memberships, list) else [])
        return next((m.get("id") for m in listed if str(m.get("organization_id")) == str(organization_id)), None)

    def verification(self) -> dict[str, bool]:
        return {"verified": True} if self.settings.create_users_as_verified else {}


def _user_id(event: Event) -> Any:
    """The event's own user ID, which cannot stand in its traits alone."""
    user_id = event.raw.get("userId")
    if not user_id:
        raise Missing("userId")
    return user_id


def _custom(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Custom fields hold plain values only."""
    return {key: value for key, value in traits.items() if isinstance(value, (str, int, float))}


def _find_user(zendesk: _Zendesk, email: Any) -> Mapping[str, Any]:
    """The user with this e-mail address; empty when there is none."""
    users = zendesk.ask("GET", f"users/search.json?query={quote(text(email), safe='@')}").get("users")
    return as_object(users[0]) if isinstance(users, list) and users else {}


def _user(zendesk: _Zendesk, event: Event, traits: Mapping[str, Any]) -> dict[str, Any]:
    """Number and address of the user with the e-mail address of the traits, who is created when there is none."""
    email = traits.get("email")
    if not email:
        raise Missing("traits.email", wants="the user's e-mail address")
    user_id = _find_user(zendesk, email).get("id")
    if user_id:
        return {"id": user_id, "email": email}
    new = {**NEW_USER(traits), "external_id": event.raw.get("userId"), **zendesk.verification()}
    user = as_object(zendesk.ask("POST", "users/create_or_update.json", {"user": new}).get("user"))
    if not user.get("id"):
        raise LookupFailed("traits.email", "Zendesk neither has this user nor creates it", case="user")
    return {"id": user["id"], "email": user.get("email") or email}


def _leave(zendesk: _Zendesk, email: Any, organization_id: Any) -> Iterator[Payload]:
    user_id = _find_user(zendesk, email).get("id")
    membership = zendesk.membership(user_id, organization_id) if user_id else None
    if membership:
        yield zendesk.send("DELETE", f"users/{user_id}/organization_memberships/{membership}.json")


def _primary_address(zendesk: _Zendesk, body: Mapping[str, Any], address: str) -> Iterator[Payload]:
    """Zendesk adds a new address as a further one. To become the first, it must not be a further one any more."""
    user_id = as_object(zendesk.ask("POST", "users/create_or_update.json", body).get("user")).get("id")
    listed = zendesk.ask("GET", f"users/{user_id}/identities").get("identities") if user_id else None
    addresses = [i for i in map(as_object, listed if isinstance(listed, list) else []) if i.get("type") == "email"]
    primary = next((i for i in addresses if i.get("primary")), None)
    if primary is None or primary.get("value") == address:
        return
    for other in addresses:
        if other.get("value") == address:
            yield zendesk.change("DELETE", f"users/{user_id}/identities/{other.get('id')}")
    identity = {"type": "email", "value": address, "verified": zendesk.settings.create_users_as_verified}
    yield zendesk.change("PUT", f"users/{user_id}/identities/{primary.get('id')}", {"identity": identity})
