"""Amplitude: events with the properties of user, device and location, through the HTTP V2 API.

identify sets user properties; track, page and screen are events; group sets the user's group and then the properties of
that group; alias maps a user to a global user, or removes this mapping. An event with revenue can be split into one
event per product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, Tags, by_setting
from svctoolkit.destinations.am._batches import batch
from svctoolkit.destinations.am._deletion import deletion
from svctoolkit.destinations.am._judge import judge
from svctoolkit.destinations.am._tables import (
    BRAND,
    EVENT,
    OWN_FIELDS,
    PLACES,
    REVENUE,
    TRAIT_FIELDS,
    TYPED_REVENUE,
    advertising,
    browser,
    milliseconds,
    session_id,
)
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Misconfigured,
    Misfit,
    Missing,
    as_object,
    compact,
    event_name,
    fill_from,
    is_empty,
    js_join,
    json_text,
    nest_dotted,
    path,
    pick,
    require_name,
    unfold_address,
    warehouse_id,
    without,
)
from svctoolkit.secrets import Secret

_HOSTS = {"standard": "https://api2.amplitude.com", "EU": "https://api.eu.amplitude.com"}


class AmplitudeSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    residency_server: Literal["standard", "EU"] = "standard"
    group_type_trait: str = ""
    group_value_trait: str = ""
    traits_to_increment: Tags = Tags()
    traits_to_set_once: Tags = Tags()
    traits_to_append: Tags = Tags()
    traits_to_prepend: Tags = Tags()
    track_products_once: bool | None = None
    track_revenue_per_product: bool = False
    map_device_brand: bool = False
    use_user_defined_page_event_name: bool = False
    user_provided_page_event_string: str | None = None
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
    quirks=[
        "For websites, the browser is sent as operating system (`os_name`, `os_version`), as in Amplitude's own SDK.",
        "The device ID is the anonymous ID; `context.device.id` is only sent as vendor ID of an app.",
        "A single event goes to /2/httpapi, several of a user to /batch: the request depends on the queue.",
        "Traits with dots in their names become nested user properties.",
        "A configured operation, such as $add, is sent with each identify that has traits, even if it is empty.",
        "If trackProductsOnce is not set, an order with products is one event, and its revenue stays a property.",
        "Only street, city, state, country and postal code of an address become user properties.",
    ],
    differences=[
        "A group of a warehouse row has the row's traits as properties; RudderStack adds the external ID, and in a "
        "recorded batch it leaves out the trait `os_version`.",
        "A product that is null becomes an event with empty product properties.",
        "A campaign that is text is ignored.",
        "A page or screen without a configured template is sent under its own name; RudderStack refuses it.",
    ],
)

API = Endpoint(by_setting("residency_server", _HOSTS), JSON)
destination.batch(batch, may_refuse=False)
destination.deletes_with(deletion)

_MAP = {"global_user_id": "userId", "user_id": "previousId"}
_UNMAP = {"user_id": "userId"}


@destination.on("identify")
def send_person(event: Event, settings: AmplitudeSettings) -> Payload:
    """Return traits as user properties; the configured ones are incremented, set once, appended or prepended."""
    own = as_object(event.raw.get("userProperties"))
    return _post(settings, _event(event, settings, "$identify", {**unfold_address(event.traits), **own}))


@destination.on("track")
def send_event(event: Event, settings: AmplitudeSettings) -> Iterator[Payload]:
    """Return an event; revenue is in separate fields, either for the whole event or per product."""
    properties, out = event.properties, _event(event, settings, event_name(event), event.traits)
    listed = properties.get("products")
    listed = listed if isinstance(listed, list) else []
    if is_empty(properties.get("revenue")) or (listed and settings.track_products_once is None):
        yield _post(settings, _about(event, out, properties))
        return
    by_product = settings.track_revenue_per_product and bool(listed)
    if listed and not settings.track_products_once:
        properties = without(properties, ["products"])
    yield _post(settings, _about(event, out, properties, earns=not by_product))
    if by_product or not settings.track_products_once:
        for number, product in enumerate(listed, 1):
            own = {"event_type": "Product Purchased"}
            if "insert_id" in out:
                own["insert_id"] = f"{out['insert_id']}-{number}"
            yield _post(settings, _about(event, {**out, **own}, as_object(product), earns=by_product))


@destination.on("page")
def send_page(event: Event, settings: AmplitudeSettings) -> Payload:
    """Return `Viewed <name> Page`, or an event with a configured name."""
    name = event.raw.get("name") or event.properties.get("category")
    if not settings.use_user_defined_page_event_name:
        return _view(event, settings, f"Viewed {js_join(name or '')} Page", name)
    template = settings.user_provided_page_event_string
    if template is None:
        raise Misconfigured("userProvidedPageEventString", "is required by useUserDefinedPageEventName")
    return _view(event, settings, _own_name(event, template, name), name)


@destination.on("screen")
def send_screen(event: Event, settings: AmplitudeSettings) -> Payload:
    """Return `Viewed <name> Screen`, or an event with a configured name."""
    name = event.raw.get("name") or event.raw.get("event") or event.properties.get("category")
    if not settings.use_user_defined_screen_event_name:
        return _view(event, settings, f"Viewed {js_join(name or '')} Screen", name)
    return _view(event, settings, _own_name(event, settings.user_provided_screen_event_string, name), name)


@destination.on("group")
def send_group(event: Event, settings: AmplitudeSettings) -> Iterator[Payload]:
    """Return the user's group as a user property and as a group of the event, then the group's own properties."""
    group = _group(event, settings)
    kind, value = group.get("group_type"), group.get("group_value")
    member = {str(kind): value} if kind and value else {}
    groups = {"groups": member} if member else {}
    about = _user_set(settings, {**_origin(event), **nest_dotted(member)})
    fields = _fields(event, settings, "$identify")
    if is_empty(fields.get("user_id")):
        fields.pop("user_id", None)
    yield _post(settings, {**fields, "user_properties": about, **groups})
    if group:
        yield _form(settings, "/groupidentify", "identification", group)


@destination.on("alias")
def send_alias(event: Event, settings: AmplitudeSettings) -> Payload:
    """Map `previousId` to the global user `userId`; the option `unmap` removes the mapping."""
    unmap = bool(destination.options(event).get("unmap"))
    fields = (_UNMAP if unmap else _MAP).items()
    ids = {field: event.raw[member] for field, member in fields if member in event.raw}
    mark = {"unmap": True} if unmap else {}
    about = _user_set(settings, _origin(event))
    return _form(settings, "/usermap", "mapping", {**ids, **mark, **_event_id(event), "user_properties": about})


def _group(event: Event, settings: AmplitudeSettings) -> Mapping[str, Any]:
    """Return type, value and properties of the group, from the configured traits or else the event's options."""
    traits, options = event.traits, destination.options(event)
    group = as_object(options.get("groups"))
    if settings.group_type_trait and settings.group_value_trait:
        kind, value = path(settings.group_type_trait)(traits), path(settings.group_value_trait)(traits)
        if not kind or not isinstance(kind, str):
            raise Misfit(f"traits.{settings.group_type_trait}", "a string", kind, setting="groupTypeTrait")
        if is_empty(value) or type(value) not in (str, int, float):
            where = f"traits.{settings.group_value_trait}"
            raise Misfit(where, "a string or a number", value, setting="groupValueTrait")
        group = {"group_type": kind, "group_value": value, "group_properties": traits}
    unset = _unset(event)
    return {**group, "group_properties": {**as_object(group.get("group_properties")), **unset}} if unset else group


