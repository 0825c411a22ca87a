"""Bluecore: customers, their activity, and their consent to messages.

identify updates a customer, or, with `action: identify` in the traits, joins an e-mail address to the ID. track sends
the event under its configured names, else under Bluecore's name of the e-commerce event, else under its own name.
`subscription_event` opts in or out, depending on `channelConsents.email`.
https://help.bluecore.com/en/articles/8023331-bluecore-event-tracking-api
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    LAST_NAME,
    Misfit,
    Missing,
    Table,
    as_object,
    compact,
    custom_traits,
    first,
    nest_dotted,
    products,
    trait,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_STANDARD = {
    "product viewed": "viewed_product",
    "products searched": "search",
    "product added": "add_to_cart",
    "product removed": "remove_from_cart",
    "product added to wishlist": "wishlist",
    "order completed": "purchase",
}
#: properties that Bluecore requires, by event name
_NEEDS = {"search": ("search_term",), "purchase": ("order_id", "total")}
#: opting in and out
_CONSENTS = ("optin", "unsubscribe")
_OF_PRODUCTS = frozenset({"viewed_product", "add_to_cart", "remove_from_cart", "wishlist", "purchase"})
_KNOWN_TRAITS = frozenset({
    "action", "address", "age", "email", "firstName", "first_name", "firstname", "lastName", "last_name", "lastname",
    "name", "sex",
})  # fmt: skip
_KNOWN_PROPERTIES = (
    "action", "address", "age", "client", "customer", "device", "distinct_id", "email", "first_name", "last_name",
    "name", "order_id", "products", "query", "search_term", "sex", "token", "total",
)  # fmt: skip
_OF_ORDER = ("order_id", "products", "query", "total")
_PRODUCT_IDS = ("product_id", "sku")


class BluecoreSettings(Settings, frozen=True, kw_only=True):
    bluecore_namespace: Secret
    events_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Bluecore",
    BluecoreSettings,
    docs="https://help.bluecore.com/en/articles/8023331-bluecore-event-tracking-api",
    quirks=[
        "If a product event has no list of products, it gets a list with the product that its properties describe.",
        "IDs that are numbers do not identify a customer.",
        "The properties of a subscription event are sent among the customer's traits.",
    ],
    answers=[
        Answer("success", 200, "OK"),
        Answer("bad key", 401, "Unauthorized"),
        Answer("rate limit", 429, "Too Many Requests"),
        Answer("invalid field", 400, "Bad Request"),
    ],
    differences=["Products that are not objects are left out."],
)

API = Endpoint("https://api.bluecore.app/api/track/mobile/v1", JSON)

CUSTOMER = Table(
    {
        "name": trait("name"),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "age": trait("age"),
        "sex": first(trait("gender"), trait("sex")),
        "address": trait("address"),
        "email": EMAIL,
    }
)
ACTION = trait("action")
BLUECORE_ID = "context.externalId.bluecoreExternalId"
EMAIL_OR_ID = first(EMAIL_OR_EXTERNAL_ID, ANY_ID)
DEVICE = Table({"client": "context.app.version", "device": "context.device.model"})
EVENT = Table(
    {
        "client": first("properties.client", "context.app.version"),
        "device": first("properties.device", "context.device.model"),
        "search_term": first("properties.search_term", "properties.query"),
        "order_id": "properties.order_id",
        "total": "properties.total",
    }
)
PRODUCT_ID = Table({"id": first("product_id", "sku")}, of="properties.products")


@destination.on("identify")
def send_customer(event: Event, settings: BluecoreSettings) -> Payload:
    """Return the customer's traits, or the e-mail address to join to the ID."""
    action = value_of(event, ACTION) or "customer_patch"
    if as_object(event.raw.get("traits")).get("action") not in (None, "", "identify"):
        raise Misfit("traits.action", "identify", as_object(event.raw.get("traits")).get("action"))
    customer = _customer(event)
    if action == "identify":
        _check_email(customer)
    distinct_id = _distinct_id(event, ANY_ID if action == "identify" else EMAIL_OR_ID)
    return _send(settings, action, {**DEVICE(event), "customer": customer, "distinct_id": distinct_id})


@destination.on("track")
def send_event(event: Event, settings: BluecoreSettings) -> Iterator[Payload]:
    """Return the event, once for each of Bluecore's names for it."""
    name = event.raw.get("event")
    if not isinstance(name, str) or not name:
        raise Misfit("event", "a name, as a string", name)
    if name == "subscription_event":
        yield _subscription(event, settings)
        return
    names = [row.to for row in settings.events_mapping if row.from_ == name and row.to]
    rest = nest_dotted(without(event.properties, _KNOWN_PROPERTIES))
    customer = _customer(event)
    common = {**EVENT(event), **rest, "customer": customer, "distinct_id": _distinct_id(event, EMAIL_OR_ID)}
    for action in names or [_STANDARD.get(name.lower(), name)]:
        for need in _NEEDS.get(action, ()):
            if need not in common:
                raise Missing(f"properties.{need}", why=f"{action} events need it")
        if action in _CONSENTS:
            _check_email(customer)
        items = [_product(product) for product in products(event)]
        if event.properties.get("products") is None and action in _OF_PRODUCTS:
            items = [_product(without(event.properties, _OF_ORDER))]
        yield _send(settings, action, _prune({**common, "products": items}))


def _subscription(event: Event, settings: BluecoreSettings) -> Payload:
    agrees = as_object(event.properties.get("channelConsents")).get("email")
    if not isinstance(agrees, bool):
        raise Misfit("properties.channelConsents.email", "true or false", agrees)
    customer = _customer(event)
    _check_email(customer)
    action = compact({"action": value_of(event, ACTION)})
    rest = nest_dotted(without(event.properties, ["channelConsents"]))
    distinct_id = _distinct_id(event, EMAIL_OR_ID)
    properties = {**DEVICE(event), **rest, **action, **customer, "distinct_id": distinct_id}
    return _send(settings, _CONSENTS[0] if agrees else _CONSENTS[1], _prune(properties))


def _check_email(customer: Mapping[str, Any]) -> None:
    if "email" not in customer:
        raise Missing("traits.email", wants="an e-mail address")


def _customer(event: Event) -> dict[str, Any]:
    return {**(custom_traits(event, _KNOWN_TRAITS) or {}), **CUSTOMER(event)}


def _distinct_id(event: Event, leaf: Any) -> Json:
    own = value_of(event, BLUECORE_ID)
    distinct_id = own if own and not isinstance(own, (int, float)) else value_of(event, leaf)
    if not distinct_id or isinstance(distinct_id, (int, float)):
        raise Missing("traits.email", "userId", "anonymousId")
    return distinct_id


def _product(product: Mapping[str, Json]) -> dict[str, Any]:
    return {**PRODUCT_ID(product), **without(product, _PRODUCT_IDS)}


def _send(settings: BluecoreSettings, event: Json, properties: Mapping[str, Any]) -> Payload:
    token = settings.bluecore_namespace.reveal()
    return API.post(settings, body={"event": event, "properties": {**properties, "token": token}})


def _prune(value: Any) -> Any:
    """Return a value without nulls and without empty objects and lists."""
    if isinstance(value, Mapping):
        members = {key: _prune(item) for key, item in value.items()}
        return {key: item for key, item in members.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [item for item in map(_prune, value) if item not in ({}, [])]
    return value
