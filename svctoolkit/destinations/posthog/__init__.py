"""PostHog: one event a request to its capture API.

track events keep their name; identify, page, screen, group and alias become PostHog's `$identify`, `$pageview`,
`$screen`, `$groupidentify` and `$create_alias`. Every event carries the person's traits in `$set`, and what the context
tells in PostHog's own properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import CLIENT_TIME, TIME, Table, agent, as_object, event_name, first, required, string, text


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
)

DISTINCT_ID = required(string(first("userId", "anonymousId")))
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
        "$ip": first("request_ip", "context.ip"),
        "$timezone": "context.timezone",
        "$locale": "context.locale",
        "$useragent": "context.userAgent",
        "utm_source": "context.campaign.source",
        "utm_medium": "context.campaign.medium",
        "utm_campaign": "context.campaign.name",
        "utm_content": "context.campaign.content",
        "utm_term": "context.campaign.term",
        "$time": CLIENT_TIME,
        "$timestamp": TIME,
        "$anon_distinct_id": "anonymousId",
    }
)
EVENT = Table({"distinct_id": DISTINCT_ID, "messageId": "messageId", "timestamp": TIME})
SCREEN = Table({"$screen_name": first("name", "event", "properties.name")})
GROUP = Table({"$group_type": "traits.groupType", "$group_key": "groupId"})
ALIAS = Table({"distinct_id": required(string("previousId")), "alias": required(string("userId"))})


@destination.on("identify")
def send_person(event: Event, settings: PostHogSettings) -> Payload:
    return _send(event, settings, "identify", "$identify", event.traits)


@destination.on("track")
def send_event(event: Event, settings: PostHogSettings) -> Payload:
    return _send(event, settings, "capture", event_name(event))


@destination.on("page")
def send_page(event: Event, settings: PostHogSettings) -> Payload:
    return _send(event, settings, "page", "$pageview")


@destination.on("screen")
def send_screen(event: Event, settings: PostHogSettings) -> Payload:
    return _send(event, settings, "screen", "$screen", own=SCREEN(event))


@destination.on("group")
def send_group(event: Event, settings: PostHogSettings) -> Payload:
    """The group's traits: as PostHog defines them with `useV2Group`, else beside the properties as they are."""
    traits = as_object(event.raw.get("traits"))
    if not settings.use_v2_group:
        beside = {key: event.raw[key] for key in ("groupId", "traits") if event.raw.get(key)}
        return _send(event, settings, "group", "$groupidentify", beside=beside)
    own: dict[str, Any] = GROUP(event)
    if "$group_type" in own and "$group_key" in own:
        own["$groups"] = {text(own["$group_type"]): own["$group_key"]}
    own["$group_set"] = GROUP.rest(traits, "traits")
    return _send(event, settings, "group", "$groupidentify", own=own)


@destination.on("alias")
def send_alias(event: Event, settings: PostHogSettings) -> Payload:
    """`previousId` is the person that PostHog knows, `userId` the further name."""
    own = ALIAS(event)
    return _send(event, settings, "alias", "$create_alias", own=own, beside={"distinct_id": own["distinct_id"]})


def _send(
    event: Event,
    settings: PostHogSettings,
    kind: str,
    name: str,
    traits: Mapping[str, Any] | None = None,
    *,
    own: Mapping[str, Any] | None = None,
    beside: Mapping[str, Any] | None = None,
) -> Payload:
    about = EVENT(event)
    person = traits or as_object(event.context.get("traits"))
    properties = {
        **event.properties,
        **({"$set": person} if person else {}),
        **_browser(event),
        **CONTEXT(event),
        "distinct_id": about["distinct_id"],
        **(own or {}),
    }
    body = {**about, "api_key": settings.team_api_key, "type": kind, "event": name, "properties": properties}
    return Payload(
        endpoint=settings.your_instance.rstrip("/") + "/batch",
        headers={"Content-Type": "application/json"},
        json={**body, **(beside or {})},
    )


def _browser(event: Event) -> dict[str, str]:
    """What PostHog's own web library would find out in the browser."""
    if event.raw.get("channel") != "web":
        return {}
    found, url = agent(event.context.get("userAgent")), as_object(event.context.get("page")).get("url")
    told = {
        "$os": "Mac OS" if found.os == "Mac OS X" else found.os,
        "$browser": found.browser,
        "$browser_version": found.browser_version,
        "$host": _host(url),
    }
    return {key: value for key, value in told.items() if value}


def _host(url: Any) -> str:
    try:
        return urlsplit(url).netloc if isinstance(url, str) else ""
    except ValueError:  # a bracket that is no address
        return ""