def _about(
    event: Event, common: Mapping[str, Any], properties: Mapping[str, Any], *, earns: bool = False
) -> dict[str, Any]:
    """Return one Amplitude event: the fields in `common`, with these properties.

    If it `earns`, revenue, price and quantity are fields instead of properties.
    """
    out = dict(common)
    if not earns and "revenue" in properties and not is_empty(properties.get("revenue_type")):
        out |= TYPED_REVENUE(properties)
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


def _own_name(event: Event, template: str, name: Any) -> str:
    return fill_from(template.strip(), event.raw) or require_name(name, "name")


def _view(event: Event, settings: AmplitudeSettings, title: str, name: Any) -> Payload:
    own = {**event.properties, "name": name} if name else without(event.properties, ["name"])
    out = _event(event, settings, title, event.traits)
    return _post(settings, {**out, "event_properties": own})


def _event(event: Event, settings: AmplitudeSettings, name: str, traits: Mapping[str, Any]) -> dict[str, Any]:
    out = {**_fields(event, settings, name), "user_properties": _user(event, settings, traits)}
    if event.raw.get("messageId"):
        out["insert_id"] = event.raw["messageId"]
    groups = destination.options(event).get("groups")
    if isinstance(groups, dict) and event.type != "identify":
        out["groups"] = groups
    return out


