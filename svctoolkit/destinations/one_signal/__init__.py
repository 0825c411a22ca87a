"""OneSignal: people with tags, and the devices, e-mail addresses and telephone numbers that messages reach them at.

With version V1 (the device model) identify adds devices or updates one, and track and group set tags on all devices of
the user. With V2 (the user model) each event creates or updates a user: tags, purchases, subscriptions.
Tags are texts; an empty one deletes the tag. track and group take the properties that the configuration allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    COUNTRY,
    EMAIL,
    PHONE,
    TIME,
    USER_ID,
    Table,
    agent,
    as_object,
    compact,
    event_key,
    event_name,
    first,
    in_url,
    number,
    products,
    required,
    seconds,
    string,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_V1 = "https://onesignal.com/api/v1"
_V2 = "https://api.onesignal.com"
_HEADERS = {"Accept": "application/json", "Content-Type": "application/json"}
_PARTNER = {"OneSignal-Usage": "Rudderstack | Partner Integration"}
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


_CREATED = seconds(first(trait("createdAt"), TIME))
DEVICE = Table(
    {
        "device_model": "context.device.model",
        "device_os": "context.os.version",
        "timezone": "context.timezone",
        "laguage": "context.locale",  # the service writes it so, and OneSignal, which reads `language`, passes over it
        "created_at": _CREATED,
        "last_active": _CREATED,
        "country": COUNTRY,
        "external_user_id": string(USER_ID),
    }
)
USER = Table(
    {
        "timezone_id": "context.timezone",
        "laguage": "context.locale",
        "created_at": _CREATED,
        "last_active": _CREATED,
        "first_active": seconds(trait("first_active")),
        "country": COUNTRY,
    }
)
SUBSCRIPTION = Table({"device_model": "context.device.model", "device_os": "context.os.version"})
PURCHASE = Table(
    {"sku": first("product_id", "sku"), "amount": "price", "iso": "currency", "count": "quantity"},
    of="properties.products",
)
IDENTITY = Table({"external_id": string(USER_ID)})
ALL_DEVICES = Table({"id": required(string(USER_ID))})
GROUP = Table({"groupId": required("groupId")})


@destination.on("identify")
def send_person(event: Event, settings: OneSignalSettings) -> Iterator[Payload]:
    """V2: one user. V1: the device that `externalId.playerId` names, else a device for each way to reach the user."""
    traits = {**as_object(event.context.get("traits")), **as_object(event.raw.get("traits"))}
    tags = {key: value for key, value in traits.items() if isinstance(value, str)}
    if event.raw.get("anonymousId"):
        tags["anonymousId"] = event.raw["anonymousId"]
    devices = list(_devices(event, settings))
    if settings.version == "V2":
        about = {**USER(event), **compact({"tags": tags})}
        yield _user(event, settings, about, list(_subscriptions(event, traits, devices)))
        return
    device = {**DEVICE(event), "app_id": settings.app_id.reveal(), **compact({"tags": tags})}
    player = value_of(event, "context.externalId.playerId")
    if player:
        yield _v1("PUT", f"/players/{in_url(player)}", device)
        return
    if not devices:
        raise MappingError(
            "needs a device: context.device.token with type ios or android, a userAgent of Chrome, Firefox or Safari "
            "and an anonymousId, or deviceType and identifier in the event's integrations",
            field="context.device.token",
        )
    for kind, identifier in devices:
        device_type = _KINDS[kind][0] if kind in _KINDS else _device_type(kind)
        yield _v1("POST", "/players", {**device, "device_type": device_type, "identifier": identifier})


@destination.on("track")
def send_event(event: Event, settings: OneSignalSettings) -> Payload:
    """The event's name becomes a tag that is true. V2 knows the products of Order Completed as purchases too."""
    name = event_name(event)
    own = _allow(event.properties, settings)
    if settings.event_as_tags:
        own = {f"{name}_{key}": value for key, value in own.items()}
    bought: dict[str, Any] = {}
    if event_key(event) == "order_completed":
        items = [PURCHASE(item) for item in products(event) or [event.properties]]
        bought = {"purchases": [item for item in items if item]}
    return _tag_user(event, settings, {name: True, **own}, bought)


@destination.on("group")
def send_group(event: Event, settings: OneSignalSettings) -> Payload:
    return _tag_user(event, settings, {**_allow(event.traits, settings), **GROUP(event)}, {})


def _allow(members: Mapping[str, Any], settings: OneSignalSettings) -> dict[str, str]:
    found = {key: members.get(key) for key in settings.allowed_properties}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _devices(event: Event, settings: OneSignalSettings) -> Iterator[tuple[str, Any]]:
    """Each way to reach the user: a key of `_KINDS`, or a type that the event names itself; and the address."""
    for wanted, kind, leaf in (
        (settings.email_device_type, "email", EMAIL),
        (settings.sms_device_type, "phone", PHONE),
    ):
        address = value_of(event, leaf)
        if wanted and address:
            yield kind, address
    own, device = destination.options(event), as_object(event.context.get("device"))
    if own.get("deviceType") not in (None, "") and own.get("identifier"):
        yield str(own["deviceType"]), own["identifier"]
        return
    kind, address = "", None
    if event.raw.get("channel") == "mobile":
        kind, address = str(device.get("type") or "").lower(), device.get("token") or device.get("id")
    elif event.raw.get("channel") == "web":
        kind, address = agent(event.context.get("userAgent")).browser.lower(), event.raw.get("anonymousId")
    if kind in _KINDS and address:
        yield kind, address


def _device_type(written: str) -> int | float:
    where = "integrations.one_signal.deviceType"
    try:
        return number.of(written)
    except ValueError as error:
        raise MappingError(f"{where}: {error}", field=where) from error


def _subscriptions(event: Event, traits: Mapping[str, Any], devices: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    """`traits.subscriptions` may say more about each: under `email`, `phone`, or OneSignal's name of the type."""
    details = as_object(traits.get("subscriptions"))
    for kind, token in devices:
        type_ = _KINDS[kind][1] if kind in _KINDS else kind
        more = as_object(details.get(kind) or details.get(type_))
        yield {**SUBSCRIPTION(event), **more, "type": type_, "token": token}


def _tag_user(event: Event, settings: OneSignalSettings, tags: Mapping[str, Any], bought: Mapping[str, Any]) -> Payload:
    """Tags for a user whom the event must name: V1 has them on the user's devices, and knows no purchases there."""
    if settings.version == "V1":
        user = ALL_DEVICES(event)["id"]
        return _v1("PUT", f"/apps/{settings.app_id.reveal()}/users/{in_url(user)}", {"tags": tags})
    if not _identity(event):
        where = "userId or integrations.one_signal.aliases"
        raise MappingError(f"needs a value at {where}", field=where)
    return _user(event, settings, {"tags": tags, **bought}, [])


def _identity(event: Event) -> dict[str, Any]:
    return {**as_object(destination.options(event).get("aliases")), **IDENTITY(event)}


def _user(
    event: Event,
    settings: OneSignalSettings,
    properties: Mapping[str, Any],
    subscriptions: list[dict[str, Any]],
) -> Payload:
    body = {"properties": properties, "identity": _identity(event), "subscriptions": subscriptions}
    return Payload(
        endpoint=f"{_V2}/apps/{settings.app_id.reveal()}/users",
        headers=_HEADERS,
        json=compact(body),
    )


def _v1(method: Literal["POST", "PUT"], path: str, body: Mapping[str, Any]) -> Payload:
    return Payload(endpoint=_V1 + path, method=method, headers={**_HEADERS, **_PARTNER}, json=body)
