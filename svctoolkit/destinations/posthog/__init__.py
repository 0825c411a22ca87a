"""PostHog: one event per request to its capture API.

track events keep their name; identify, page, screen, group and alias become PostHog's `$identify`, `$pageview`,
`$screen`, `$groupidentify` and `$create_alias`. Every event includes the user's traits in `$set`, and data from the
context in PostHog's own properties. https://posthog.com/docs/api/capture
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Merge, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    IP,
    TIME,
    USER_ID,
    Table,
    agent,
    as_object,
    event_name,
    first,
    required,
    string,
    text,
    trait,
)


class PostHogSettings(Settings, frozen=True, kw_only=True):
    team_api_key: str = ""
    your_instance: str = "https://app.posthog.com"
    use_v2_group: bool = False

    def __post_init__(self) -> None:
        if not self.team_api_key:
            raise ValueError("teamApiKey: is required")


destination = DestinationType(
    "PostHog",
    PostHogSettings,
    docs="https://posthog.com/docs/api/capture",
    answers=[
        Answer("success", 200, {"status": 1}),
        Answer("bad key", 401, {"type": "authentication_error", "code": "invalid_api_key", "attr": None}),
        Answer("rate limit", 429, {"type": "throttled_error", "code": "throttled"}, headers={"Retry-After": "30"}),
        Answer("invalid field", 400, {"type": "validation_error", "code": "invalid_payload", "attr": None}),
    ],
    quirks=[
        "Without useV2Group, group events have neither $group_type nor $group_key, and the traits are sent next to the "
        "properties, so PostHog creates no group.",
        "RudderStack builds the payloads in the processor, one event at a time; newer versions batch them.",
        "The user's traits are sent in $set with every event; the properties of an identify event are never sent.",
    ],
    merges=[Merge("batch", wraps=True, common=("api_key",), size=10_000_000, honours_alone=True)],
    differences=[
        "A user agent that is not a string, or does not name an operating system, is ignored; RudderStack sends the "
        "whole event as `$os` in this case."
    ],
)

API = Endpoint(lambda settings: settings.your_instance.rstrip("/"), JSON)

DISTINCT_ID = string(first(USER_ID, "anonymousId"))
CONTEXT = Table(
    {
        "$os": "context.os.name",
        "$os_version": "context.os.version",
        "$current_url": "context.page.url",
        "$pathname": "context.page.path",
        "$performance_page_loaded": "context.page.loaded",
        "$screen_height": "context.screen.height",
        "$screen_width": "context.screen.width",
        "$screen_density": "context.screen.density",
        "$viewport_height": "properties.viewport_height",
        "$viewport_width": "properties.viewport_width",
        "$lib": "context.library.name",
        "$lib_version": "context.library.version",
        "$device_id": "context.device.id",
        "$device_name": "context.device.name",
        "$device_model": "context.device.model",
        "$device_manufacturer": "context.device.manufacturer",
        "$network_carrier": "context.network.carrier",
        "$app_name": "context.app.name",
        "$app_version": "context.app.version",
        "$app_namespace": "context.app.namespace",
        "$app_build": "context.app.build",
        "$ip": IP,
        "$timezone": "context.timezone",
        "$locale": "context.locale",
        "$useragent": "context.userAgent",
        "utm_source": "context.campaign.source",
        "utm_medium": "context.campaign.medium",
        "utm_campaign": "context.campaign.name",
        "utm_content": "context.campaign.content",
        "utm_term": "context.campaign.term",
        "$time": TIME,
        "$timestamp": TIME,
        "$anon_distinct_id": "anonymousId",
        "distinct_id": string(first("userId", "anonymousId")),
    }
)
#: fields by which PostHog distinguishes events
MESSAGE = Table({"messageId": required("messageId")})
PERSON = Table({"distinct_id": DISTINCT_ID, "timestamp": TIME})
EVENT = Table(
    {
        "distinct_id": required(DISTINCT_ID),
        "messageId": "messageId",
        "timestamp": first(TIME, "properties.timestamp"),
    }
)
NAMED = Table({"name": "name", "category": "category"})
SCREEN = Table({"$screen_name": "event"})
GROUP_ID = Table({"groupId": first("groupId", trait("groupId"))})
GROUP = Table({"$group_type": "traits.groupType", "$group_key": "groupId"})
ALIAS = Table({"alias": required("previousId"), "distinct_id": required(DISTINCT_ID)})
TIMED = Table({"timestamp": TIME})


@destination.on("identify")
def send_person(event: Event, settings: PostHogSettings) -> Payload:
    """Return the user's traits in `$set`, next to the properties. The event's own properties are not sent."""
    body = {**PERSON(event), **MESSAGE(event), "$set": event.traits}
    return _payload(settings, "identify", "$identify", {**CONTEXT(event), **_page_and_browser(event)}, body)


@destination.on("track")
def send_event(event: Event, settings: PostHogSettings) -> Payload:
    body = {**EVENT(event), **MESSAGE(event)}
    return _payload(settings, "capture", event_name(event), _properties(event), body)


@destination.on("page")
def send_page(event: Event, settings: PostHogSettings) -> Payload:
    return _payload(settings, "page", "$pageview", _properties(event), {**EVENT(event), **NAMED(event)})


@destination.on("screen")
def send_screen(event: Event, settings: PostHogSettings) -> Payload:
    properties = {**_properties(event), **SCREEN(event)}
    return _payload(settings, "screen", "$screen", properties, {**EVENT(event), **NAMED(event)})


@destination.on("group")
def send_group(event: Event, settings: PostHogSettings) -> Payload:
    """Return the group's traits: in PostHog's format with `useV2Group`, else unchanged next to the properties."""
    body = EVENT(event)
    properties = {**CONTEXT(event), **_page_and_browser(event), **_set(event)}
    if not settings.use_v2_group:
        body |= {**GROUP_ID(event), **({"traits": event.traits} if event.traits else {})}
        return _payload(settings, "group", "$groupidentify", properties, body)
    group = GROUP(event)
    if len(group) == 2:
        group["$groups"] = {text(group["$group_type"]): group["$group_key"]}
    group["$group_set"] = GROUP.rest(as_object(event.raw.get("traits")), "traits")
    return _payload(settings, "group", "$groupidentify", {**properties, **group}, body)


@destination.on("alias")
def send_alias(event: Event, settings: PostHogSettings) -> Payload:
    """Add `previousId` as an alias of the event's user."""
    properties = {**_properties(event), **ALIAS(event)}
    return _payload(settings, "alias", "$create_alias", properties, TIMED(event))


