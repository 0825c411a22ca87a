"""Kustomer: customers and their events.

identify updates the customer given by an external ID of type `kustomerId`, or found in Kustomer by e-mail address, user
ID or anonymous ID; otherwise it creates one. track, page and screen are events of a customer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    USER_ID,
    Missing,
    Table,
    as_object,
    first,
    js_join,
    json_text,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_HOSTS = Literal["https://api.kustomerapp.com", "https://api.prod2.kustomerapp.com"]


class KustomerSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("")
    base_endpoint: _HOSTS = "https://api.kustomerapp.com"
    advanced_transform: bool = False
    set_identity_email: bool = False
    generic_page: bool = False
    generic_screen: bool = False


destination = DestinationType(
    "Kustomer",
    KustomerSettings,
    docs="https://developer.kustomer.com/kustomer-api-docs/reference/createcustomer",
    quirks=[
        "The first external ID of any type is used as e-mail address if there is none.",
        "`disableEmailAsTrackingProperty` has no effect: RudderStack does not read it.",
        "An event without a user is sent with the ID null.",
        "Advanced transformations send lists as JSON strings without the brackets.",
    ],
    answers=[
        Answer("success", 200, {"data": {"type": "customer", "id": "60193d9271a28a8ad9c1a5a1"}}),
        Answer("bad key", 401, {"errors": [{"status": 401, "code": "unauthorized", "title": "unauthorized"}]}),
        Answer("rate limit", 429, {"errors": [{"status": 429, "code": "rate_limited", "title": "too many requests"}]}),
        Answer("invalid field", 400, {"errors": [{"status": 400, "code": "bad_request", "title": "invalid value"}]}),
    ],
    needs=["lookup"],
)

API = Endpoint("{base_endpoint}/v1", JSON, bearer("api_key"))

CUSTOMER = Table(
    {
        "name": trait("name"),
        "externalId": ANY_ID,
        "username": trait("userName"),
        "company": first(
            "traits.company.name", "traits.company", "context.traits.company.name", "context.traits.company"
        ),
        "signedUpAt": trait("createdAt"),
        "lastActivityAt": trait("lastActivityAt"),
        "lastCustomerActivityAt": trait("lastCustomerActivityAt"),
        "lastSeenAt": trait("lastSeenAt"),
        "importedAt": trait("importedAt"),
        "avatarUrl": trait("avatar"),
        "gender": trait("gender"),
        "tags": trait("tags"),
        "locale": "context.locale",
        "emails": trait("emails"),
        "phones": trait("phones"),
        "socials": trait("socials"),
        "birthdayAt": first(trait("dob"), trait("birthday")),
        "custom": trait("customObject"),
        "sentiment": trait("sentiment"),
        "whatsapps": trait("whatsapps"),
        "facebookIds": trait("facebookIds"),
        "instagramIds": trait("instagramIds"),
        "timeZone": trait("timeZone"),
        "defaultLang": trait("defaultLanguage"),
        "rev": trait("rev"),
    }
)
ADDRESS, WEBSITE = trait("address"), trait("website")
ACTION = Table(
    {
        "sessionId": first("properties.kustomerSessionId", "properties.kustomer_session_id", "context.sessionId"),
        "trackingId": first("properties.kustomerTrackingId", "properties.kustomer_tracking_id"),
    }
)
NAME = first("event", "properties.event", "name", "properties.name")
_NOT_META = frozenset({"kustomerSessionId", "kustomer_session_id", "kustomerTrackingId", "kustomer_tracking_id"})
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)")


@destination.on("identify")
def send_customer(event: Event, settings: KustomerSettings, context: Context) -> Payload:
    """Update the customer if it exists in Kustomer; otherwise create it."""
    customer_id = _customer_id(event, settings, context)
    if customer_id is None:
        return API.post(settings, "customers", _customer(event))
    return API.put(settings, f"customers/{js_join(customer_id)}?replace=false", _customer(event))


def _customer(event: Event) -> dict[str, Any]:
    body = CUSTOMER(event)
    names = [value_of(event, FIRST_NAME), value_of(event, LAST_NAME)]
    if "name" not in body and all(names):
        body["name"] = " ".join(map(js_join, names))
    for key, member, source in (("emails", "email", EMAIL_OR_EXTERNAL_ID), ("phones", "phone", PHONE)):
        value = value_of(event, source)
        if key not in body and value is not None:
            body[key] = [{"type": "home", member: value}]
    website, address = value_of(event, WEBSITE), _address(value_of(event, ADDRESS))
    if website is not None:
        body["urls"] = [{"url": website}]
    if address:
        body["locations"] = [{"type": "home", "address": address}]
    return body


def _address(address: Any) -> str:
    """Return the address in one line: a string as it came, or street, city, state and postal code of an object."""
    if isinstance(address, str):
        return address
    words = [as_object(address).get(key) for key in ("street", "city", "state", "postalCode")]
    return " ".join(js_join(word) if word else "" for word in words) if any(words) else ""


def _customer_id(event: Event, settings: KustomerSettings, context: Context) -> Any:
    """Return Kustomer's ID of the customer; None if the customer does not exist."""
    listed = event.context.get("externalId")
    for item in listed if isinstance(listed, list) else []:
        if as_object(item).get("type") == "kustomerId" and item.get("id"):
            return item["id"]
    for name, source in (("email", EMAIL_OR_EXTERNAL_ID), ("externalId", USER_ID), ("externalId", "anonymousId")):
        value = value_of(event, source)
        if value is None:
            continue
        answer = context.ask(
            API.lookup(settings, f"customers/{name}={js_join(value)}"),
            may_miss=True,
            field=source if isinstance(source, str) else source.paths[0],
        )
        customer_id = as_object(as_object(answer).get("data")).get("id")
        if customer_id:
            return customer_id
    return None


