"""Refiner: contacts, their accounts, and events that can trigger a survey.

identify writes a contact with its traits, group the contact's account; track and page are events. Traits are sent under
the names that the settings map them to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import FORM, Answer, DestinationType, Endpoint, Payload, Rows, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.mapping import EMAIL, USER_ID, Missing, Table, as_object, first, js_join, required, trait
from svctoolkit.secrets import Secret


class RefinerSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    user_attributes_mapping: tuple[Rows, ...] = ()
    account_attributes_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Refiner",
    RefinerSettings,
    docs="https://refiner.io/docs/api/",
    quirks=[
        "Traits of the context take precedence over those of the event; for the e-mail address it is the reverse.",
    ],
    answers=[
        Answer("success", 200, {"message": "ok", "contact_uuid": "00000000-0000-4000-8000-000000000000"}),
        Answer("bad key", 401, {"message": "Unauthenticated."}),
        Answer("rate limit", 429, {"message": "Too Many Attempts."}),
        Answer("invalid field", 400, {"message": "No valid identifier provided"}),
    ],
)

API = Endpoint("https://api.refiner.io/v1", bearer("api_key"), FORM)

CONTACT = Table({"email": trait("email"), "userId": USER_ID})
ACTOR = Table({"id": USER_ID, "email": EMAIL})
NAME = Table({"event": required("event")})
MEMBER = Table({"id": USER_ID})
ACCOUNT = Table({"id": first("groupId", "traits.groupId")})
PAGE = Table({"category": "category", "name": "name"})


@destination.on("identify")
def send_contact(event: Event, settings: RefinerSettings) -> Payload:
    """Return the contact with all traits."""
    traits = {**as_object(event.raw.get("traits")), **as_object(event.context.get("traits")), **CONTACT(event)}
    return _send(event, settings, "identify-user", _rename(traits, settings.user_attributes_mapping))


@destination.on("track")
def send_action(event: Event, settings: RefinerSettings) -> Payload:
    """Return an event with its name."""
    return _send(event, settings, "track", {**ACTOR(event), **NAME(event)})


@destination.on("page")
def send_page(event: Event, settings: RefinerSettings) -> Payload:
    """Return an event `Viewed <category> <name> Page`; `pageView` for a page without category and name."""
    words = [js_join(word) for word in PAGE(event).values()]
    return _send(
        event,
        settings,
        "track",
        {**ACTOR(event), "event": " ".join(["Viewed", *words, "Page"]) if words else "pageView"},
    )


@destination.on("group")
def send_account(event: Event, settings: RefinerSettings) -> Payload:
    """Return the contact's account, from the event's traits or else from `context.traits`."""
    traits = as_object(event.raw.get("traits") or event.context.get("traits"))
    own = {key: value for key, value in traits.items() if key != "id"}
    account = {**_rename(own, settings.account_attributes_mapping), **ACCOUNT(event)}
    return _send(
        event, settings, "identify-user", {**MEMBER(event), **{f"account[{key}]": account[key] for key in account}}
    )


def _rename(traits: Mapping[str, Any], rows: tuple[Rows, ...]) -> dict[str, Any]:
    """Return the traits that are not null, under their names in Refiner."""
    names = {row.from_: row.to for row in rows if row.from_ and row.to}
    return {names.get(key, key): value for key, value in traits.items() if value is not None}


def _send(event: Event, settings: RefinerSettings, path: str, form: Mapping[str, Any]) -> Payload:
    if not ACTOR(event):
        raise Missing("userId", "traits.email")
    return API.post(settings, path, form)
