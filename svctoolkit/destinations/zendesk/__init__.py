"""Zendesk: users, their organizations and their events, for support agents.

identify creates or updates a user; group creates or updates an organization, which the user joins; track adds an event
to the user's profile. Zendesk identifies users by its own IDs, so users are first looked up by e-mail address. Traits
that are not Zendesk fields become custom fields; the look-ups create missing ones.
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
        "A secondary e-mail address is made primary when the event is mapped, and again when it is delivered.",
        "A user's name is the trait name; it is not composed of first and last name.",
        "A track event's user is found only by the trait email, a group event's only by the email in the context's "
        "traits.",
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
    needs=["lookup"],
)

API = Endpoint(
    "https://{domain}.zendesk.com/api/v2",
    Header("Authorization", lambda settings: basic_auth(f"{settings.email}/token", settings.api_token.reveal())),
    JSON,
    Header("X-Zendesk-Marketplace-Name", "RudderStack"),
    Header("X-Zendesk-Marketplace-Organization-Id", "3339"),
    Header("X-Zendesk-Marketplace-App-Id", "263241"),
)

#: read from the event's traits, or else from those of its context
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
    """Yield changes to organizations and e-mail addresses first, then the user."""
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
    """Return an event of the profile with the user's e-mail address. A missing user is created."""
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
    """Return the organization, or a user's membership in the organization, which the look-ups create.

    The user is described by the traits of the context: those of the event belong to the organization.
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
    """The look-ups in one account, and the requests to it."""

    def __init__(self, settings: ZendeskSettings, context: Context) -> None:
        self.settings, self._context = settings, context

    def ask(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the object in the response; empty if Zendesk does not have it."""
        return as_object(
            self._context.ask(API.lookup(self.settings, place, method, body), may_miss=True, field="userId")
        )

    def change(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Payload:
        """Make a change while the event is mapped, and return its request. Raises if Zendesk rejects it."""
        self._context.ask(API.lookup(self.settings, place, method, body), may_miss=method == "DELETE", field="userId")
        return self.send(method, place, body)

    def send(self, method: Method, place: str, body: Mapping[str, Any] | None = None) -> Payload:
        return API.request(self.settings, method, place, body)

    def create_fields(self, of: str, values: Mapping[str, Any]) -> None:
        """Create missing custom fields for these values, which Zendesk would drop otherwise."""
        fields = self.ask("GET", f"{of}_fields.json").get(f"{of}_fields") if values.keys() - {"id"} else None
        if isinstance(fields, list):
            keys = {as_object(field).get("key") for field in fields} | {"id"}
            for key in (key for key in values if key not in keys):
                field = {"title": key, "key": key, "description": key, "type": "text", "active": True}
                self.ask("POST", f"{of}_fields.json", {f"{of}_field": field})

    def membership(self, user_id: Any, organization_id: Any) -> Any:
        """Return the ID of the user's membership in an organization, or None."""
        memberships = self.ask("GET", f"users/{user_id}/organization_memberships.json").get("organization_memberships")
        listed = map(as_object, memberships if isinstance(memberships, list) else [])
        return next((m.get("id") for m in listed if str(m.get("organization_id")) == str(organization_id)), None)

    def verification(self) -> dict[str, bool]:
        return {"verified": True} if self.settings.create_users_as_verified else {}


def _user_id(event: Event) -> Any:
    """Return the event's own user ID; one in the traits alone is not enough."""
    user_id = event.raw.get("userId")
    if not user_id:
        raise Missing("userId")
    return user_id


def _custom(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the custom fields; only scalars are allowed."""
    return {key: value for key, value in traits.items() if isinstance(value, (str, int, float))}


def _find_user(zendesk: _Zendesk, email: Any) -> Mapping[str, Any]:
    """Return the user with this e-mail address; empty if it is unknown."""
    users = zendesk.ask("GET", f"users/search.json?query={quote(text(email), safe='@')}").get("users")
    return as_object(users[0]) if isinstance(users, list) and users else {}


def _user(zendesk: _Zendesk, event: Event, traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return ID and e-mail address of the user with the traits' e-mail address; create the user if it is missing."""
    email = traits.get("email")
    if not email:
        raise Missing("traits.email", wants="the user's e-mail address")
    user_id = _find_user(zendesk, email).get("id")
    if user_id:
        return {"id": user_id, "email": email}
    new = {**NEW_USER(traits), "external_id": event.raw.get("userId"), **zendesk.verification()}
    user = as_object(zendesk.ask("POST", "users/create_or_update.json", {"user": new}).get("user"))
    if not user.get("id"):
        raise LookupFailed("traits.email", "Zendesk does not have this user and did not create it", case="user")
    return {"id": user["id"], "email": user.get("email") or email}


def _leave(zendesk: _Zendesk, email: Any, organization_id: Any) -> Iterator[Payload]:
    user_id = _find_user(zendesk, email).get("id")
    membership = zendesk.membership(user_id, organization_id) if user_id else None
    if membership:
        yield zendesk.send("DELETE", f"users/{user_id}/organization_memberships/{membership}.json")


def _primary_address(zendesk: _Zendesk, body: Mapping[str, Any], address: str) -> Iterator[Payload]:
    """Make the address primary. Zendesk adds a new address as secondary, so that identity must be deleted first."""
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
