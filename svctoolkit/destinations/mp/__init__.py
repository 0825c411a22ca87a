"""Mixpanel: events through its import API, users and groups through its profile APIs.

identify sets a profile (`$set`, and as configured `$set_once`, `$union`, `$append`); track, page and screen become
events; group sets a group's profile and the user's membership; alias joins two IDs. A track event with a revenue also
appends a transaction to the profile, and increments the configured properties there.

A token is required here; RudderStack sends requests without one. An `originalTimestamp` of null counts as missing here,
and as 1970 in RudderStack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Payload,
    Settings,
    Tags,
    by_setting,
)
from svctoolkit.destinations.mp._batches import batch
from svctoolkit.destinations.mp._deletion import deletion
from svctoolkit.destinations.mp._judge import answer_batch, judge
from svctoolkit.destinations.mp._people import Traits, browser, person
from svctoolkit.destinations.mp._tables import ADDRESS, EVENT, PERSON
from svctoolkit.events import Event
from svctoolkit.mapping import (
    TIME_EXAMPLE,
    Misconfigured,
    Misfit,
    Missing,
    Unsupported,
    as_object,
    basic_auth,
    check_age,
    epoch_ms,
    fill_from,
    iso_ms,
    js_join,
    moment,
    path,
)
from svctoolkit.secrets import Secret

_HOSTS = {"us": "https://api.mixpanel.com", "eu": "https://api-eu.mixpanel.com", "in": "https://api-in.mixpanel.com"}
_FIVE_YEARS = timedelta(days=5 * 365)


class MixpanelSettings(Settings, frozen=True, kw_only=True):
    token: str
    data_residency: Literal["us", "eu", "in"] = "us"
    identity_merge_api: Literal["simplified", "original"] = "original"
    api_secret: Secret = Secret("")
    service_account_user_name: str = ""
    service_account_secret: Secret = Secret("")
    project_id: str = ""
    strict_mode: bool = False
    use_new_mapping: bool = False
    drop_traits_in_track_event: bool = False
    use_user_defined_page_event_name: bool = False
    user_defined_page_event_template: str = ""
    use_user_defined_screen_event_name: bool = False
    user_defined_screen_event_template: str = ""
    group_key_settings: Tags = Tags()
    prop_increments: Tags = Tags()
    set_once_properties: Tags = Tags()
    union_properties: Tags = Tags()
    append_properties: Tags = Tags()


destination = DestinationType(
    "Mixpanel",
    MixpanelSettings,
    docs="https://developer.mixpanel.com/reference/overview",
    names=("MP",),
    earlier=("apiSecret",),
    answers=[
        Answer("success", 200, {"code": 200, "num_records_imported": 1, "status": "OK"}, at="/import"),
        Answer("success", 200, {"error": None, "status": 1}),
        Answer("bad key", 401, {"code": 401, "error": "Invalid credentials", "status": "Unauthorized"}, at="/import"),
        Answer("bad key", 200, {"error": "token, missing or empty", "status": 0}),
        Answer(
            "rate limit", 429, {"code": 429, "error": "Project exceeded rate limits.", "status": "Too Many Requests"}
        ),
        Answer(
            "invalid field",
            400,
            {
                "code": 400,
                "error": "some data points in the request failed validation",
                "status": "Bad Request",
                "num_records_imported": 0,
                "failed_records": [{"index": 0, "field": "properties.time", "message": "'properties.time' is invalid"}],
            },
            at="/import",
        ),
        Answer("invalid field", 200, {"error": "invalid 'properties' value", "status": 0}),
    ],
    quirks=[
        "A timestamp of null counts as 1970, which Mixpanel's import rejects.",
        "With simplified ID merge, identify without user ID and anonymous ID sends no `$distinct_id`.",
    ],
    differences=[
        "RudderStack's recorded batches without a fixed time contain events that are now older than Mixpanel accepts."
    ],
    needs=["clock"],
)

API = Endpoint(by_setting("data_residency", _HOSTS), JSON, body="json_array")
destination.batch(batch, may_refuse=False)
destination.deletes_with(deletion)


@destination.on("identify")
def send_person(event: Event, settings: MixpanelSettings) -> Iterator[Payload]:
    """Yield the configured property lists first, each with its own operation, then `$set` with the rest."""
    traits = Traits(as_object(event.raw.get("traits")), as_object(event.context.get("traits")))
    for operation, names in (
        ("$set_once", settings.set_once_properties),
        ("$union", settings.union_properties),
        ("$append", settings.append_properties),
    ):
        listed, traits = traits.split(names)
        if listed:
            change = {**PERSON(Event({"traits": listed})), **PERSON.rest(listed, "traits")}
            if operation == "$union":
                change = {key: value if isinstance(value, list) else [value] for key, value in change.items()}
            yield _profile(event, settings, {operation: change})
    yield _profile(
        event, settings, {"$set": person(event, traits, new_names=settings.use_new_mapping)}, _profile_meta(event)
    )
    user, anonymous = event.raw.get("userId"), event.raw.get("anonymousId")
    if settings.identity_merge_api == "original" and user and anonymous:
        yield _import(
            settings, "$merge", {"$distinct_ids": [js_join(user), js_join(anonymous)], "token": settings.token}
        )


@destination.on("track")
def send_event(event: Event, settings: MixpanelSettings, context: Context) -> Iterator[Payload]:
    """Yield the profile updates for revenue and increments, then the event itself."""
    name = event.raw.get("event")
    revenue = event.properties.get("revenue")
    if revenue:
        charge = {"$time": iso_ms.of(_time(event)), "$amount": revenue}
        yield _profile(event, settings, {"$append": {"$transactions": charge}})
    added = {key: event.properties[key] for key in settings.prop_increments if event.properties.get(key)}
    if added:
        yield _profile(event, settings, {"$add": added})
    traits = {} if settings.drop_traits_in_track_event else as_object(event.context.get("traits"))
    yield _event(event, settings, context, name, {**event.properties, **traits})


@destination.on("page", "screen")
def send_page(event: Event, settings: MixpanelSettings, context: Context) -> Payload:
    """Return `Loaded a Page` or `Loaded a Screen`, or an event with a user-defined name."""
    own, template = settings.use_user_defined_page_event_name, settings.user_defined_page_event_template
    if event.type == "screen":
        own, template = settings.use_user_defined_screen_event_name, settings.user_defined_screen_event_template
    if own and not template:
        raise Misconfigured(
            f"userDefined{event.type.title()}EventTemplate",
            "is required, because the configuration enables user-defined names",
        )
    name = fill_from(template, event.raw) if own else f"Loaded a {event.type.title()}"
    titles = {key: event.raw[key] for key in ("name", "category") if event.raw.get(key)}
    return _event(
        event, settings, context, name, {**as_object(event.context.get("traits")), **event.properties}, titles
    )


@destination.on("group")
def send_group(event: Event, settings: MixpanelSettings) -> Iterator[Payload]:
    """Yield, for each group key of the event, the user's membership and then one profile per group."""
    if not settings.group_key_settings:
        raise Misconfigured("groupKeySettings", "is required for groups: set the group keys, such as `company`")
    members = as_object(event.raw.get("traits"))
    any_group = False
    for key in settings.group_key_settings:
        value = (key == "groupId" and event.raw.get("groupId")) or path(key)(members)
        if not value and value != {}:
            continue
        any_group, groups = True, value if isinstance(value, list) else [value]
        yield _profile(event, settings, {"$set": {key: groups}}, ADDRESS(event))
        for group in groups:
            body = {"$token": settings.token, "$group_key": key, "$group_id": group, "$set": members}
            yield API.post(settings, "groups/", [body], params={"verbose": 2})
    if not any_group:
        raise Missing(*(f"traits.{key}" for key in settings.group_key_settings), setting="groupKeySettings")


