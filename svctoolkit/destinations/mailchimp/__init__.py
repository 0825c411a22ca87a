"""Mailchimp: members of an audience and their events.

identify adds or updates the member with the event's e-mail address. It first looks up the member, because members who
unsubscribed must not be subscribed again. Traits are sent as merge fields if the configuration says so. track adds an
event to the member, with strings as properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Header, Payload
from svctoolkit.destinations.mailchimp._batches import batch
from svctoolkit.destinations.mailchimp._settings import MailchimpSettings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    LAST_NAME,
    TIME,
    Misfit,
    Table,
    as_object,
    basic_auth,
    compact,
    converter,
    first,
    javascript_text,
    js_join,
    md5,
    moment,
    required,
    string,
    text,
    trait,
    value_of,
    warehouse_id,
    warehouse_row,
)

_STATUSES = ("subscribed", "unsubscribed", "cleaned", "pending", "transactional")


destination = DestinationType(
    "Mailchimp",
    MailchimpSettings,
    docs="https://mailchimp.com/developer/marketing/api/list-members/add-or-update-list-member/",
    quirks=[
        "If the traits contain part of an address, the event is rejected unless addressLine1, city, state and zip are "
        "all present.",
        "Events are sent to the MD5 hash of the address as it is, members to that of the address in lower case.",
        "In the properties of an event, null is sent as the string null.",
        "Batches of members go to the configured audience, even if an event names its own list.",
        "The trait birthday loses its first five characters, the year: `2000-05-17` is sent as `05/17`.",
    ],
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
    differences=["An e-mail address that is a number is converted to a string; a list or an object is rejected."],
    needs=["lookup"],
)

API = Endpoint(
    "https://{datacenter_id}.api.mailchimp.com/3.0",
    JSON,
    # Mailchimp accepts any user name.
    Header("Authorization", lambda settings: basic_auth("apiKey", settings.api_key.reveal())),
)
destination.batch(batch, may_refuse=False)


@converter
def iso_seconds(value: Json) -> str | None:
    """Convert to a time in whole seconds; a number is read as milliseconds. Other values are left out."""
    when = moment(value)
    return None if when is None else when.isoformat(timespec="seconds")


@converter
def birthday(value: Json) -> Json:
    """Convert a date, `2000-05-17`, to `05/17`: any text loses the five characters of the year."""
    return value[5:].replace("-", "/", 1) if isinstance(value, str) else value


MEMBER = Table({"email_address": required(string(EMAIL))})
ADDRESSEE = Table({"email_address": required(EMAIL_OR_EXTERNAL_ID)})
ADDRESS = Table(
    {
        "addr1": trait("addressLine1", "address.addressLine1", "merge_fields.ADDRESS.addr1"),
        "addr2": trait("addressLine2", "address.addressLine2", "merge_fields.ADDRESS.addr2"),
        "city": trait("city", "address.city", "merge_fields.ADDRESS.city"),
        "state": trait("state", "address.state", "merge_fields.ADDRESS.state"),
        "zip": trait("zip", "address.zip", "merge_fields.ADDRESS.zip"),
        "country": trait("country", "address.country", "merge_fields.ADDRESS.country"),
    }
)
MERGE_FIELDS = Table(
    {
        "FNAME": FIRST_NAME,
        "LNAME": LAST_NAME,
        "PHONE": trait("phone"),
        "BIRTHDAY": birthday(trait("birthday")),
    }
)
ACTION = Table({"occurred_at": iso_seconds(TIME), "is_syncing": "properties.isSyncing"})
LIST = first("context.MailChimp.listId")
_NEEDED = ("addr1", "city", "state", "zip")


@destination.on("identify")
def send_person(event: Event, settings: MailchimpSettings, context: Context) -> Payload:
    """Add or update the member. A warehouse row is already mapped, and is sent unchanged."""
    if event.context.get("mappedToDestination"):
        return _warehouse_member(event, settings)
    member, audience, address = MEMBER(event), _audience(event, settings), ADDRESS(event)
    if address and not all(key in address for key in _NEEDED):
        raise Misfit("traits.address", "an address with addressLine1, city, state and zip", address)
    if settings.enable_merge_fields:
        member |= compact({"merge_fields": _merge_fields(event, address)})
    place = f"lists/{audience}/members/{_hash(member['email_address'])}"
    known = _lookup(context, settings, place, may_miss=True)
    if known is None:
        double_optin = as_object(_lookup(context, settings, f"lists/{audience}")).get("double_optin")
        status = "pending" if double_optin else "subscribed"
    else:
        now = known.get("status") if known.get("status") in _STATUSES else "subscribed"  # `archived` cannot be sent
        status = _check_status(destination.options(event).get("subscriptionStatus") or now, "subscriptionStatus")
    return API.put(settings, place, {**member, "status": status})


@destination.on("track")
def send_action(event: Event, settings: MailchimpSettings) -> Payload:
    """Return an event of the member, with properties as strings, which Mailchimp requires."""
    value = event.raw.get("event")
    name = "" if value is None else "_".join(javascript_text(value).split())
    if not 2 <= len(name) <= 30:
        raise Misfit("event", "a name of 2 to 30 characters", name)
    member, body = _hash_bytes(ADDRESSEE(event)["email_address"]), {"name": name, **ACTION(event)}
    if isinstance(event.raw.get("properties"), dict):
        body["properties"] = {k: text(v) for k, v in event.properties.items() if k != "isSyncing"}
    return API.post(settings, f"lists/{_audience(event, settings)}/members/{member}/events", body)


def _warehouse_member(event: Event, settings: MailchimpSettings) -> Payload:
    """Return the member of a warehouse row; the traits are Mailchimp's fields.

    `externalId` contains the audience (`MAILCHIMP-<audience>`) and the member. Without it, the trait `email` identifies
    the member.
    """
    row = warehouse_row(event)
    body = {**event.traits, **warehouse_id(event, "email_address")}
    if "status" in body:
        _check_status(body["status"], "traits.status")
    address = text(row.id or MEMBER(event)["email_address"])
    return API.put(settings, f"lists/{row.object or settings.audience_id}/members/{_hash(address)}", body)


def _merge_fields(event: Event, address: Mapping[str, Any]) -> dict[str, Any]:
    """Return Mailchimp's usual fields, then one for each other trait."""
    fields = {**MERGE_FIELDS(event), **compact({"ADDRESS": address})}
    rest = MERGE_FIELDS.rest(ADDRESS.rest(event.traits, "traits"), "traits")
    if "last_name" in event.traits:
        rest["last_name"] = event.traits["last_name"]
    for key, value in rest.items():
        tag = re.sub(r"[^0-9A-Za-z_]", "", key)[:10].upper()
        if key != "email" and tag and not (value and isinstance(value, (dict, list))):
            fields.setdefault(tag, value)
    return fields


