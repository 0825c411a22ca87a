"""Braze: user attributes, events and purchases, through the user track endpoint.

identify sets attributes of the user; track, page and screen set them too and log an event. `Order Completed` logs a
purchase for each product, or, with recommended e-commerce events, one event for the order. group sets an attribute
named after the group, or the state of a subscription group; alias merges two users. A user without an ID is identified
by an alias derived from the anonymous ID, which is joined to the user at the first identify. With `supportDedup` the
mapping looks up the user's profile first and sends only attributes that have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import ACCEPT_JSON, JSON, Answer, Context, DestinationType, Endpoint, Payload, bearer
from svctoolkit.destinations._families.braze import host_of
from svctoolkit.destinations.braze._batches import batch
from svctoolkit.destinations.braze._deletion import deletion
from svctoolkit.destinations.braze._settings import BrazeSettings
from svctoolkit.destinations.braze._shop import RECOMMENDED, shop_properties
from svctoolkit.destinations.braze._users import EXPORTED, attributes, changes
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME,
    USER_ID,
    Misfit,
    Missing,
    Table,
    as_object,
    compact,
    first,
    is_empty,
    js_join,
    number,
    required,
    string,
    trait,
    value_of,
    warehouse_id,
)

destination = DestinationType(
    "Braze",
    BrazeSettings,
    docs="https://www.braze.com/docs/api/endpoints/user_data/post_user_track",
    quirks=[
        "An event without a name, time or user is sent nevertheless.",
        "A user ID found only in the traits is not used as an ID, but prevents the alias of the anonymous ID.",
        "If an anonymous user cannot be joined, an event that is mapped alone is refused, but not one in a batch.",
        "A subscription group gets the telephone number or else the e-mail address, never both.",
    ],
    earlier=("useEcommerceRecommendedEvents",),
    answers=[
        Answer("success", 201, {"message": "success", "attributes_processed": 1}),
        Answer("bad key", 401, {"message": "Invalid API Key"}),
        Answer("rate limit", 429, {"message": "Rate limit exceeded"}, headers={"X-RateLimit-Reset": "1768471500"}),
        Answer(
            "invalid field",
            400,
            {"message": "Valid data must be provided in the 'attributes', 'events', or 'purchases' fields"},
        ),
    ],
    differences=[
        "A configuration without restApiKey is refused; RudderStack sends its requests without a key.",
        "A change of nested objects (`add`, `update`, `remove`) that is not a list is ignored; RudderStack splits a "
        "text into letters.",
    ],
    needs=["lookup"],
)


API = Endpoint(lambda settings: f"https://{host_of(settings.data_center)}", JSON, ACCEPT_JSON, bearer("rest_api_key"))
destination.batch(batch, may_refuse=lambda settings: settings.support_dedup)
destination.deletes_with(deletion)

_NOT_IN_EVENTS = frozenset({"time", "event_name"})  # Braze reserves these names
_NOT_IN_PURCHASES = frozenset({"product_id", "sku", "price", "quantity", "currency"})
USER = first("context.externalId.brazeExternalId", "userId")
MERGE = Table(
    {
        "identifier_to_merge": {"external_id": required("previousId")},
        "identifier_to_keep": {"external_id": required("userId")},
    }
)
PURCHASE_TIME = Table({"time": required(TIME)})
GROUP = required(first("groupId", "traits.groupId"))
SUBSCRIBER = Table({"phones": trait("phone"), "emails": trait("email")})
PURCHASE = Table(
    {
        "product_id": required(string(first("product_id", "sku"))),
        "price": required(number("price")),
        "quantity": required(number("quantity")),
    },
    of="properties.products",
)


@destination.on("identify")
def send_person(event: Event, settings: BrazeSettings, context: Context) -> Payload:
    """Join the anonymous user to the known one, then set the attributes."""
    identity = _identity(event)
    if "external_id" in identity and event.raw.get("anonymousId"):
        _join(event, settings, context, identity["external_id"])
    about = _attributes(event, settings, context, identity)
    if not about:
        raise Missing("traits", wants="an attribute that Braze does not have yet")
    return API.post(settings, "users/track", {"attributes": [{**about, **identity}]})


@destination.on("track")
def send_action(event: Event, settings: BrazeSettings, context: Context) -> Payload:
    """Return a custom event, or Braze's counterpart of an e-commerce event."""
    key = str(event.raw.get("event") or "").lower()
    if settings.use_ecommerce_recommended_events and key in RECOMMENDED:
        kind = RECOMMENDED[key]
        return _custom_event(event, settings, context, {"name": kind.name}, shop_properties(event, kind))
    if key == "order completed":
        identity = _identity(event)
        return _track(event, settings, context, identity, {"purchases": _purchases(event, settings, identity)})
    name = {"name": event.raw["event"]} if "event" in event.raw else {}
    return _custom_event(event, settings, context, name, _custom(event))


@destination.on("page", "screen")
def send_page(event: Event, settings: BrazeSettings, context: Context) -> Payload:
    """Return an event with the page's name, or `Page Viewed` and `Screen Viewed`."""
    name = event.raw.get("name") or event.properties.get("name") or f"{event.type.title()} Viewed"
    return _custom_event(event, settings, context, {"name": name}, _custom(event))


