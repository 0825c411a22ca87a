"""Sendinblue (now Brevo): contacts, what they do, links that they follow and pages that they see.

identify creates or updates a contact, or takes it from the lists that `sendinblueUnlinkListIds` names among the
external IDs; `sendinblueIncludeListIds` are the lists that it joins. With double opt-in Sendinblue is asked for the
contact first: one that it does not know is sent a message to confirm. Who has a telephone number alone is known by the
address that Sendinblue makes of it.
https://developers.brevo.com/reference/getting-started-1

Decisions. A contact that leaves several lists leaves each by a request of its own. What is no number among the lists of
an external ID is left to Sendinblue to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    Misconfigured,
    Misfit,
    Missing,
    Table,
    as_it_is,
    as_object,
    compact,
    default,
    first,
    in_url,
    required,
    trait,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_EMAIL = re.compile(r"[^\s@<>(),;:\"\[\]\\]+@[^\s@]+\.[^\s@.]{2,}")
_PHONE = re.compile(r"(?:\+|00)[1-9][0-9]{9,14}")
_KNOWN = ("email", "phone", "firstName", "firstname", "first_name", "lastName", "lastname", "last_name")
_LINK_FIELDS = ("email", "link")
_PAGE_FIELDS = ("url", "title", "name", "path", "referrer", "email")


class SendinblueSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    client_key: str
    doi: bool = False
    template_id: int = 0
    redirection_url: str = ""
    contact_attribute_mapping: tuple[Rows, ...] = ()
    send_traits_in_track: bool = False


destination = DestinationType(
    "Sendinblue",
    SendinblueSettings,
    docs="https://developers.brevo.com/reference/getting-started-1",
    quirks=[
        "The e-mail address of a page event is not checked.",
        "A contact that is created by double opt-in keeps `newEmail` as an attribute of that name.",
        "Only traits of the event's context become attributes of a track event.",
        "With double opt-in, attributes keep the names of their traits whatever contactAttributeMapping says.",
    ],
    answers=[
        Answer("success", 204, "", at="in-automate"),
        Answer("success", 201, {"id": 42}),
        Answer("bad key", 401, {"code": "unauthorized", "message": "Key not found"}),
        Answer("rate limit", 429, {"code": "too_many_requests", "message": "Too Many Requests"}),
        Answer("invalid field", 400, {"code": "invalid_parameter", "message": "Invalid phone number"}),
    ],
)

CONTACTS = Endpoint("https://api.sendinblue.com/v3/contacts", JSON, Header("api-key", "{api_key}"))
TRACKER = Endpoint("https://in-automate.sendinblue.com/api/v2", JSON, Header("ma-key", "{client_key}"))

NEW_EMAIL = trait("newEmail")
CONTACT_ID = "context.externalId.sendinblueContactId"
JOINED = "context.externalId.sendinblueIncludeListIds"
LEFT = "context.externalId.sendinblueUnlinkListIds"
NAMES = Table({"FIRSTNAME": FIRST_NAME, "LASTNAME": LAST_NAME})
LINK = required("properties.link")
PAGE = required(first("properties.url", "context.page.url"))
PAGE_PROPERTIES = Table(
    {
        "ma_title": first("properties.ma_title", "properties.title", "context.page.title"),
        "ma_path": first("properties.ma_path", "properties.path", "context.page.path"),
        "ma_referrer": first("properties.ma_referrer", "properties.referrer", "context.page.referrer"),
        "sib_name": default(first("name", "properties.name"), "Page View"),
    }
)
EVENT_DATA = Table({"id": "messageId", "data": as_it_is("properties")})


@destination.on("identify")
def send_contact(event: Event, settings: SendinblueSettings, context: Context) -> Iterator[Payload]:
    """The contact, or its leave from lists."""
    email, phone = _identity(event)
    if settings.doi:
        yield _confirm(event, settings, context, email, phone)
        return
    identity = _address(email, phone)
    left = _list_ids(event, LEFT)
    for list_id in left:
        yield CONTACTS.post(settings, f"lists/{in_url(list_id)}/contacts/remove", {"emails": [identity]})
    if left:
        return
    attributes = _with_new_email(_rename(_attributes(event.traits, event, phone), settings), event)
    body = {**({"email": email} if email else {}), "attributes": attributes}
    yield CONTACTS.post(settings, body={**body, "updateEnabled": True, **_membership(event)})


@destination.on("track")
def send_event(event: Event, settings: SendinblueSettings) -> Payload:
    """What a contact did; an event `trackLink` is a link that it followed."""
    name = event.raw.get("event")
    if not isinstance(name, str) or not name:
        raise Misfit("event", "a name, as a text", name)
    email, phone = _identity(event)
    identity = _address(email, phone)
    if name.lower() == "tracklink":
        body = {"email": identity, "link": value_of(event, LINK)}
        return TRACKER.post(
            settings, "trackLink", {**body, **compact({"properties": without(event.properties, _LINK_FIELDS)})}
        )
    of_person = as_object(event.context.get("traits"))
    traits = _rename(_attributes(of_person, event, phone), settings) if settings.send_traits_in_track else {}
    data = EVENT_DATA(event) if event.properties else {}
    body = {"email": identity, "event": name, **compact({"properties": traits}), "eventdata": data}
    return TRACKER.post(settings, "trackEvent", body)


@destination.on("page")
def send_page(event: Event, settings: SendinblueSettings) -> Payload:
    """A page that a contact saw."""
    identity = _address(value_of(event, EMAIL), value_of(event, PHONE))
    own = without(event.properties, _PAGE_FIELDS)
    properties = {**own, **PAGE_PROPERTIES(event)}
    return TRACKER.post(
        settings, "trackPage", {"email": identity, "page": value_of(event, PAGE), "properties": properties}
    )


def _confirm(event: Event, settings: SendinblueSettings, context: Context, email: Any, phone: Any) -> Payload:
    """The contact as Sendinblue knows it, or a message to somebody who is to confirm."""
    identifier = value_of(event, CONTACT_ID) or email
    if not identifier:
        raise Missing("traits.email", "context.externalId.sendinblueContactId", why="double opt-in needs it")
    place = in_url(identifier)
    contact = context.ask(CONTACTS.lookup(settings, place), may_miss=True, field="traits.email")
    attributes = _attributes(event.traits, event, phone)
    if contact is not None:
        return CONTACTS.put(settings, place, {"attributes": _with_new_email(attributes, event), **_membership(event)})
    lists = _list_ids(event, JOINED)
    for setting, value in (("templateId", settings.template_id), ("redirectionUrl", settings.redirection_url)):
        if not value:
            raise Misconfigured(setting, "is required by double opt-in")
    for field, given in (("traits.email", email), ("context.externalId.sendinblueIncludeListIds", lists)):
        if not given:
            raise Missing(field, why="double opt-in needs it")
    asked = {"templateId": settings.template_id, "redirectionUrl": settings.redirection_url, "includeListIds": lists}
    return CONTACTS.post(settings, "doubleOptinConfirmation", {"email": email, "attributes": attributes, **asked})


def _identity(event: Event) -> tuple[Any, Any]:
    """E-mail address and telephone number, either of which may be missing. Refuses what is none."""
    email, phone = value_of(event, EMAIL), value_of(event, PHONE)
    _check_email(email, "traits.email")
    if phone and not (isinstance(phone, str) and _PHONE.fullmatch(phone)):
        raise Misfit("traits.phone", "a number with its country code, such as +4915112345678", phone)
    return email, phone


def _check_email(email: Any, field: str) -> None:
    if email and not (isinstance(email, str) and _EMAIL.fullmatch(email)):
        raise Misfit(field, "an e-mail address", email)


def _address(email: Json, phone: Json) -> Json:
    """The address that Sendinblue knows a contact by."""
    if email:
        return email
    if not isinstance(phone, str) or not phone:
        raise Missing("traits.email", "traits.phone")
    return f"{re.sub(r'^([+]|00)', '', phone)}@mailin-sms.com"


def _attributes(traits: Mapping[str, Json], event: Event, phone: Json) -> dict[str, Any]:
    """Traits under the names that Sendinblue has for them."""
    return {**without(traits, _KNOWN), **NAMES(event), **({"SMS": phone} if phone else {})}


def _rename(attributes: dict[str, Any], settings: SendinblueSettings) -> dict[str, Any]:
    """Attributes under the names that the configuration has for them."""
    for row in settings.contact_attribute_mapping:
        if row.to and attributes.get(row.from_):
            attributes[row.to] = attributes.pop(row.from_)
    return attributes


def _with_new_email(attributes: dict[str, Any], event: Event) -> dict[str, Any]:
    """Attributes of a contact that may get a new e-mail address."""
    email = value_of(event, NEW_EMAIL)
    _check_email(email, "traits.newEmail")
    attributes.pop("newEmail", None)
    return {**attributes, **({"EMAIL": email} if email else {})}


def _membership(event: Event) -> dict[str, Any]:
    """The lists that a contact joins and leaves, and whether it gets no more messages."""
    options = destination.options(event)
    members = {
        "listIds": _list_ids(event, JOINED),
        "unlinkListIds": _list_ids(event, LEFT),
        "emailBlacklisted": options.get("emailBlacklisted"),
        "smsBlacklisted": options.get("smsBlacklisted"),
    }
    return {key: value for key, value in members.items() if value is not None and value != []}


def _list_ids(event: Event, place: str) -> list[Any]:
    ids = value_of(event, place)
    return ids if isinstance(ids, list) else []
