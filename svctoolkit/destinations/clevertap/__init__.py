"""CleverTap: profiles, device tokens and events.

identify writes the profile and, if anonymous IDs are CleverTap's object IDs, the device token. track, page and screen
are events; `Order Completed` is a charge with its items. alias adds an identity to a profile. Lists and objects are
sent as JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from svctoolkit.destinations import Answer, DestinationType, Merge, Payload, Settings
from svctoolkit.destinations.clevertap._deletion import deletion
from svctoolkit.destinations.clevertap._judge import judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    USER_ID,
    Misfit,
    Missing,
    Source,
    Table,
    Unsupported,
    as_object,
    compact,
    custom_traits,
    first,
    js_join,
    json_text,
    moment,
    platform,
    required,
    text,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_GENDERS = {"M": ("m", "male", "man"), "F": ("f", "female", "woman", "w")}


class ClevertapSettings(Settings, frozen=True, kw_only=True):
    account_id: str | None = None
    passcode: Secret | None = None
    region: Literal["none", "in1", "sg1", "us1", "sk1", "aps3", "mec1"] = "none"
    track_anonymous: bool = False
    enable_object_id_mapping: bool = False


destination = DestinationType(
    "CleverTap",
    ClevertapSettings,
    docs="https://developer.clevertap.com/docs/upload-user-profiles-api",
    quirks=["Traits without their own field are taken from the context first, others from the event first."],
    answers=[
        Answer("success", 200, {"status": "success", "processed": 1, "unprocessed": []}),
        Answer("bad key", 401, {"status": "fail", "error": "Unauthorized", "code": 401}),
        Answer("rate limit", 429, {"status": "fail", "error": "Too many concurrent requests", "code": 429}),
        Answer(
            "invalid field",
            200,
            {"status": "partial", "processed": 0, "unprocessed": [{"status": "fail", "code": 509, "error": "..."}]},
        ),
    ],
    merges=[Merge("d", limit=1000, batched=False, single=False)],
)

PROFILE = Table(
    {
        "Email": trait("email"),
        "Name": trait("name"),
        "Phone": trait("phone"),
        "Employed": trait("employed"),
        "DOB": trait("birthday"),
        "Education": trait("education"),
        "Married": trait("married"),
        "Customer Type": trait("customerType"),
        "Photo": trait("avatar"),
    }
)
GENDER, TIME, ACTION_TIME = trait("gender"), trait("ts"), first("properties.ts")
IDENTITY = first(USER_ID, "anonymousId")
ACTOR = Table({"identity": IDENTITY})
TOKEN = Table({"id": required("context.device.token")})
CHARGE = Table({"Charged ID": "properties.checkout_id", "Amount": "properties.revenue"})
_NOT_CUSTOM = frozenset({
    "anonymousId", "avatar", "birthday", "customerType", "education", "email", "employed", "firstName", "first_name",
    "firstname", "gender", "id", "lastName", "last_name", "lastname", "married", "name", "overrideFields", "phone",
    "ts", "userId",
})  # fmt: skip
_IN_CHARGE = frozenset({"checkout_id", "revenue", "products", "ts"})

OVERRIDES = trait("overrideFields")


@destination.on("identify")
def send_person(event: Event, settings: ClevertapSettings) -> Iterator[Payload]:
    """Return the profile, then the device token."""
    anonymous_id, identity = event.raw.get("anonymousId"), value_of(event, USER_ID)
    profile = {
        key: value if key == "category-unsubscribe" else _plain(value)
        for key, value in _profile(event).items()
        if value is not None
    }
    body = {"type": "profile", "profileData": profile, **_time(event, TIME)}
    if not (settings.enable_object_id_mapping and anonymous_id):
        yield _upload(settings, {**body, "identity": value_of(event, IDENTITY)})
        return
    if identity:
        profile["identity"] = identity
    yield _upload(settings, {**body, "objectId": anonymous_id})
    token = _token(event)
    if token:
        yield _upload(settings, {"type": "token", "tokenData": token, "objectId": anonymous_id})


@destination.on("track", "page", "screen")
def send_action(event: Event, settings: ClevertapSettings) -> Payload:
    """Return an event; a completed order is a charge. A setting enables events of anonymous users."""
    if not (settings.track_anonymous or value_of(event, USER_ID)):
        raise Unsupported("events of anonymous users", setting="trackAnonymous", field="userId")
    properties = {key: _plain(value) for key, value in event.properties.items()}
    name = event.raw.get("event")
    if event.type != "track":
        shown = name or event.properties.get("event") or event.raw.get("name")
        name = f"{'Web Page' if event.type == 'page' else 'Screen'} Viewed" + (f": {text(shown)}" if shown else "")
    elif not name:
        raise Missing("event")
    elif isinstance(name, str) and name.lower() == "order completed":
        name, properties = "Charged", _charge(event, properties)
    if settings.enable_object_id_mapping and not event.raw.get("anonymousId") and not value_of(event, USER_ID):
        raise Missing("anonymousId", "userId")
    body = {"evtName": name, "evtData": properties, "type": "event", **_time(event, ACTION_TIME)}
    if settings.enable_object_id_mapping and event.raw.get("anonymousId"):
        return _upload(settings, {**body, "objectId": event.raw["anonymousId"]})
    return _upload(settings, {**body, **ACTOR(event)})


@destination.on("alias")
def send_alias(event: Event, settings: ClevertapSettings) -> Payload:
    """Add `userId` as an identity of the profile that `previousId` identifies."""
    identity = {"identity": event.raw["previousId"]} if "previousId" in event.raw else {}
    data = {"identity": event.raw["userId"]} if "userId" in event.raw else {}
    when = {"ts": None} if "ts" in as_object(event.context.get("traits")) else {}
    return _upload(settings, {"type": "profile", "profileData": data, **when, **_time(event, TIME), **identity})


def _profile(event: Event) -> dict[str, Any]:
    """Return CleverTap's own fields and custom ones. `overrideFields` are sent unchanged."""
    out: dict[str, Any] = PROFILE(event)
    if "Name" not in out:
        names = (value_of(event, FIRST_NAME), value_of(event, LAST_NAME))
        out |= compact({"Name": " ".join(map(js_join, names)) if all(names) else ""})
    gender = value_of(event, GENDER)
    letter = next((key for key, words in _GENDERS.items() if isinstance(gender, str) and gender.lower() in words), None)
    out |= compact({"Gender": letter}) | (custom_traits(event, _NOT_CUSTOM) or {})
    return {**out, **_spread(value_of(event, OVERRIDES))}