@destination.on("track")
def send_action(event: Event, settings: KustomerSettings) -> Payload:
    """Return an event with its name."""
    name = value_of(event, "event")
    if name is None:
        raise Missing("event")
    return _send_action(event, settings, name)


@destination.on("page", "screen")
def send_view(event: Event, settings: KustomerSettings) -> Payload:
    """Return an event `Web-Page-Viewed` or `Screen-Viewed`, with the page name unless the settings say otherwise."""
    is_page = event.type == "page"
    generic = settings.generic_page if is_page else settings.generic_screen
    name = None if generic else value_of(event, NAME)
    view = "Web-Page-Viewed" if is_page else "Screen-Viewed"
    return _send_action(event, settings, view if name is None else f"{view}-{js_join(name)}".strip())


def _send_action(event: Event, settings: KustomerSettings, name: Any) -> Payload:
    identity = {"externalId": value_of(event, ANY_ID)}
    email = value_of(event, EMAIL) if settings.set_identity_email else None
    if email is not None:
        identity["email"] = email
    action = {"name": name, **ACTION(event)}
    if isinstance(event.raw.get("properties"), dict):
        meta = {key: value for key, value in event.properties.items() if key not in _NOT_META}
        action["meta"] = dict(_attributes(meta)) if settings.advanced_transform else meta
    return API.post(settings, "tracking/identityEvent", {"identity": identity, "event": action})


def _attributes(meta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield custom attributes, with the type suffix that Kustomer requires: `priceNum`, `bornAt`."""
    for key, value in meta.items():
        if isinstance(value, list):
            yield key, json_text(value)[1:-1]
        elif isinstance(value, (bool, dict)):
            yield key, json_text(value)
        elif isinstance(value, (int, float)):
            yield key if key.endswith("Num") else f"{key}Num", value
        elif isinstance(value, str) and _TIME.fullmatch(value):
            yield key if key.endswith("At") else f"{key}At", value
        else:
            yield key, value
