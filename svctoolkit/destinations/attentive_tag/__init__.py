"""Attentive: subscribers, who they are, and what they do in a shop.

identify subscribes a person, or unsubscribes with `identifyOperation: unsubscribe` in the event's integrations. With
the new identify flow it joins the person's identifiers and sets custom attributes instead, and the track event
`subscription_event` says which channels the person wants. Other track events become shop events or custom events; they
must not be older than 12 hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    PHONE,
    TIME,
    Table,
    as_object,
    check_age,
    compact,
    event_name,
    iso_ms,
    number,
    products,
    required,
    time,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_API = "https://api.attentivemobile.com/v1"
_SHOP = {
    "product list viewed": "product-view",
    "product viewed": "product-view",
    "product added": "add-to-cart",
    "order completed": "purchase",
}
_CHANNELS = {"sms": ("phone", "TEXT"), "email": ("email", "EMAIL")}
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
    answers=[
        Answer("success", 202, "", at="/v1/subscriptions"),
        Answer("success", 200, ""),
        Answer("bad key", 401, {"message": "Unauthorized"}),
        Answer("rate limit", 429, {"message": "The user has sent too many requests in a given amount of time"}),
        Answer("invalid field", 400, {"message": "Invalid parameter in request query or body"}),
    ],
)

WHEN = time(TIME)
CONTACT = Table({"phone": PHONE, "email": EMAIL})
IDENTIFIERS = Table(
    {
        "clientUserId": "context.externalId.clientUserId",
        "shopifyId": "context.externalId.shopifyId",
        "klaviyoId": "context.externalId.klaviyoId",
        "customIdentifiers": trait("customIdentifiers"),
    }
)
USER = Table(
    {
        "phone": PHONE,
        "email": EMAIL,
        "externalIdentifiers": {
            "clientUserId": "context.externalId.clientUserId",
            "customIdentifiers": trait("customIdentifiers"),
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
PRICE = Table({"value": required(number("price")), "currency": "currency"}, of="properties.products")
CUSTOM = Table({"externalEventId": "properties.eventId"})


@destination.on("identify")
def send_person(event: Event, settings: AttentiveSettings) -> Iterator[Payload]:
    """Subscribes or unsubscribes; in the new flow joins identifiers and sets attributes."""
    if settings.enable_new_identify_flow:
        yield from _person(event, settings)
        return
    user, options = CONTACT(event), destination.options(event)
    if not user:
        raise MappingError("needs a value at traits.phone or traits.email", field="traits.phone or traits.email")
    if options.get("identifyOperation") == "unsubscribe":
        change = {key: options.get(key) for key in ("subscriptions", "notification")}
        yield _post(settings, "/subscriptions/unsubscribe", {"user": user, **compact(change)})
    else:
        yield _post(settings, "/subscriptions", {"user": user, **_source(event, settings), **_external(event)})


@destination.on("track")
def send_event(event: Event, settings: AttentiveSettings, context: Context) -> Iterator[Payload]:
    """A shop event for each of the shop's names, a custom event for the others."""
    name = event_name(event)
    if name == "subscription_event":
        yield from _subscriptions(event, settings)
        return
    body: dict[str, Any] = {"user": USER(event), **_occurrence(event, context)}
    kind = _SHOP.get(name.strip().lower())
    if kind:
        items = products(event) or [event.properties]
        body["items"] = [{**ITEM(item), "price": [PRICE(item)]} for item in items]
        yield _post(settings, f"/events/ecommerce/{kind}", body)
    else:
        strange = [key for key in event.properties if _NOT_IN_KEYS & set(key)]
        if strange:
            raise MappingError(
                f"properties: Attentive takes no quotes, brackets, backslashes or commas in the key {strange[0]!r}",
                field="properties",
            )
        custom = {"type": name, "properties": dict(event.properties), **CUSTOM(event)}
        yield _post(settings, "/events/custom", {**body, **custom})


def _person(event: Event, settings: AttentiveSettings) -> Iterator[Payload]:
    identifiers = {**CONTACT(event), **IDENTIFIERS(event)}
    traits = {**as_object(event.context.get("traits")), **as_object(event.raw.get("traits"))}
    user, attributes = USER(event), IDENTIFIERS.rest(CONTACT.rest(traits, "traits"), "traits")
    if len(identifiers) < 2 and not (user and attributes):
        raise MappingError(
            "needs two identifiers to join (phone, email, externalId), or one and traits to set as attributes",
            field="traits",
        )
    if len(identifiers) > 1:  # one alone joins nothing
        yield _post(settings, "/identity-resolution/user-identifiers", identifiers)
    if user and attributes:
        yield _post(settings, "/attributes/custom", {"user": user, "properties": attributes})


def _subscriptions(event: Event, settings: AttentiveSettings) -> Iterator[Payload]:
    where = "properties.channelConsents"
    consents, contact = event.properties.get("channelConsents"), CONTACT(event)
    if not isinstance(consents, list):
        raise MappingError(f"{where}: expected a list of {{channel, consented}}", field=where)
    if not contact:
        raise MappingError("needs a value at traits.phone or traits.email", field="traits.phone or traits.email")
    wanted: dict[str, Any] = {}
    unwanted: dict[str, Any] = {}
    ended = []
    for consent in map(as_object, consents):
        key, channel = _CHANNELS.get(str(consent.get("channel")).lower(), ("", ""))
        if key in contact and isinstance(consent.get("consented"), bool):
            (wanted if consent["consented"] else unwanted)[key] = contact[key]
            if not consent["consented"] and consent.get("type"):
                ended.append({"type": consent["type"], "channel": channel})
    if not wanted and not unwanted:
        raise MappingError(f"{where}: has no channel (email, sms) that the person has an address for", field=where)
    if wanted:
        yield _post(settings, "/subscriptions", {"user": wanted, **_source(event, settings)})
    if unwanted:
        change = {"subscriptions": ended, "notification": event.properties.get("notification")}
        yield _post(settings, "/subscriptions/unsubscribe", {"user": unwanted, **compact(change)})


def _source(event: Event, settings: AttentiveSettings) -> dict[str, Any]:
    options = destination.options(event)
    found = event.properties.get("signUpSourceId") or options.get("signUpSourceId") or settings.sign_up_source_id
    if not found:
        raise MappingError(
            "needs signUpSourceId: set it in the configuration or in the event's integrations",
            field="integrations.attentive_tag.signUpSourceId",
        )
    return {"signUpSourceId": found}


def _external(event: Event) -> dict[str, Any]:
    return compact({"externalIdentifiers": IDENTIFIERS(event)})


def _occurrence(event: Event, context: Context) -> dict[str, str]:
    when = value_of(event, WHEN)
    if when is None:
        return {}
    check_age(when, context.clock(), by="Attentive", past=timedelta(hours=12))
    return {"occurredAt": iso_ms.of(when)}


def _post(settings: AttentiveSettings, path: str, body: Mapping[str, Any]) -> Payload:
    headers = {"Authorization": f"Bearer {settings.api_key.reveal()}", "Content-Type": "application/json"}
    return Payload(endpoint=_API + path, headers=headers, json=body)