def _properties(event: Event) -> dict[str, Any]:
    return {**CONTEXT(event), **_page_and_browser(event), **event.properties, **_set(event)}


def _set(event: Event) -> dict[str, Any]:
    """Return the properties that PostHog stores for the person."""
    traits = event.context.get("traits")
    return {"$set": traits} if isinstance(traits, dict) else {}


def _payload(
    settings: PostHogSettings, kind: str, name: str, properties: Mapping[str, Any], beside: Mapping[str, Any]
) -> Payload:
    body = {**beside, "api_key": settings.team_api_key, "type": kind, "event": name, "properties": properties}
    return API.post(settings, "batch", body)


def _page_and_browser(event: Event) -> dict[str, str]:
    """Return the page's host, and the browser data that PostHog's web library would send."""
    host = _host(as_object(event.context.get("page")).get("url"))
    about = {"$host": host}
    if event.raw.get("channel") == "web":
        browser = agent(event.context.get("userAgent"))
        about["$os"] = "Mac OS" if browser.os == "Mac OS X" else browser.os
        about["$browser"], about["$browser_version"] = browser.browser, browser.browser_version
    return {key: value for key, value in about.items() if value}


def _host(url: Any) -> str:
    try:
        return urlsplit(url).netloc if isinstance(url, str) else ""
    except ValueError:  # a bracket that is not an IPv6 address
        return ""