@destination.on("alias")
def send_alias(event: Event, settings: MixpanelSettings, context: Context) -> Payload:
    """Merge `previousId` (else `anonymousId`) and `userId` into one user."""
    if settings.identity_merge_api == "simplified":
        raise Unsupported("alias events", setting="identityMergeApi: original")
    user, previous = event.raw.get("userId"), event.raw.get("previousId") or event.raw.get("anonymousId")
    if not previous:
        raise Missing("previousId", "anonymousId")
    if previous == user:
        raise Misfit(
            "userId", "an ID other than previousId (or anonymousId)", user, why="an alias joins two different IDs"
        )
    _check_age(event, context)
    alias = {"alias": user} if user is not None else {}
    return _import(settings, "$create_alias", {"distinct_id": previous, **alias, "token": settings.token})


def _event(
    event: Event,
    settings: MixpanelSettings,
    context: Context,
    name: Any,
    properties: Mapping[str, Any],
    titles: Mapping[str, Any] | None = None,
) -> Payload:
    _check_age(event, context)
    message_id = event.raw.get("messageId")
    if message_id is not None and not isinstance(message_id, str):
        raise Misfit("messageId", "a string", message_id)
    built = {
        **properties,
        **EVENT(event),
        "token": settings.token,
        **_distinct_id(event, settings),
        "time": _epoch_ms(event),
        **{_utm(key): value for key, value in as_object(event.context.get("campaign")).items()},
        **browser(event),
        **(titles or {}),
    }
    for key in ("$browser", "$browser_version"):
        if built.get(key) == "":  # a user agent without details
            del built[key]
    if message_id:  # Mixpanel accepts 36 characters, and some SDKs prepend a time
        built["$insert_id"] = message_id[-36:] if event.type == "track" else message_id
    if settings.identity_merge_api == "simplified" and "anonymousId" in event.raw:
        built["$device_id"] = _id_text(event.raw["anonymousId"])
    return _import(settings, name, built)


