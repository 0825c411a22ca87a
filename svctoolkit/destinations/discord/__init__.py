"""Discord: a message for each identify and each track event, posted to a channel's webhook.

Messages are written by templates, chosen by the first row that fits the event's name. A message may have an embed, a
box with its own title and description.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, Tags
from svctoolkit.destinations._families.chat import TemplateRow, listing, matching_row, person_values, render
from svctoolkit.events import Event
from svctoolkit.mapping import event_name


class DiscordSettings(Settings, frozen=True, kw_only=True):
    webhook_url: str
    identify_template: str = ""
    event_template_settings: tuple[TemplateRow, ...] = ()
    whitelisted_traits_settings: Tags = Tags()
    embed_flag: bool = False
    embed_title_template: str = ""
    embed_description_template: str = ""


destination = DestinationType(
    "Discord",
    DiscordSettings,
    docs="https://discord.com/developers/docs/resources/webhook#execute-webhook",
    differences=[
        "`webhookUrl` must be a string; RudderStack sends requests to an address such as `true`.",
    ],
    answers=[
        Answer("success", 204),
        Answer("bad key", 401, {"message": "Invalid Webhook Token", "code": 50027}),
        Answer("rate limit", 429, {"message": "You are being rate limited.", "retry_after": 1.5, "global": False}),
        Answer("invalid field", 400, {"content": ["Must be 2000 or fewer in length."]}),
    ],
    quirks=[
        "First and last names are joined without a space.",
        "A property `name` replaces the person's name in messages of track events.",
    ],
)

API = Endpoint("{webhook_url}", JSON)


@destination.on("identify")
def send_person(event: Event, settings: DiscordSettings) -> Payload:
    """Render the configured template; by default the name and the listed traits (all if none are listed)."""
    template = settings.identify_template.strip() or "Identified {{name}} with {{traits}}"
    return _send("Identify", template, _values(event, settings, template), settings)


@destination.on("track")
def send_event(event: Event, settings: DiscordSettings) -> Payload:
    name = event_name(event)
    row = matching_row(settings.event_template_settings, name, "eventTemplateSettings")
    template = (row.event_template.strip() if row else "") or "{{name}} did {{event}} with {{propertiesList}}"
    values = _values(event, settings, template)
    own = event.properties  # a property takes precedence over a template value of the same name
    return _send("Track", template, {**values, "event": name, "propertiesList": listing(own), **own}, settings)


def _values(event: Event, settings: DiscordSettings, template: str) -> dict[str, Any]:
    templates = (template, settings.embed_title_template, settings.embed_description_template)
    values = person_values(event, settings.whitelisted_traits_settings, " ".join(templates))
    return {**values, "properties": event.properties, "propertiesList": listing(event.properties)}


def _send(kind: str, template: str, values: Mapping[str, Any], settings: DiscordSettings) -> Payload:
    message: dict[str, Any] = {
        "content": render(template, values, "identifyTemplate" if kind == "Identify" else "eventTemplateSettings")
    }
    if settings.embed_flag:
        title = settings.embed_title_template.strip() or "Message from Rudderstack "
        description = settings.embed_description_template.strip() or f"{kind} call made"
        message["embeds"] = [
            {
                "title": render(title, values, "embedTitleTemplate"),
                "description": render(description, values, "embedDescriptionTemplate"),
            }
        ]
    return API.post(settings, body=message)
