"""OneSignal: people with tags, and the devices, e-mail addresses and telephone numbers that messages reach them at.

With version V1 (the device model) identify adds devices or updates one, and track and group set tags on all devices of
the user. With V2 (the user model) each event creates or updates a user: tags, purchases, subscriptions.
Tags are texts; an empty one deletes the tag. track and group take the properties that the configuration allows.
https://documentation.onesignal.com/reference/create-user

Decisions. An event's name that is an object is a tag as JSON, where that of the service is `[object Object]`.
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
    in_words,
    lenient_seconds,
    number,
    required,
    trait,
)
from svctoolkit.mapping.table import getter
from svctoolkit.secrets import Secret

#: What a device is called: by the device model, by the user model
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
        "The language is sent as laguage, which OneSignal passes over.",
        "With the user model a group sets the tag groupId alone; its traits are not sent.",
        "A product's amount and currency are read from amount and iso, not from price and currency.",
        "With the user model a mobile device is no subscription, unless the event's integrations say deviceType and "
        "identifier.",
        "Every track event of the user model has purchases, one without products one that its properties tell of.",
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
#: what OneSignal calls the members of a product
_PURCHASE = (("sku", "sku"), ("amount", "amount"), ("iso", "iso"), ("count", "quantity"))
GROUP = Table({"groupId": required(first("groupId", trait("groupId")))})
_user_id, _email, _phone = getter(USER_ID), getter(EMAIL_OR_EXTERNAL_ID), getter(PHONE)
_player = getter("context.externalId.playerId")


@destination.on("identify")
def send_person(event: Event, settings: OneSignalSettings) -> Iterator[Payload]:
    """V2: one user. V1: the device that `externalId.playerId` names, else a device for each way to reach the user."""
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
    """The event's name becomes a tag that is true. V2 knows products as purchases too."""
    name = event.raw.get("event")
    if not name:
        raise Missing("event", wants="the name of the event")
    own = _allow(event.properties, settings)
    if settings.event_as_tags:
        own = {f"{in_words(name)}_{key}": value for key, value in own.items()}
    return _tag_user(event, settings, {in_words(name): True, **own}, {"purchases": _purchases(event)})


def _purchases(event: Event) -> list[dict[str, Any]]:
    """The products, or the one that the properties tell of."""
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
    """Where the user is reached without a device: a key of `_KINDS`, and the address."""
    email = _email(event.raw) if settings.email_device_type else None
    phone = _phone(event.raw) if settings.sms_device_type else None
    return [(kind, address) for kind, address in (("email", email), ("phone", phone)) if address]


def _device(event: Event, settings: OneSignalSettings) -> list[tuple[str, Any]]:
    """The device, if there is one: a key of `_KINDS` or a type that the event names itself, and its token."""
    own, device = destination.options(event), as_object(event.context.get("device"))
    if own.get("deviceType") not in (None, "") and own.get("identifier"):
        return [(str(own["deviceType"]), own["identifier"])]
    kind, address = "", None
    if event.raw.get("channel") == "mobile" and settings.version == "V1":
        kind, address = str(device.get("type") or "").lower(), device.get("token") or device.get("id")
    elif event.raw.get("channel") == "web":
        kind, address = agent(event.context.get("userAgent")).browser.lower(), event.raw.get("anonymousId")
    return [(kind, address)] if kind in _KINDS else []


def _device_type(written: str) -> int | float:
    where = "integrations.one_signal.deviceType"
    try:
        return number.of(written)
    except WrongValue as error:
        raise Misfit(where, error.expected, written, case=error.case) from error


def _subscriptions(event: Event, traits: Mapping[str, Any], devices: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    """`traits.subscriptions` may say more about each: under `email`, `phone`, or OneSignal's name of the type."""
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
    """Tags for a user whom the event must name: V1 has them on the user's devices, and knows no purchases there."""
    if settings.version == "V1":
        user = _user_id(event.raw)
        if user is None:
            raise Missing("userId")
        return V1.put(settings, f"apps/{settings.app_id.reveal()}/users/{in_url(in_words(user))}", {"tags": tags})
    return _user(event, settings, {"tags": tags, **bought}, [])


def _identity(event: Event) -> dict[str, Any]:
    """The user's ID, else the aliases of the event's integrations. Raises `MappingError` for an event without any."""
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
