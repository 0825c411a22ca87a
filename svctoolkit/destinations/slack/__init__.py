"""Slack: a message for each identify and track event, posted to an incoming webhook.

Messages are written from templates; the first row that matches the event's name selects the template and the channel.
For a legacy webhook, the message contains the channel. A modern webhook (of a Slack app) belongs to one channel, so the
channel's webhook URL is used.

A `webhookUrl` is required here; RudderStack sends a request without a URL. Without rows of channels and templates
RudderStack fails; here the lists are just empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings, Tags
from svctoolkit.destinations._families.chat import TemplateRow, escape, listing, matching_row, person_values, render
from svctoolkit.events import Event
from svctoolkit.mapping import Misfit, event_name, json_text

_SENDER = {"username": "RudderStack", "icon_url": "https://cdn.rudderlabs.com/rudderstack.png"}


class ChannelRow(msgspec.Struct, frozen=True, rename="camel"):
    """The channel for events with a certain name."""

    event_name: str = ""
    event_regex: bool = False
    event_channel: str = ""
    event_channel_webhook: str = ""


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
        "In messages of track events, a property `name` replaces the user's name.",
    ],
)


@destination.on("identify")
def send_person(event: Event, settings: SlackSettings) -> Payload:
    """Return a message from the configured template, else the name and the listed traits (all if none are listed)."""
    template, traits = settings.identify_template.strip(), event.traits
    frame = template or "Identified {{name}}"
    message = render(
        frame, {**person_values(event, settings.whitelisted_traits_settings, frame), **traits}, "identifyTemplate"
    )
    if not template:
        listed = settings.whitelisted_traits_settings or traits
        message += "".join(f"{key}: {escape(traits.get(key))} " for key in listed)
    return _legacy(settings, {"text": message})


@destination.on("track")
def send_event(event: Event, settings: SlackSettings) -> Payload:
    name = event_name(event)
    if name in settings.deny_list_of_events:
        raise Misfit("event", "an event that is not on the deny list", name, setting="denyListOfEvents", case="denied")
    row = matching_row(settings.event_template_settings, name, "eventTemplateSettings")
    template = (row.event_template.strip() if row else "") or "{{name}} did {{event}}"
    own = event.properties  # a property overrides a template variable of the same name
    values = {**person_values(event, settings.whitelisted_traits_settings, template), "event": name, "properties": own}
    if "propertiesList" in template:
        values["propertiesList"] = listing(own)
    values |= own
    message = {"text": render(template, values, "eventTemplateSettings")}
    channel = matching_row(settings.event_channel_settings, name, "eventChannelSettings") or ChannelRow()
    if settings.incoming_webhooks_type == "modern" and channel.event_channel_webhook:
        return _post(channel.event_channel_webhook, message)  # an app's webhook has its own name and icon
    if settings.incoming_webhooks_type == "legacy" and channel.event_channel:
        message = {"channel": channel.event_channel, **message}
    return _legacy(settings, message)


def _legacy(settings: SlackSettings, message: Mapping[str, Any]) -> Payload:
    return _post(settings.webhook_url, {**message, **_SENDER})


def _post(url: str, message: Mapping[str, Any]) -> Payload:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return Payload(endpoint=url, headers=headers, form={"payload": json_text(message)})