def _spread(value: Any) -> Mapping[str, Any]:
    """Return the members of an object; those of a string or a list are named by their position, as in JavaScript."""
    if isinstance(value, (str, list)):
        return {str(place): item for place, item in enumerate(value)}
    return as_object(value)


def _charge(event: Event, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the order as a charge: its amount, its number and its items."""
    products = event.properties.get("products")
    if products is not None and not isinstance(products, list):
        where = "properties.products"
        raise Misfit(where, "a list of the items of the charge", products)
    own = {key: value for key, value in properties.items() if key not in _IN_CHARGE}
    return {**own, **CHARGE(event), **({} if products is None else {"Items": products})}


def _token(event: Event) -> dict[str, Any]:
    """Return the token of the device, or of the browser in the event's options."""
    device, os = as_object(event.context.get("device")), as_object(event.context.get("os"))
    service = {"ios": "apns", "android": "fcm"}.get(platform(os.get("name")))
    if not device.get("token") or service is None:
        return {}
    options = destination.options(event)
    if service == "fcm" and options.get("deviceTokenType") == "chrome":
        service = "chrome"
    return {**TOKEN(event), "type": service, **compact({"keys": compact(as_object(options.get("chromeKeys")))})}


def _time(event: Event, source: Source) -> dict[str, Any]:
    """Return the time of the event in seconds; null for an invalid time."""
    when = value_of(event, source)
    if when is None:
        return {}
    if isinstance(when, str) and not when.isdecimal():
        time = moment(when)
        return {"ts": None if time is None else int(time.timestamp())}
    return {"ts": when}


def _plain(value: Any) -> Any:
    return json_text(value) if isinstance(value, (list, dict)) else value


def _upload(settings: ClevertapSettings, record: Mapping[str, Any]) -> Payload:
    host = "api.clevertap.com" if settings.region == "none" else f"{settings.region}.api.clevertap.com"
    headers = {
        "X-CleverTap-Account-Id": settings.account_id,
        "X-CleverTap-Passcode": None if settings.passcode is None else settings.passcode.reveal(),
        "Content-Type": "application/json",
    }
    return Payload(
        endpoint=f"https://{host}/1/upload",
        headers={key: value for key, value in headers.items() if value is not None},
        json={"d": [record]},
    )


destination.judge(judge)
destination.deletes_with(deletion)
