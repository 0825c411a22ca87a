"""Mailchimp: members of an audience, and what they do.

identify adds or updates the member with the event's e-mail address: Mailchimp is asked first whether it knows the
person, because somebody who unsubscribed must not be subscribed again. Traits travel as merge fields where the
configuration says so. track adds an event to the member, with texts as properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, Context, DestinationType, Method, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    CITY,
    CLIENT_TIME,
    COUNTRY,
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    STATE,
    Table,
    as_object,
    basic_auth,
    compact,
    converter,
    md5,
    required,
    string,
    text,
    time,
    trait,
    warehouse_row,
)
from svctoolkit.secrets import Secret

_STATUSES = ("subscribed", "unsubscribed", "cleaned", "pending", "transactional")


class MailchimpSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    audience_id: str
    datacenter_id: str
    enable_merge_fields: bool = False


destination = DestinationType(
    "Mailchimp",
    MailchimpSettings,
    docs="https://mailchimp.com/developer/marketing/api/list-members/add-or-update-list-member/",
    answers=[
        Answer("success", 204, "", at="/events"),
        Answer("success", 200, {"id": "852aaa9532cb36adfb5e9fef7a4206a9", "status": "subscribed"}),
        Answer("bad key", 401, {"title": "API Key Invalid", "status": 401, "detail": "Your API key may be invalid."}),
        Answer("rate limit", 429, {"title": "Too Many Requests", "status": 429, "detail": "More than 10 requests."}),
        Answer(
            "invalid field",
            400,
            {
                "title": "Invalid Resource",
                "status": 400,
                "detail": "Please provide a valid email address.",
                "errors": [{"field": "email_address", "message": "This value is not a valid email."}],
            },
        ),
    ],
)


@converter
def _iso_seconds(value: Any) -> str:
    return time.of(value).isoformat(timespec="seconds")


MEMBER = Table({"email_address": required(string(EMAIL))})
MERGE_FIELDS = Table(
    {
        "FNAME": FIRST_NAME,
        "LNAME": LAST_NAME,
        "PHONE": trait("phone"),
        "ADDRESS": {
            "addr1": trait("addressLine1", "address.street"),
            "addr2": trait("addressLine2"),
            "city": CITY,
            "state": STATE,
            "zip": trait("zip", "address.zip", "address.postalCode"),
            "country": COUNTRY,
        },
    }
)
ACTION = Table({"occurred_at": _iso_seconds(CLIENT_TIME), "is_syncing": "properties.isSyncing"})


@destination.on("identify")
def send_person(event: Event, settings: MailchimpSettings, context: Context) -> Payload:
    """Adds or updates the member. A warehouse's row, which is mapped already, is sent as it is."""
    if event.context.get("mappedToDestination"):
        return _warehouse_member(event, settings)
    member, audience = MEMBER(event), _audience(event, settings)
    if settings.enable_merge_fields:
        member |= compact({"merge_fields": _merge_fields(event)})
    place = f"/lists/{audience}/members/{_hash(member['email_address'])}"
    known = _lookup(context, settings, place)
    if known is None:
        twice = (_lookup(context, settings, f"/lists/{audience}") or {}).get("double_optin")
        status = "pending" if twice else "subscribed"
    else:
        now = known.get("status") if known.get("status") in _STATUSES else "subscribed"  # `archived` cannot be sent
        status = _check_status(destination.options(event).get("subscriptionStatus") or now, "subscriptionStatus")
    return _send("PUT", place, settings, {**member, "status": status})


@destination.on("track")
def send_event(event: Event, settings: MailchimpSettings) -> Payload:
    written = event.raw.get("event")
    name = "_".join(text(written).split()) if isinstance(written, str | int | float) else ""
    if not 2 <= len(name) <= 30:
        raise MappingError(f"event: Mailchimp takes names of 2 to 30 characters, got {name!r}", field="event")
    member = _hash(MEMBER(event)["email_address"])
    own = {k: text(v) for k, v in ACTION.rest(event.properties, "properties").items() if v is not None}
    body = {"name": name, **ACTION(event), **({"properties": own} if own else {})}
    return _send("POST", f"/lists/{_audience(event, settings)}/members/{member}/events", settings, body)


def _warehouse_member(event: Event, settings: MailchimpSettings) -> Payload:
    """`externalId` names the audience (`MAILCHIMP-<audience>`) and the person; the traits are Mailchimp's fields."""
    row = warehouse_row(event)
    address, audience = row.id, row.object or settings.audience_id
    if not isinstance(address, str) or not address:
        raise MappingError("needs a value at context.externalId.0.id", field="context.externalId.0.id")
    body = {**event.traits, row.field or "email_address": address}
    if "status" in body:
        _check_status(body["status"], "traits.status")
    return _send("PUT", f"/lists/{audience}/members/{_hash(address)}", settings, body)


def _merge_fields(event: Event) -> dict[str, Any]:
    """Mailchimp's usual fields, then one for each other trait; an incomplete address would refuse the member."""
    merged = MERGE_FIELDS(event)
    if not merged.get("ADDRESS", {}).keys() >= {"addr1", "city", "state", "zip"}:
        merged.pop("ADDRESS", None)
    for key, value in MERGE_FIELDS.rest(event.traits, "traits").items():
        tag = re.sub(r"[^0-9A-Za-z]", "", key)[:10].upper()
        if key != "email" and tag and isinstance(value, str | int | float) and value != "":
            merged.setdefault(tag, value)
    return merged


def _audience(event: Event, settings: MailchimpSettings) -> str:
    return text(destination.options(event).get("listId") or settings.audience_id)


def _hash(address: str) -> str:
    return md5(address.lower())


def _check_status(status: Any, where: str) -> str:
    if status not in _STATUSES:
        raise MappingError(f"{where}: expected one of {', '.join(_STATUSES)}, got {status!r}", field=where)
    return str(status)


def _lookup(context: Context, settings: MailchimpSettings, place: str) -> Mapping[str, Any] | None:
    """What Mailchimp knows of a member or an audience; None when it knows no such thing."""
    request = {"method": "GET", "url": _url(settings, place), "headers": _headers(settings)}
    answer = context.ask(request, may_miss=True)
    return None if answer is None else as_object(answer)


def _url(settings: MailchimpSettings, place: str) -> str:
    return f"https://{settings.datacenter_id}.api.mailchimp.com/3.0{place}"


def _headers(settings: MailchimpSettings) -> dict[str, str]:
    key = basic_auth("apiKey", settings.api_key.reveal())  # Mailchimp takes any user name
    return {"Content-Type": "application/json", "Authorization": key}


def _send(method: Method, place: str, settings: MailchimpSettings, body: Mapping[str, Any]) -> Payload:
    return Payload(endpoint=_url(settings, place), method=method, headers=_headers(settings), json=body)
