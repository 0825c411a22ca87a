"""Amplitude: every event with what is known of the user, the device and the place, by the HTTP V2 API.

identify sets user properties; track, page and screen are events; group sets the user's group and then the properties
of that group; alias joins a user to a global one, or parts them. An event with a revenue can be split into one event
for each product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.destinations.am._tables import (
    BRAND,
    EVENT,
    ORIGIN,
    OWN_FIELDS,
    REVENUE,
    advertising,
    browser,
    session_id,
)
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Table,
    as_object,
    compact,
    const,
    event_name,
    fill_from,
    is_empty,
    json_text,
    path,
    pick,
    products,
    require_name,
    required,
    warehouse_id,
    without,
)
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://api2.amplitude.com", "EU": "https://api.eu.amplitude.com"}
_HEADERS = {"Content-Type": "application/json"}


class AmplitudeSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    residency_server: Literal["standard", "EU"] = "standard"
    group_type_trait: str = ""
    group_value_trait: str = ""
    traits_to_increment: Tags = Tags()
    traits_to_set_once: Tags = Tags()
    traits_to_append: Tags = Tags()
    traits_to_prepend: Tags = Tags()
    track_products_once: bool = False
    track_revenue_per_product: bool = False
    map_device_brand: bool = False
    use_user_defined_page_event_name: bool = False
    user_provided_page_event_string: str = ""
    use_user_defined_screen_event_name: bool = False
    user_provided_screen_event_string: str = ""
    enable_enhanced_user_operations: bool = False


destination = DestinationType(
    "Amplitude",
    AmplitudeSettings,
    docs="https://amplitude.com/docs/apis/analytics/http-v2",
    names=("AM",),
    answers=[
        Answer("success", 200, "success", at="/usermap"),
        Answer("success", 200, "success", at="/groupidentify"),
        Answer("success", 200, {"code": 200, "events_ingested": 1, "payload_size_bytes": 50}),
        Answer("bad key", 400, {"code": 400, "error": "Invalid API key"}),
        Answer("rate limit", 429, {"code": 429, "error": "Too many requests for some devices and users"}),
        Answer(
            "invalid field",
            400,
            {"code": 400, "error": "Request missing required field", "missing_field": "event_type"},
        ),
    ],
)

MAP = Table({"global_user_id": required("userId"), "user_id": required("previousId")})
UNMAP = Table({"user_id": required("userId"), "unmap": const(True)})


@destination.on("identify")
def send_person(event: Event, settings: AmplitudeSettings) -> Payload:
    """The traits are user properties; the configured ones are added up, set once, appended or prepended."""
    traits, mapped = _unfold(event.traits), {}
    if event.context.get("mappedToDestination"):
        mapped = {**warehouse_id(event), **{key: value for key, value in traits.items() if key in OWN_FIELDS}}
        traits = {**without(traits, OWN_FIELDS), **warehouse_id(event)}
    own = as_object(event.raw.get("userProperties"))
    return _post(settings, {**_event(event, settings, "$identify", {**traits, **own}), **mapped})


@destination.on("track")
def send_event(event: Event, settings: AmplitudeSettings) -> Iterator[Payload]:
    """An event with a revenue tells it in fields of its own, for the whole or for each product."""
    name, properties = event_name(event), event.properties
    listed = products(event)
    if is_empty(properties.get("revenue")):
        yield _post(settings, _track_event(event, settings, name, properties))
        return
    by_product = settings.track_revenue_per_product and bool(listed)
    if not settings.track_products_once:
        properties = without(properties, ["products"])
    yield _post(settings, _track_event(event, settings, name, properties, earns=not by_product))
    if by_product or not settings.track_products_once:
        for number, product in enumerate(listed, 1):
            one = _track_event(event, settings, "Product Purchased", product, earns=by_product)
            if "insert_id" in one:
                one["insert_id"] = f"{one['insert_id']}-{number}"
            yield _post(settings, one)


@destination.on("page")
def send_page(event: Event, settings: AmplitudeSettings) -> Payload:
    """`Viewed <name> Page`, or a name of the user's own."""
    name = event.raw.get("name") or event.properties.get("category")
    shown = f"Viewed {name or ''} Page"
    if settings.use_user_defined_page_event_name:
        template = settings.user_provided_page_event_string.strip()
        shown = fill_from(template, event.raw) or require_name(event, name, "name")
    return _view(event, settings, shown, name)


@destination.on("screen")
def send_screen(event: Event, settings: AmplitudeSettings) -> Payload:
    """`Viewed <name> Screen`, or a name of the user's own."""
    name = event.raw.get("name") or event.raw.get("event") or event.properties.get("category")
    shown = f"Viewed {name} Screen" if name else "Viewed Screen"
    if settings.use_user_defined_screen_event_name:
        template = settings.user_provided_screen_event_string.strip()
        shown = fill_from(template, event.raw) or require_name(event, name, "name")
    return _view(event, settings, shown, name)


@destination.on("group")
def send_group(event: Event, settings: AmplitudeSettings) -> Iterator[Payload]:
    """The user's group is a user property and a group of the event; then the group gets its own properties."""
    group = _group(event, settings)
    kind, value = group.get("group_type"), group.get("group_value")
    member = {str(kind): value} if kind and value else {}
    groups = {"groups": member} if member else {}
    yield _post(
        settings, {**_fields(event, settings, "$identify"), "user_properties": {**_origin(event), **member}, **groups}
    )
    if member:
        yield _form(settings, "/groupidentify", "identification", group)


