"""OneSignal: users with tags, and the devices, e-mail addresses and phone numbers that receive their messages.

With version V1 (the device model) identify adds devices or updates one, and track and group set tags on all devices of
the user. With V2 (the user model) each event creates or updates a user: tags, purchases, subscriptions.
Tags are strings; an empty string deletes the tag. track and group send the properties that the configuration allows.
https://documentation.onesignal.com/reference/create-user
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    DestinationType,
    Endpoint,
    Header,
    Payload,
    Settings,
    Tags,
)
from svctoolkit.events import Event
from svctoolkit.mapping import (
    COUNTRY,
    EMAIL_OR_EXTERNAL_ID,
    PHONE,
    TIME,
    USER_ID,
    Misfit,
    Missing,
    Table,
    WrongValue,
    agent,
    as_object,
    compact,
    first,
    in_url,
    js_join,
    lenient_seconds,
    number,
    required,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.secrets import Secret

#: Names of a device type: in the device model, in the user model
_KINDS: dict[str, tuple[int, str]] = {
    "ios": (0, "iOSPush"),
    "android": (1, "AndroidPush"),
    "chrome": (5, "ChromePush"),
    "safari": (7, "SafariPush"),
    "firefox": (8, "FirefoxPush"),
    "email": (11, "Email"),
    "phone": (14, "SMS"),
}


class OneSignalSettings(Settings, frozen=True, kw_only=True):
    app_id: Secret
    version: Literal["V1", "V2"] = "V1"
    email_device_type: bool = False
    sms_device_type: bool = False
    event_as_tags: bool = False
    allowed_properties: Tags = Tags()


destination = DestinationType(
    "OneSignal",
    OneSignalSettings,
    docs="https://documentation.onesignal.com/reference/create-user",
    names=("ONE_SIGNAL",),
    quirks=[
        "The language is sent as laguage, which OneSignal ignores.",
        "With the user model, group sets only the tag groupId; its traits are not sent.",
        "A product's amount and currency are read from amount and iso, not from price and currency.",
        "With the user model, a mobile device becomes a subscription only if the event's integrations have deviceType "
        "and identifier.",
        "Every track event of the user model has purchases; without products, its properties are one purchase.",
    ],
    answers=[
        Answer("success", 200, {"success": True, "id": "ffffb794-ba37-11e3-8077-031d62f86ebf"}, at="/players"),
        Answer("success", 200, {"success": True}, at="/api/v1/"),
        Answer("success", 201, {"identity": {"onesignal_id": "567491ee-9105-4a87-9cbc-ed78a571645b"}}),
        Answer("bad key", 400, {"errors": ["app_id not found"]}),
        Answer("rate limit", 429, {"errors": ["API rate limit exceeded"]}, headers={"Retry-After": "30"}),
        Answer("invalid field", 400, {"success": False, "errors": ["Invalid device_type"]}, at="/players"),
        Answer("invalid field", 400, {"errors": [{"code": "payload-1", "title": "Invalid subscription type"}]}),
    ],
    differences=["If an event's name is an object, its tag is JSON; RudderStack's is `[object Object]`."],
)

V1 = Endpoint(
    "https://onesignal.com/api/v1",
    ACCEPT_JSON,
    JSON,
    Header("OneSignal-Usage", "Rudderstack | Partner Integration"),
)
V2 = Endpoint("https://api.onesignal.com/apps/{app_id}", ACCEPT_JSON, JSON)


_CREATED = lenient_seconds(first(trait("createdAt"), TIME))
DEVICE = Table(
    {
        "device_model": "context.device.model",
        "device_os": "context.os.version",
        "timezone": "context.timezone",
        "laguage": "context.locale",
        "created_at": _CREATED,
        "last_active": _CREATED,
        "country": COUNTRY,
        "external_user_id": USER_ID,
    }
)
USER = Table(
    {
        "ip": "context.ip",
        "lat": "context.location.latitude",
        "long": "context.location.longitude",
        "timezone_id": "context.timezone",
        "laguage": "context.locale",
        "created_at": _CREATED,
        "last_active": _CREATED,
        "first_active": lenient_seconds(trait("firstActive")),
        "country": COUNTRY,
    }
)
#: OneSignal's names for the members of a product
_PURCHASE = (("sku", "sku"), ("amount", "amount"), ("iso", "iso"), ("count", "quantity"))
GROUP = Table({"groupId": required(first("groupId", trait("groupId")))})
_user_id, _email, _phone = getter(USER_ID), getter(EMAIL_OR_EXTERNAL_ID), getter(PHONE)
_player = getter("context.externalId.playerId")


@destination.on("identify")
def send_person(event: Event, settings: OneSignalSettings) -> Iterator[Payload]:
    """Yield one user (V2), or the device `externalId.playerId`, else a device for each contact channel (V1)."""
    given = event.raw.get("traits")
    given = event.context.get("traits") if given is None else given
    traits = as_object(given)
    tags = {key: value for key, value in traits.items() if isinstance(value, str)}
    if given is not None and event.raw.get("anonymousId"):
        tags["anonymousId"] = event.raw["anonymousId"]
    addresses, device = _addresses(event, settings), _device(event, settings)
    if settings.version == "V2":
        about = {**USER(event), **compact({"tags": tags})}
        yield _user(event, settings, about, list(_subscriptions(event, traits, [*device, *addresses])))
        return
    body = {**DEVICE(event), "app_id": settings.app_id.reveal(), **compact({"tags": tags})}
    if player := _player(event.raw):
        yield V1.put(settings, f"players/{in_url(player)}", body)
        return
    if not addresses and not device:
        raise Missing(
            "context.device.token",
            wants="a device",
            why=(
                "send context.device.token with type ios or android, a userAgent of Chrome, Firefox or Safari with an "
                "anonymousId, or deviceType and identifier in the event's integrations"
            ),
        )
    for kind, identifier in [*addresses, *device]:
        device_type = _KINDS[kind][0] if kind in _KINDS else _device_type(kind)
        yield V1.post(settings, "players", {**body, "device_type": device_type, **compact({"identifier": identifier})})


@destination.on("track")
def send_event(event: Event, settings: OneSignalSettings) -> Payload:
    """Set the event's name as a tag with the value true. V2 also sends products as purchases."""
    name = event.raw.get("event")
    if not name:
        raise Missing("event", wants="the name of the event")
    own = _allow(event.properties, settings)
    if settings.event_as_tags:
        own = {f"{js_join(name)}_{key}": value for key, value in own.items()}
    return _tag_user(event, settings, {js_join(name): True, **own}, {"purchases": _purchases(event)})


