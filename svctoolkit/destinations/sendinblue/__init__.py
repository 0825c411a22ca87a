"""Sendinblue (now Brevo): contacts, their events, clicked links and page views.

identify creates or updates a contact, or removes it from the lists in the external ID `sendinblueUnlinkListIds`;
`sendinblueIncludeListIds` are the lists that it joins. With double opt-in, the contact is looked up first; if it does
not exist, Sendinblue sends it a confirmation message. A contact with only a phone number is identified by the e-mail
address that Sendinblue derives from it.
https://developers.brevo.com/reference/getting-started-1
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import is_strict_email
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    Misconfigured,
    Misfit,
    Missing,
    Table,
    as_object,
    compact,
    default,
    first,
    in_url,
    js_join,
    required,
    trait,
    value_of,
    verbatim,
    without,
)
from svctoolkit.secrets import Secret

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
        "For a contact created by double opt-in, `newEmail` is sent as an attribute of that name.",
        "Only `context.traits` become attributes of a track event.",
        "With double opt-in, attributes are named after their traits, and contactAttributeMapping is ignored.",
    ],
    answers=[
        Answer("success", 204, "", at="in-automate"),
        Answer("success", 201, {"id": 42}),
        Answer("bad key", 401, {"code": "unauthorized", "message": "Key not found"}),
        Answer("rate limit", 429, {"code": "too_many_requests", "message": "Too Many Requests"}),
        Answer("invalid field", 400, {"code": "invalid_parameter", "message": "Invalid phone number"}),
    ],
    differences=[
        "A contact that leaves several lists is removed by one request per list.",
        "List IDs that are not numbers are sent, and Sendinblue rejects them.",
    ],
    needs=["lookup"],
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
EVENT_DATA = Table({"id": "messageId", "data": verbatim("properties")})


@destination.on("identify")
def send_contact(event: Event, settings: SendinblueSettings, context: Context) -> Iterator[Payload]:
    """Yield the contact, or the requests that remove it from lists."""
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
    """Return an event of a contact; `trackLink` is a clicked link."""
    name = event.raw.get("event")
    if not isinstance(name, str) or not name:
        raise Misfit("event", "a name as a string", name)
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
    own_id = event.properties.get(js_join(destination.options(event).get("propertiesIdKey")))
    if own_id:
        data["id"] = own_id
    body = {"email": identity, "event": name, **compact({"properties": traits}), "eventdata": data}
    return TRACKER.post(settings, "trackEvent", body)


@destination.on("page")
def send_page(event: Event, settings: SendinblueSettings) -> Payload:
    """Return a page view of a contact."""
    identity = _address(value_of(event, EMAIL), value_of(event, PHONE))
    own = without(event.properties, _PAGE_FIELDS)
    properties = {**own, **PAGE_PROPERTIES(event)}
    return TRACKER.post(
        settings, "trackPage", {"email": identity, "page": value_of(event, PAGE), "properties": properties}
    )


def _confirm(event: Event, settings: SendinblueSettings, context: Context, email: Any, phone: Any) -> Payload:
    """Update the contact if it exists in Sendinblue; otherwise send a confirmation message."""
    identifier = value_of(event, CONTACT_ID) or email
    if not identifier:
        raise Missing("traits.email", "context.externalId.sendinblueContactId", why="double opt-in requires it")
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
            raise Missing(field, why="double opt-in requires it")
    asked = {"templateId": settings.template_id, "redirectionUrl": settings.redirection_url, "includeListIds": lists}
    return CONTACTS.post(settings, "doubleOptinConfirmation", {"email": email, "attributes": attributes, **asked})


def _identity(event: Event) -> tuple[Any, Any]:
    """Return e-mail address and phone number; either may be missing. Raises for invalid ones."""
    email, phone = value_of(event, EMAIL), value_of(event, PHONE)
    _check_email(email, "traits.email")
    if phone and not (isinstance(phone, str) and _PHONE.fullmatch(phone)):
        raise Misfit("traits.phone", "a number with its country code, such as +4915112345678", phone)
    return email, phone


def _check_email(email: Any, field: str) -> None:
    if email and not (isinstance(email, str) and is_strict_email(email)):
        raise Misfit(field, "an e-mail address", email)


def _address(email: Json, phone: Json) -> Json:
    """Return the e-mail address that identifies the contact in Sendinblue."""
    if email:
        return email
    if not isinstance(phone, str) or not phone:
        raise Missing("traits.email", "traits.phone")
    return f"{re.sub(r'^([+]|00)', '', phone)}@mailin-sms.com"


def _attributes(traits: Mapping[str, Json], event: Event, phone: Json) -> dict[str, Any]:
    """Return the traits under Sendinblue's names."""
    return {**without(traits, _KNOWN), **NAMES(event), **({"SMS": phone} if phone else {})}


def _rename(attributes: dict[str, Any], settings: SendinblueSettings) -> dict[str, Any]:
    """Return the attributes under the configured names."""
    for row in settings.contact_attribute_mapping:
        if row.to and attributes.get(row.from_):
            attributes[row.to] = attributes.pop(row.from_)
    return attributes


def _with_new_email(attributes: dict[str, Any], event: Event) -> dict[str, Any]:
    """Return the attributes of a contact, including a new e-mail address if there is one."""
    email = value_of(event, NEW_EMAIL)
    _check_email(email, "traits.newEmail")
    attributes.pop("newEmail", None)
    return {**attributes, **({"EMAIL": email} if email else {})}


def _membership(event: Event) -> dict[str, Any]:
    """Return the lists that the contact joins and leaves, and whether it is blocked from messages."""
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
