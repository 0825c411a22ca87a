"""Attentive: subscribers, their attributes, and their e-commerce events.

identify subscribes a user, or unsubscribes with `identifyOperation: unsubscribe` in the event's integrations. With the
new identify flow it joins the user's identifiers and sets custom attributes instead, and the track event
`subscription_event` updates the user's channels. Other track events become e-commerce events or custom events; they
must not be older than 12 hours. https://docs.attentive.com/reference

Decisions. As in RudderStack, a price that is not a number is sent as null, and an invalid time is sent unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings, bearer
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    PHONE,
    TIME,
    Misfit,
    Missing,
    Table,
    as_object,
    check_age,
    compact,
    converter,
    event_name,
    moment,
    required,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.secrets import Secret

_SHOP = {
    "product list viewed": "product-view",
    "product viewed": "product-view",
    "product added": "add-to-cart",
    "order completed": "purchase",
}
_CONTACTS = {"sms": "phone", "email": "email"}
_WHOLE = re.compile(r"\s*[+-]?\d+", re.ASCII)
_NOT_IN_KEYS = set("'\"{}[]\\,")


class AttentiveSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    sign_up_source_id: str = ""
    enable_new_identify_flow: bool = False


destination = DestinationType(
    "Attentive Tag",
    AttentiveSettings,
    docs="https://docs.attentive.com/reference",
    names=("attentive_tag",),
    quirks=[
        "The time of an event is sent as occuredAt; Attentive reads occurredAt, and so uses the time of arrival.",
        "Prices are cut to whole numbers.",
        "Attributes, e-mail address and telephone number come from the event's own traits if it has any,"
        " else from those of the context.",
        "Identifiers are joined only if one of them is clientUserId or customIdentifiers.",
    ],
    answers=[
        Answer("success", 202, "", at="/v1/subscriptions"),
        Answer("success", 200, ""),
        Answer("bad key", 401, {"message": "Unauthorized"}),
        Answer("rate limit", 429, {"message": "The user has sent too many requests in a given amount of time"}),
        Answer("invalid field", 400, {"message": "Invalid parameter in request query or body"}),
    ],
    needs=["clock"],
)

API = Endpoint("https://api.attentivemobile.com/v1", bearer("api_key"), JSON)


@converter
def listed(value: Json) -> Json:
    """Return a list; anything else is left out."""
    return value if isinstance(value, list) else ""


CONTACT = Table({"phone": PHONE, "email": EMAIL})
IDENTIFIERS = Table(
    {
        "clientUserId": "context.externalId.clientUserId",
        "shopifyId": "context.externalId.shopifyId",
        "klaviyoId": "context.externalId.klaviyoId",
        "customIdentifiers": listed(trait("customIdentifiers")),
    }
)
USER = Table(
    {
        "phone": PHONE,
        "email": EMAIL,
        "externalIdentifiers": {
            "clientUserId": "context.externalId.clientUserId",
            "shopifyId": "context.externalId.shopifyId",
            "klaviyoId": "context.externalId.klaviyoId",
            "customIdentifiers": listed(trait("customIdentifiers")),
        },
    }
)
ITEM = Table(
    {
        "productId": required("product_id"),
        "productVariantId": required("variant"),
        "name": "name",
        "productImage": "image_url",
        "productUrl": "url",
        "quantity": "quantity",
    },
    of="properties.products",
)
CUSTOM = Table({"externalEventId": "properties.eventId"})
_PAST = timedelta(hours=12)
_time, _client_user_id = getter(TIME), getter("context.externalId.clientUserId")
#: traits that are not sent as attributes
_NO_ATTRIBUTES = frozenset({"phone", "email", "customIdentifiers"})


@destination.on("identify")
def send_person(event: Event, settings: AttentiveSettings) -> Iterator[Payload]:
    """Subscribe or unsubscribe; in the new flow join identifiers and set attributes."""
    if settings.enable_new_identify_flow:
        yield from _person(event, settings)
        return
    user, options = CONTACT(event), destination.options(event)
    _check_contact(user)
    if str(options.get("identifyOperation")).lower() == "unsubscribe":
        change = {key: options.get(key) for key in ("subscriptions", "notification")}
        yield API.post(settings, "subscriptions/unsubscribe", {"user": user, **compact(change)})
    else:
        yield API.post(settings, "subscriptions", {"user": user, **_source(event, settings), **_external(event)})


@destination.on("track")
def send_event(event: Event, settings: AttentiveSettings, context: Context) -> Iterator[Payload]:
    """Return e-commerce events for names of the e-commerce specification, and custom events for others."""
    name = event_name(event)
    if name == "subscription_event":
        yield from _subscriptions(event, settings)
        return
    body: dict[str, Any] = {"user": USER(event), **_occurrence(event, context)}
    kind = _SHOP.get(name.strip().lower())
    if kind:
        yield API.post(settings, f"events/ecommerce/{kind}", {**body, "items": _items(event)})
    else:
        strange = [key for key in event.properties if _NOT_IN_KEYS & set(key)]
        if strange:
            raise Misfit("properties", "no quotes, brackets, backslashes or commas in its keys", strange[0])
        custom = {"type": name, **CUSTOM(event)}
        if "properties" in event.raw:
            custom["properties"] = dict(event.properties)
        yield API.post(settings, "events/custom", {**body, **custom})


def _items(event: Event) -> list[dict[str, Any]]:
    """Return the products, or the single product in the properties."""
    products, where = event.properties.get("products"), "properties.products"
    if products is not None and (not products or not isinstance(products, list)):
        raise Misfit(where, "a list of products", products)
    items = []
    for product in products or [event.properties]:
        price: dict[str, Any] = {"value": _whole(as_object(product).get("price"))}
        if "currency" in as_object(product):
            price["currency"] = product["currency"]
        items.append({**ITEM(as_object(product)), "price": [price]})
    return items


def _whole(price: Any) -> int | None:
    """Return the integer at the beginning of a price."""
    digits = _WHOLE.match(str(price)) if type(price) in (int, float, str) else None
    return int(digits[0]) if digits else None


def _person(event: Event, settings: AttentiveSettings) -> Iterator[Payload]:
    identifiers = {**CONTACT(event), **IDENTIFIERS(event)}
    traits = event.traits
    contact = {key: traits[key] for key in ("phone", "email") if traits.get(key)}
    external = {"clientUserId": _client_user_id(event.raw), "customIdentifiers": traits.get("customIdentifiers")}
    external = {key: value for key, value in external.items() if value is not None and value != ""}
    user = {**contact, **compact({"externalIdentifiers": external})}
    attributes = {key: value for key, value in traits.items() if value is not None and key not in _NO_ATTRIBUTES}
    joins = len(identifiers) > 1 and not identifiers.keys().isdisjoint(("clientUserId", "customIdentifiers"))
    if not joins and not (user and attributes):
        raise Missing(
            "traits", wants="two identifiers to join (phone, email, externalId), or one of them and attributes to set"
        )
    if joins:
        yield API.post(settings, "identity-resolution/user-identifiers", identifiers)
    if user and attributes:
        yield API.post(settings, "attributes/custom", {"user": user, "properties": attributes})


def _subscriptions(event: Event, settings: AttentiveSettings) -> Iterator[Payload]:
    where = "properties.channelConsents"
    consents, contact = event.properties.get("channelConsents"), CONTACT(event)
    if not isinstance(consents, list):
        raise Misfit(where, "a list of {channel, consented}", consents)
    _check_contact(contact)
    consented: dict[str, Any] = {}
    refused: dict[str, Any] = {}
    ended = []
    for consent in map(as_object, consents):
        channel, answer = str(consent.get("channel")).lower(), consent.get("consented")
        key = _CONTACTS.get(channel, "")
        if key in contact and isinstance(answer, bool):
            (consented if answer else refused)[key] = contact[key]
        if answer is False and consent.get("type"):
            ended.append({"type": consent["type"], "channel": "TEXT" if channel == "sms" else "EMAIL"})
    if not consented and not refused:
        raise Misfit(where, "a channel (email or sms) for which the person has an address", consents, case="channel")
    if consented:
        yield API.post(settings, "subscriptions", {"user": consented, **_source(event, settings)})
    if refused:
        change = {"subscriptions": ended, "notification": event.properties.get("notification")}
        yield API.post(settings, "subscriptions/unsubscribe", {"user": refused, **compact(change)})


def _check_contact(contact: Mapping[str, Any]) -> None:
    """Drop addresses that are numbers."""
    if all(not isinstance(address, (str, list, dict)) for address in contact.values()):
        raise Missing("traits.phone", "traits.email")


def _source(event: Event, settings: AttentiveSettings) -> dict[str, Any]:
    options = destination.options(event)
    source = event.properties.get("signUpSourceId") or options.get("signUpSourceId") or settings.sign_up_source_id
    if not source:
        raise Missing(
            "integrations.attentive_tag.signUpSourceId", setting="signUpSourceId", why="or set it in the configuration"
        )
    return {"signUpSourceId": source}


def _external(event: Event) -> dict[str, Any]:
    return compact({"externalIdentifiers": IDENTIFIERS(event)})


def _occurrence(event: Event, context: Context) -> dict[str, Any]:
    timestamp = _time(event.raw)
    when = moment(timestamp)
    if when is not None:
        check_age(when, context.clock(), past=_PAST)
    return {} if timestamp is None else {"occuredAt": timestamp}