def _fields(event: Event, settings: AmplitudeSettings, name: str) -> dict[str, Any]:
    """Return the fields of every event, except event and user properties."""
    traits = as_object(event.raw.get("traits"))
    traits = {**traits, **warehouse_id(event)} if traits else traits
    own = {key: item for key, item in traits.items() if key in TRAIT_FIELDS and item is not None}
    out = {**EVENT(event), **browser(event), "event_type": name, **own}
    if "user_id" not in out and "device_id" not in out:
        raise Missing("userId", "anonymousId")
    out |= {"time": milliseconds(event), "session_id": session_id(event)}
    if settings.map_device_brand:
        out |= BRAND(event)
    elif event.raw.get("channel") == "mobile" and out.get("device_manufacturer"):
        out["device_brand"] = out["device_manufacturer"]
    if destination.options(event).get("skipUserPropertiesSync"):
        out["$skip_user_properties_sync"] = True
    return {**out, **advertising(event), **_event_id(event)}


def _user(event: Event, settings: AmplitudeSettings, traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return user properties and the operations on some of them. The location is in fields of the event."""
    enhanced = settings.enable_enhanced_user_operations
    if event.type != "screen":
        own = as_object(event.raw.get("traits")).items()
        traits = without(traits, [key for key, item in own if key in OWN_FIELDS and item is not None])
    traits = {**traits, **warehouse_id(event)}
    traits = {**unfold_address(traits), **traits} if enhanced else without(traits, PLACES)
    operations: dict[str, Any] = {}
    if event.type == "identify" or enhanced:
        for operation, names in (
            ("$add", settings.traits_to_increment),
            ("$setOnce", settings.traits_to_set_once),
            ("$append", settings.traits_to_append),
            ("$prepend", settings.traits_to_prepend),
        ):
            if names and traits:
                operations[operation] = pick(traits, names)
                traits = without(traits, names)
        unset = _unset(event)
        if unset:
            operations["$unset"] = unset
            traits = without(traits, unset) if enhanced else traits
    return {**_user_set(settings, {**_origin(event), **nest_dotted(traits)}), **operations}


def _user_set(settings: AmplitudeSettings, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"$set": properties} if settings.enable_enhanced_user_operations else properties


def _origin(event: Event) -> dict[str, Any]:
    """Return the user's origin: referrer and campaign."""
    page, campaign = as_object(event.context.get("page")), as_object(event.context.get("campaign"))
    first_page = {key: page[key] for key in ("initial_referrer", "initial_referring_domain") if key in page}
    return {**first_page, **{f"utm_{key}": value for key, value in campaign.items()}}


def _unset(event: Event) -> dict[str, str]:
    """Return the properties to unset; Amplitude requires a value for each, but ignores it."""
    names = destination.options(event).get("fieldsToUnset")
    return {str(name): "-" for name in names} if isinstance(names, list) else {}


def _event_id(event: Event) -> dict[str, float]:
    number = destination.options(event).get("event_id")
    return {"event_id": number} if isinstance(number, (int, float)) else {}


def _post(settings: AmplitudeSettings, event: Mapping[str, Any]) -> Payload:
    body = {"api_key": settings.api_key.reveal(), "events": [event], "options": {"min_id_length": 1}}
    return API.post(settings, "2/httpapi", body)


def _form(settings: AmplitudeSettings, path: str, field: str, value: Mapping[str, Any]) -> Payload:
    """Return a change of a group or a user mapping, as JSON text in a form."""
    form = {"api_key": settings.api_key.reveal(), field: [json_text(value)]}
    return Payload(endpoint=_HOSTS[settings.residency_server] + path, form=form)


destination.judge(judge)