@destination.on("alias")
def send_alias(event: Event, settings: AmplitudeSettings) -> Payload:
    """`previousId` becomes an id of the global user `userId`; with the option `unmap` that is undone."""
    joined = UNMAP(event) if destination.options(event).get("unmap") else MAP(event)
    return _form(settings, "/usermap", "mapping", {**joined, **_event_id(event), "user_properties": _origin(event)})


def _group(event: Event, settings: AmplitudeSettings) -> Mapping[str, Any]:
    """Type, value and properties of the group: the configured traits say which, else the event's options."""
    traits, options = as_object(event.raw.get("traits")), destination.options(event)
    group = as_object(options.get("groups"))
    if settings.group_type_trait and settings.group_value_trait:
        kind, value = path(settings.group_type_trait)(traits), path(settings.group_value_trait)(traits)
        if not kind or not isinstance(kind, str) or is_empty(value) or not isinstance(value, str | int | float):
            where = f"traits.{settings.group_type_trait} and traits.{settings.group_value_trait}"
            raise MappingError(f"needs a text at each of {where}: the group's type and value", field=where)
        group = {"group_type": kind, "group_value": value, "group_properties": traits}
    unset = _unset(event)
    return {**group, "group_properties": {**as_object(group.get("group_properties")), **unset}} if unset else group


def _track_event(
    event: Event, settings: AmplitudeSettings, name: str, properties: Mapping[str, Any], *, earns: bool = False
) -> dict[str, Any]:
    """The event with its properties. One that `earns` has revenue, price and quantity as fields instead."""
    out = _event(event, settings, name, as_object(event.context.get("traits")))
    if earns:
        out |= REVENUE(properties)
        if is_empty(properties.get("price")):
            out |= compact({"price": properties.get("revenue"), "quantity": 1})
        else:
            out |= {"price": properties["price"], "quantity": properties.get("quantity") or 1}
        properties = without(properties, ["revenue", "price", "quantity", "product_id"])
    if isinstance(event.raw.get("properties"), Mapping):
        out["event_properties"] = properties
    return out


def _view(event: Event, settings: AmplitudeSettings, shown: str, name: Any) -> Payload:
    own = {**event.properties, "name": name} if name else event.properties
    out = _event(event, settings, shown, as_object(event.context.get("traits")))
    return _post(settings, {**out, "event_properties": own})


def _event(event: Event, settings: AmplitudeSettings, name: str, traits: Mapping[str, Any]) -> dict[str, Any]:
    out = {**_fields(event, settings, name), "user_properties": _user(event, settings, traits)}
    out.update(compact({"insert_id": event.raw.get("messageId"), "groups": destination.options(event).get("groups")}))
    return out


def _fields(event: Event, settings: AmplitudeSettings, name: str) -> dict[str, Any]:
    """What every event tells beside its properties and those of the user."""
    out = {**browser(event), **EVENT(event), "event_type": name, "session_id": session_id(event)}
    if settings.map_device_brand:
        out |= BRAND(event)
    elif event.raw.get("channel") == "mobile" and "device_manufacturer" in out:
        out["device_brand"] = out["device_manufacturer"]
    if destination.options(event).get("skipUserPropertiesSync"):
        out["$skip_user_properties_sync"] = True
    return {**out, **advertising(event), **_event_id(event)}


def _user(event: Event, settings: AmplitudeSettings, traits: Mapping[str, Any]) -> dict[str, Any]:
    """The user properties, and the operations on some of them. The place is in fields of the event."""
    traits = without(traits, ("city", "country", "address.city", "address.country"))
    operations: dict[str, Any] = {}
    if event.type == "identify" or settings.enable_enhanced_user_operations:
        for operation, names in (
            ("$add", settings.traits_to_increment),
            ("$setOnce", settings.traits_to_set_once),
            ("$append", settings.traits_to_append),
            ("$prepend", settings.traits_to_prepend),
        ):
            operations[operation] = pick(traits, names)
            traits = without(traits, names)
        operations["$unset"] = _unset(event)
    plain = {**_origin(event), **traits}
    return {**({"$set": plain} if settings.enable_enhanced_user_operations else plain), **compact(operations)}


def _origin(event: Event) -> dict[str, Any]:
    """Where the user came from: the first page, and the campaign."""
    campaign = as_object(event.context.get("campaign"))
    return {**ORIGIN(event), **{f"utm_{key}": value for key, value in campaign.items()}}


def _unset(event: Event) -> dict[str, str]:
    """The properties that the event wants gone; Amplitude asks for a value and ignores it."""
    names = destination.options(event).get("fieldsToUnset")
    return {str(name): "-" for name in names} if isinstance(names, list) else {}


def _unfold(traits: Mapping[str, Any]) -> dict[str, Any]:
    """The traits, with the members of the address among them unless a trait has that name."""
    address = traits.get("address")
    if not isinstance(address, Mapping):
        return dict(traits)
    return {**address, **without(traits, ["address"])}


def _event_id(event: Event) -> dict[str, int]:
    found = destination.options(event).get("event_id")
    return {"event_id": found} if isinstance(found, int) and not isinstance(found, bool) else {}


def _post(settings: AmplitudeSettings, event: Mapping[str, Any]) -> Payload:
    body = {"api_key": settings.api_key.reveal(), "events": [event], "options": {"min_id_length": 1}}
    return Payload(endpoint=f"{_HOSTS[settings.residency_server]}/2/httpapi", headers=_HEADERS, json=body)


def _form(settings: AmplitudeSettings, path: str, field: str, value: Mapping[str, Any]) -> Payload:
    """One change of a group or a mapping, as JSON text in a form."""
    form = {"api_key": settings.api_key.reveal(), field: [json_text(value)]}
    return Payload(endpoint=_HOSTS[settings.residency_server] + path, form=form)
