"""Slack: a message for each identify and each track event, posted to an incoming webhook.

Templates write the messages; the first row that fits the event's name says which template and which channel. A legacy
webhook is told the channel in the message. A modern one (of a Slack app) belongs to one channel, so its URL is used.

A `webhookUrl` is needed here; the service makes a request without an address. Without rows of channels and templates it
fails; here there are just none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import event_name, in_words, json_text, path, text

_PLACE = re.compile(r"\{\{\{\s*(?P<plain>[^{}]+?)\s*\}\}\}|\{\{\s*(?P<escaped>[^{}]+?)\s*\}\}")
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;"}
)
_SENDER = {"username": "RudderStack", "icon_url": "https://cdn.rudderlabs.com/rudderstack.png"}


class ChannelRow(msgspec.Struct, frozen=True, rename="camel"):
    """Where the events of a name go."""

    event_name: str = ""
    event_regex: bool = False
    event_channel: str = ""
    event_channel_webhook: str = ""


class TemplateRow(msgspec.Struct, frozen=True, rename="camel"):
    """What the events of a name say."""

    event_name: str = ""
    event_regex: bool = False
    event_template: str = ""


class SlackSettings(Settings, frozen=True, kw_only=True):
    webhook_url: str
    incoming_webhooks_type: Literal["legacy", "modern"] = "legacy"
    event_channel_settings: tuple[ChannelRow, ...] = ()
    event_template_settings: tuple[TemplateRow, ...] = ()
    identify_template: str = ""
    whitelisted_traits_settings: Tags = Tags()
    deny_list_of_events: Tags = Tags()


destination = DestinationType(
    "Slack",
    SlackSettings,
    docs="https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/",
    answers=[
        Answer("success", 200, "ok"),
        Answer("bad key", 403, "invalid_token"),
        Answer("rate limit", 429, "rate_limited", headers={"Retry-After": "30"}),
        Answer("invalid field", 400, "invalid_payload"),
    ],
    quirks=[
        "First and last name are joined without a space.",
        "A property `name` stands in for the person's name in messages of track events.",
    ],
)
Row = TypeVar("Row", ChannelRow, TemplateRow)


@destination.on("identify")
def send_person(event: Event, settings: SlackSettings) -> Payload:
    """The configured template; else the name and the listed traits (all, when none is listed)."""
    template, traits = settings.identify_template.strip(), event.traits
    message = _render(template or "Identified {{name}}", {**_person(event, settings), **traits})
    if not template:
        listed = settings.whitelisted_traits_settings or traits
        message += "".join(f"{key}: {_escape(traits.get(key))} " for key in listed)
    return _legacy(settings, {"text": message})


@destination.on("track")
def send_event(event: Event, settings: SlackSettings) -> Payload:
    name = event_name(event)
    if name in settings.deny_list_of_events:
        raise MappingError(f"event: {name!r} is denied by the configuration (denyListOfEvents)", field="event")
    row = _fitting(settings.event_template_settings, name)
    template = (row.event_template.strip() if row else "") or "{{name}} did {{event}}"
    own = event.properties  # a property goes before what a template has of the same name
    values = {**_person(event, settings), "event": name, "properties": own, "propertiesList": _listing(own), **own}
    message = {"text": _render(template, values)}
    channel = _fitting(settings.event_channel_settings, name) or ChannelRow()
    if settings.incoming_webhooks_type == "modern" and channel.event_channel_webhook:
        return _post(channel.event_channel_webhook, message)  # an app's webhook has its own name and icon
    if settings.incoming_webhooks_type == "legacy" and channel.event_channel:
        message = {"channel": channel.event_channel, **message}
    return _legacy(settings, message)


def _fitting(rows: Iterable[Row], name: str) -> Row | None:
    """The first row whose `eventName` is this name, or with `eventRegex` matches a part of it."""
    for row in rows:
        try:
            if row.event_name and (re.search(row.event_name, name) if row.event_regex else row.event_name == name):
                return row
        except re.error as error:
            raise MappingError(f"eventName: {row.event_name!r} is no regular expression: {error}") from error
    return None


def _person(event: Event, settings: SlackSettings) -> dict[str, Any]:
    traits, listed = event.traits, settings.whitelisted_traits_settings
    lines = _listing({key: value for key, value in traits.items() if not listed or key in listed})
    return {"name": _name(event), "traits": lines, "traitsList": traits}


def _name(event: Event) -> str:
    traits, user, anonymous = event.traits, event.raw.get("userId"), event.raw.get("anonymousId")
    first, last = traits.get("firstName"), traits.get("lastName")
    full = _plain(first) + _plain(last) if first else ""
    name = traits.get("name") or full or traits.get("username") or event.properties.get("email") or traits.get("email")
    if name:
        return _plain(name)
    return f"User {text(user)}" if user else f"Anonymous user {text(anonymous or '')}".strip()


def _listing(members: Mapping[str, Any]) -> str:
    return "".join(f"{key}: {text(value)} " for key, value in members.items())


def _render(template: str, values: Mapping[str, Any]) -> str:
    """A Handlebars template of plain places: two braces escape for HTML, three do not, `newline` is one."""

    def place(match: re.Match[str]) -> str:
        name = match["plain"] or match["escaped"]
        if name[0] in "#/>^!":
            raise MappingError(f"the template has {match[0]!r}; only places such as {{{{name}}}} are known here")
        if name == "newline":
            return "\n"
        single = "traitsList" + name.removeprefix("traits") if name.startswith("traits.") else name
        value = values[name] if name in values else path(single)(values)
        return _escape(value) if match["escaped"] else _plain(value)

    return _PLACE.sub(place, template)


def _plain(value: Any) -> str:
    return "" if value is None else in_words(value)


def _escape(value: Any) -> str:
    return _plain(value).translate(_ESCAPED)


def _legacy(settings: SlackSettings, message: Mapping[str, Any]) -> Payload:
    return _post(settings.webhook_url, {**message, **_SENDER})


def _post(url: str, message: Mapping[str, Any]) -> Payload:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return Payload(endpoint=url, headers=headers, form={"payload": json_text(message)})