def _check_age(event: Event, context: Context) -> None:
    """Raise for events older than five years, Mixpanel's limit. Null counts as 1970, an invalid time as missing."""
    if event.raw.get("timestamp", "") != "":
        when = moment(event.raw["timestamp"] or 0)
        if when is not None:
            check_age(when, context.clock(), past=_FIVE_YEARS)


def _utm(key: str) -> str:
    return "utm_campaign" if key == "name" else f"utm_{key}"


def _profile_meta(event: Event) -> dict[str, Any]:
    meta = {**ADDRESS(event), "$time": _epoch_ms(event)}
    if event.context.get("active") is False:
        meta["$ignore_time"] = True  # leaves Mixpanel's "last seen" unchanged
    return meta


def _epoch_ms(event: Event) -> int | None:
    when = moment(event.raw.get("timestamp") or event.raw.get("originalTimestamp"))
    return epoch_ms.of(when) if when else None


def _time(event: Event) -> datetime:
    when = moment(event.raw.get("timestamp")) or moment(event.raw.get("originalTimestamp"))
    if when is None:
        raise Misfit("timestamp or originalTimestamp", TIME_EXAMPLE, event.raw.get("timestamp"), case="time")
    return when


def _distinct_id(event: Event, settings: MixpanelSettings) -> dict[str, Any]:
    """Return the ID as a string. The simplified ID merge distinguishes devices from users by a prefix."""
    user, anonymous = event.raw.get("userId"), event.raw.get("anonymousId")
    if user:
        return {"distinct_id": js_join(user)}
    if not anonymous:
        return {"distinct_id": anonymous} if "anonymousId" in event.raw else {}
    prefix = "$device:" if settings.identity_merge_api == "simplified" else ""
    return {"distinct_id": prefix + js_join(anonymous)}


def _id_text(value: Any) -> Any:
    """Return the ID as a string; null and empty strings unchanged."""
    return js_join(value) if value else value


def _profile(
    event: Event, settings: MixpanelSettings, change: Mapping[str, Any], meta: Mapping[str, Any] | None = None
) -> Payload:
    about = {"$token": settings.token, **{f"${name}": value for name, value in _distinct_id(event, settings).items()}}
    return API.post(settings, "engage/", [{**change, **about, **(meta or {})}], params={"verbose": 2})


def _import(settings: MixpanelSettings, name: Any, properties: Mapping[str, Any]) -> Payload:
    params: dict[str, Any] = {"strict": int(settings.strict_mode)}
    user, password = settings.token, ""
    if settings.service_account_user_name and settings.service_account_secret and settings.project_id:
        user, password = settings.service_account_user_name, settings.service_account_secret.reveal()
        params["project_id"] = settings.project_id
    body = {"event": name, "properties": properties} if name is not None else {"properties": properties}
    return API.post(settings, "import/", [body], params=params, headers={"Authorization": basic_auth(user, password)})


destination.judge(judge)
destination.answer_batch(answer_batch)