@destination.on("group")
def send_group(event: Event, settings: BrazeSettings) -> Payload:
    """Return an attribute for the user's membership in the group, or the state of a subscription group."""
    group = value_of(event, GROUP)
    if not settings.enable_subscription_group_in_group_call:
        member = {f"ab_rudder_group_{js_join(group)}": True, **compact({"external_id": _user(event)})}
        return API.post(settings, "users/track", {"attributes": [member], "partner": "RudderStack"})
    traits = as_object(event.raw.get("traits"))
    if not traits.get("phone") and not traits.get("email"):
        raise Missing("traits.phone", "traits.email")
    state = traits.get("subscriptionState")
    if state not in ("subscribed", "unsubscribed"):
        where = "traits.subscriptionState"
        raise Misfit(where, "subscribed or unsubscribed", state)
    change = {"subscription_group_id": group, "subscription_state": state}
    if event.raw.get("userId"):
        change["external_ids"] = [event.raw["userId"]]
    kind, address = next(
        iter(SUBSCRIBER(event).items())
    )  # a group is either for telephone numbers or for e-mail addresses
    change[kind] = [address]
    return API.post(settings, "v2/subscription/status/set", {"subscription_groups": [change]})


@destination.on("alias")
def send_alias(event: Event, settings: BrazeSettings) -> Payload:
    """Merge `previousId` into `userId`; Braze then deletes `previousId`."""
    return API.post(settings, "users/merge", {"merge_updates": [MERGE(event)]})


def _custom_event(
    event: Event, settings: BrazeSettings, context: Context, name: Mapping[str, Any], properties: Mapping[str, Any]
) -> Payload:
    time = {"time": event.raw["timestamp"]} if "timestamp" in event.raw else {}
    identity = _identity(event)
    app = destination.options(event).get("appId")
    more = {} if is_empty(app) else {"app_id": app}
    body = {"events": [{**name, **time, "properties": properties, **identity, **more}]}
    return _track(event, settings, context, identity, body)


def _track(
    event: Event, settings: BrazeSettings, context: Context, identity: Mapping[str, Any], records: Mapping[str, Any]
) -> Payload:
    body = {"partner": "RudderStack", **records}
    about = _attributes(event, settings, context, identity)
    if about:
        body["attributes"] = [{**about, **identity}]
    return API.post(settings, "users/track", body)


def _attributes(event: Event, settings: BrazeSettings, context: Context, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes to set, without the user's ID; with `supportDedup` only those that have changed."""
    about = attributes(event, nested=settings.enable_nested_array_operations)
    about = {key: value for key, value in about.items() if key not in identity}
    return changes(about, _profile(identity, settings, context)) if about and settings.support_dedup else about


def _profile(identity: Mapping[str, Any], settings: BrazeSettings, context: Context) -> Mapping[str, Any]:
    """Look up the user's Braze profile; empty for an unknown user."""
    if "user_alias" in identity:
        whose = {"user_aliases": [identity["user_alias"]]}
    elif "external_id" in identity:
        whose = {"external_ids": [identity["external_id"]]}
    else:
        return {}
    body = {**whose, "fields_to_export": [*EXPORTED, "custom_attributes"]}
    users = as_object(_ask(settings, context, "users/export/ids", body)).get("users")
    return as_object(users[0]) if isinstance(users, list) and users else {}


def _custom(event: Event) -> dict[str, Any]:
    return {key: value for key, value in event.properties.items() if key not in _NOT_IN_EVENTS}


def _purchases(event: Event, settings: BrazeSettings, identity: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = event.properties.get("products")
    if not isinstance(listed, list) or not listed:
        where = "properties.products"
        raise Missing(where, wants="a list of products", why="each of them is a purchase")
    currency, when = event.properties.get("currency"), PURCHASE_TIME(event)
    extra = settings.send_purchase_event_with_extra_properties
    return [{**_purchase(as_object(product), currency, when, extra=extra), **identity} for product in listed]


def _purchase(product: Mapping[str, Any], currency: Any, when: Mapping[str, Any], *, extra: bool) -> dict[str, Any]:
    """Return a purchase of a product. `currency` and `when` are those of the event, `extra`: send its other members."""
    currency = currency or product.get("currency")
    if not currency:
        raise Missing("properties.currency", "properties.products.currency")
    out = {**PURCHASE(product), "currency": js_join(currency), **when}
    if extra and (others := {key: value for key, value in product.items() if key not in _NOT_IN_PURCHASES}):
        out["properties"] = others
    return out


def _user(event: Event) -> Any:
    return warehouse_id(event).get("external_id") or value_of(event, USER)


def _identity(event: Event) -> dict[str, Any]:
    """Return the user's ID, else the alias in the event's options, else an alias derived from the anonymous ID.

    A user ID in the traits prevents the alias, but is not used as the ID: the request then has no user.
    """
    who = _user(event)
    if who:
        return {"external_id": who}
    alias = as_object(destination.options(event).get("alias"))
    if alias.get("alias_name") and alias.get("alias_label"):
        chosen = {"alias_name": alias["alias_name"], "alias_label": alias["alias_label"]}
    elif value_of(event, USER_ID):
        return {}
    elif event.raw.get("anonymousId"):
        chosen = _anonymous(event)
    else:
        return {"_update_existing_only": False}
    return {"user_alias": chosen, "_update_existing_only": False}


def _anonymous(event: Event) -> dict[str, Any]:
    return {"alias_name": event.raw["anonymousId"], "alias_label": "rudder_id"}


def _join(event: Event, settings: BrazeSettings, context: Context, who: str) -> None:
    body = {
        "aliases_to_identify": [{"user_alias": _anonymous(event), "external_id": who}],
        "merge_behavior": "merge",
    }
    try:
        _ask(settings, context, "users/identify", body)
    except MappingError:
        if not context.in_batch:  # in a batch RudderStack goes on, so that one alias does not fail the other events
            raise


def _ask(settings: BrazeSettings, context: Context, path: str, body: Mapping[str, Any]) -> Any:
    return context.ask(API.lookup(settings, path, "POST", body), field="userId")