def _purchases(event: Event) -> list[dict[str, Any]]:
    """Return the products, or the single one that the properties describe."""
    products = event.properties.get("products")
    if isinstance(products, list):
        return [_purchase(product) for product in products if isinstance(product, dict)]
    return [item for item in [_purchase(event.properties)] if item]


def _purchase(product: Mapping[str, Any]) -> dict[str, Any]:
    return {name: product[key] for name, key in _PURCHASE if key in product}


@destination.on("group")
def send_group(event: Event, settings: OneSignalSettings) -> Payload:
    tags = _allow(event.traits, settings) if settings.version == "V1" else {}
    return _tag_user(event, settings, {**tags, **GROUP(event)}, {})


def _allow(members: Mapping[str, Any], settings: OneSignalSettings) -> dict[str, str]:
    allowed = {key: members.get(key) for key in settings.allowed_properties}
    return {key: value for key, value in allowed.items() if isinstance(value, str)}


def _addresses(event: Event, settings: OneSignalSettings) -> list[tuple[str, Any]]:
    """Return the user's addresses other than devices: a key of `_KINDS`, and the address."""
    email = _email(event.raw) if settings.email_device_type else None
    phone = _phone(event.raw) if settings.sms_device_type else None
    return [(kind, address) for kind, address in (("email", email), ("phone", phone)) if address]


def _device(event: Event, settings: OneSignalSettings) -> list[tuple[str, Any]]:
    """Return the device, if any: a key of `_KINDS` or a type given by the event, and its token."""
    own, device = destination.options(event), as_object(event.context.get("device"))
    if own.get("deviceType") not in (None, "") and own.get("identifier"):
        return [(str(own["deviceType"]), own["identifier"])]
    kind, address = "", None
    if event.raw.get("channel") == "mobile" and settings.version == "V1":
        kind, address = str(device.get("type") or "").lower(), device.get("token") or device.get("id")
    elif event.raw.get("channel") == "web":
        kind, address = agent(event.context.get("userAgent")).browser.lower(), event.raw.get("anonymousId")
    return [(kind, address)] if kind in _KINDS else []


_LAST_KIND = 14


def _device_type(written: str) -> int | float:
    where = "integrations.one_signal.deviceType"
    try:
        found = number.of(written)
    except WrongValue as error:
        raise Misfit(where, error.expected, written, case=error.case) from error
    if not 0 <= found <= _LAST_KIND:
        raise Misfit(where, f"a device type from 0 to {_LAST_KIND}", written, case="kind")
    return found


def _subscriptions(event: Event, traits: Mapping[str, Any], devices: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the subscriptions. `traits.subscriptions` can add fields: by `email`, `phone` or OneSignal's type."""
    details, context = as_object(traits.get("subscriptions")), event.context
    device, system = as_object(context.get("device")), as_object(context.get("os"))
    about_device = {
        **({"device_model": device["model"]} if "model" in device else {}),
        **({"device_os": system["version"]} if "version" in system else {}),
    }
    for kind, token in devices:
        if token and (isinstance(token, str) or kind not in ("email", "phone")):
            type_ = _KINDS[kind][1] if kind in _KINDS else kind
            yield {**about_device, **as_object(details.get(kind) or details.get(type_)), "type": type_, "token": token}


def _tag_user(event: Event, settings: OneSignalSettings, tags: Mapping[str, Any], bought: Mapping[str, Any]) -> Payload:
    """Return tags for the event's user. V1 sets them on the user's devices, and does not support purchases."""
    if settings.version == "V1":
        user = _user_id(event.raw)
        if user is None:
            raise Missing("userId")
        return V1.put(settings, f"apps/{settings.app_id.reveal()}/users/{in_url(js_join(user))}", {"tags": tags})
    return _user(event, settings, {"tags": tags, **bought}, [])


def _identity(event: Event) -> dict[str, Any]:
    """Return the user ID, else the aliases from the event's integrations. Raises `MappingError` without either."""
    user = _user_id(event.raw)
    aliases = as_object(destination.options(event).get("aliases"))
    if user is None and not aliases:
        raise Missing("userId", "integrations.one_signal.aliases")
    return dict(aliases) if user is None else {"external_id": user}


def _user(
    event: Event,
    settings: OneSignalSettings,
    properties: Mapping[str, Any],
    subscriptions: list[dict[str, Any]],
) -> Payload:
    body = {"properties": properties, "identity": _identity(event), "subscriptions": subscriptions}
    return V2.post(settings, "users", compact(body))
