"""Mautic: contacts, and the segments, companies and campaigns that they belong to.

identify creates a contact, or updates the one given by `mauticContactId` in the external IDs, or the one that Mautic
finds by the look-up field. group adds the contact to the segment, company or campaign with the group ID, or removes
it. The traits `operation` and `type` select the action and the kind of group.
https://developer.mautic.org/#rest-api
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import is_strict_email
from svctoolkit.mapping import (
    ANY_POSTAL_CODE,
    EMAIL,
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    TIME,
    Misconfigured,
    Misfit,
    Missing,
    NotFound,
    Table,
    as_object,
    converter,
    js_join,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_PHONE = re.compile(r"[1-9][0-9]{9,14}", re.ASCII)
_LINE = 64
_CHOICES = {
    "title": ("mr", "mrs", "miss"),
    "haspurchased": ("yes", "no"),
    "role": ("individual contributor", "manager", "director", "vp", "c level"),
    "subscription_status": ("new", "existing"),
    "prospect_or_customer": ("prospect", "customer"),
}
_GROUPS = ("segments", "companies", "campaigns")


class MauticSettings(Settings, frozen=True, kw_only=True):
    user_name: str
    password: Secret
    sub_domain_name: str | None = None
    domain_name: str | None = None
    domain_method: Literal["subDomainNameOption", "domainNameOption"] = "subDomainNameOption"
    look_up_field: str

    def __post_init__(self) -> None:
        if not self.sub_domain_name and not self.domain_name:
            raise ValueError("subDomainName or domainName: is required")

    @property
    def server(self) -> str:
        """The address of the account; without a `domainName` that of `subDomainName`, and `undefined` without it."""
        if self.domain_method == "domainNameOption" and self.domain_name is not None:
            return self.domain_name
        return f"https://{'undefined' if self.sub_domain_name is None else self.sub_domain_name}.mautic.net"


destination = DestinationType(
    "Mautic",
    MauticSettings,
    docs="https://developer.mautic.org/#rest-api",
    quirks=[
        "An address is split into two lines of 64 characters, unless it has addressLine1 and addressLine2.",
        "IDs of contacts and groups are not escaped in the URL.",
        "If the look-up field is email, a contact without an e-mail address is looked up by the first external ID.",
    ],
    answers=[
        Answer("success", 200, {"success": 1}, at="/contact/"),
        Answer("success", 201, {"contact": {"id": 247}}),
        Answer("bad key", 401, {"errors": [{"code": 401, "message": "API authorization denied."}]}),
        Answer("rate limit", 429, {"errors": [{"code": 429, "message": "API rate limit exceeded."}]}),
        Answer("invalid field", 400, {"errors": [{"code": 400, "message": "email: is not valid"}]}),
    ],
    differences=[
        "Events are rejected if the server name is missing; RudderStack sends them to `.mautic.net`.",
        "For fields with fixed choices, only one choice each was observed: the others come from Mautic's contact form.",
    ],
    needs=["lookup"],
)

API = Endpoint("{server}/api", JSON, basic("user_name", "password"))


@converter
def state(value: Json) -> Json:
    """Capitalize a string; leave anything else unchanged."""
    return value[:1].upper() + value[1:] if isinstance(value, str) else value


CONTACT = Table(
    {
        "email": EMAIL,
        "title": trait("title"),
        "firstname": FIRST_NAME,
        "lastname": LAST_NAME,
        "phone": PHONE,
        "website": trait("website"),
        "city": trait("address.city", "city"),
        "state": state(trait("state")),
        "zipcode": ANY_POSTAL_CODE,
        "ipAddress": "context.ip",
        "last_active": TIME,
        "country": trait("country"),
        "haspurchased": trait("hasPurchased"),
        "role": trait("role"),
        "subscription_status": trait("subscriptionStatus"),
        "prospect_or_customer": trait("prospectOrCustomer"),
    }
)
ADDRESS = trait("address")
CONTACT_ID = "context.externalId.mauticContactId"
_LOOKUP = {**CONTACT.shape, "email": EMAIL_OR_EXTERNAL_ID}


@destination.on("identify")
def send_contact(event: Event, settings: MauticSettings, context: Context) -> Payload:
    """Create or update the contact."""
    if event.raw.get("traits") is None and event.context.get("traits") is None:
        raise Missing("traits", "context.traits", wants="the fields of a contact")
    contact = {**CONTACT(event), **_address(value_of(event, ADDRESS))}
    _check(contact)
    known = _contact_id(event, settings, context)
    if known is None:
        return API.post(settings, "contacts/new", contact)
    return API.request(settings, "PATCH", f"contacts/{js_join(known)}/edit", contact)


@destination.on("group")
def send_membership(event: Event, settings: MauticSettings, context: Context) -> Payload:
    """Add the contact to a segment, company or campaign, or remove it."""
    traits = as_object(event.raw.get("traits"))
    kind, operation = traits.get("type"), traits.get("operation") or "add"
    if not isinstance(kind, str) or kind.lower() not in _GROUPS:
        raise Misfit("traits.type", "one of Segments, Companies, Campaigns", kind)
    if operation not in ("add", "remove"):
        raise Misfit("traits.operation", "add or remove", operation)
    group = event.raw.get("groupId")
    if group is None or group == "":
        raise Missing("groupId")
    contact = _contact_id(event, settings, context, several=False)
    if contact is None:
        raise NotFound("contact in Mautic", field=settings.look_up_field, setting="lookUpField")
    return API.post(settings, f"{kind.lower()}/{js_join(group)}/contact/{js_join(contact)}/{operation}")


def _address(address: Json) -> dict[str, Any]:
    """Return the two lines of an address."""
    if isinstance(address, dict) and "addressLine1" in address and "addressLine2" in address:
        lines = {"address1": address["addressLine1"], "address2": address["addressLine2"]}
        return {key: line for key, line in lines.items() if line is not None}
    if isinstance(address, (dict, list)):
        parts = address.values() if isinstance(address, dict) else address
        address = "".join(f"{js_join(part)} " for part in parts)
    if not address:
        return {}
    line = js_join(address)
    return {"address1": line[:_LINE], "address2": line[_LINE : 2 * _LINE]}


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None


def _check(contact: Mapping[str, Any]) -> None:
    """Raise for values that Mautic's fields do not accept."""
    for field, is_valid in (("email", is_strict_email), ("phone", _is_phone)):
        value = contact.get(field)
        if value is not None and not (isinstance(value, str) and is_valid(value)):
            raise Misfit(f"traits.{field}", "a value that Mautic accepts", value)
    for field, choices in _CHOICES.items():
        value = contact.get(field)
        if value is not None and not (isinstance(value, str) and value.lower() in choices):
            raise Misfit(field, f"one of {', '.join(choices)}", value)