def _audience(event: Event, settings: MailchimpSettings) -> str:
    """Return the audience: `context.MailChimp.listId` of the event, else that of the configuration."""
    return js_join(value_of(event, LIST) or settings.audience_id)


def _hash(address: str) -> str:
    return md5(address.lower())


def _hash_bytes(address: Json) -> str:
    """Return the MD5 of a string, and of any other value as RudderStack does: each character or item is a byte.

    Characters other than digits are zero bytes, so 42 is hashed as the bytes 4 and 2.
    """
    if isinstance(address, str):
        return md5(address)
    items = [js_join(item) for item in address] if isinstance(address, list) else javascript_text(address)
    # Latin-1 text would become two bytes in UTF-8; bytes below 128 are the same in both
    return md5(
        "".join(
            chr(int(item) % 128) if len(item) < 20 and item.isascii() and item.isdecimal() else "\0" for item in items
        )
    )


def _check_status(status: Any, where: str) -> str:
    if status not in _STATUSES:
        raise Misfit(where, f"one of {', '.join(_STATUSES)}", status)
    return str(status)


def _lookup(
    context: Context, settings: MailchimpSettings, place: str, *, may_miss: bool = False
) -> Mapping[str, Any] | None:
    """Look up a member or an audience; None if it does not exist and `may_miss` is true."""
    answer = context.ask(API.lookup(settings, place), may_miss=may_miss, field="traits.email")
    return None if answer is None else as_object(answer)