def _contact_id(event: Event, settings: MauticSettings, context: Context, *, several: bool = True) -> Json:
    """Return the contact's Mautic ID: from the event, else that of the first contact found by the look-up field.

    Without a value of this field, contacts are found by e-mail address.
    Raises `NotFound` if more than one contact is found, unless `several` are accepted.
    """
    own = value_of(event, CONTACT_ID)
    if own:
        return own
    field = settings.look_up_field.lower()
    leaf = _LOOKUP.get(field)
    if leaf is None or isinstance(leaf, Mapping):
        raise Misconfigured("lookUpField", f"cannot be {settings.look_up_field}: Mautic does not search contacts by it")
    value = value_of(event, leaf)
    if not value:
        field, value = "email", value_of(event, EMAIL_OR_EXTERNAL_ID)
    if not value:
        return None
    query = (
        f"where%5B0%5D%5Bcol%5D={field}&where%5B0%5D%5Bexpr%5D=eq&where%5B0%5D%5Bval%5D={quote(js_join(value), '@')}"
    )
    answer = as_object(context.ask(API.lookup(settings, f"contacts?{query}"), setting="lookUpField"))
    contacts = as_object(answer.get("contacts"))
    if len(contacts) > 1 and not several:
        raise NotFound("only one contact in Mautic", value, field=field, setting="lookUpField", case="several")
    return next(iter(contacts), None)
