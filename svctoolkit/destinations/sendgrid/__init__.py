"""SendGrid: e-mails, and the contacts of marketing campaigns.

track sends an e-mail for each configured event. The event's properties are the fields of SendGrid's API, with the
configuration as defaults; all other properties are sent as custom arguments. identify adds or updates a contact, with
the custom fields that exist in SendGrid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import (
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Payload,
    Rows,
    Settings,
    Tags,
    bearer,
)
from svctoolkit.destinations.sendgrid._batches import batch
from svctoolkit.destinations.sendgrid._deletion import deletion
from svctoolkit.events import Event
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    Missing,
    NotConfigured,
    Table,
    as_object,
    compact,
    event_name,
    nest_dotted,
    objects,
    required,
    trait,
)
from svctoolkit.secrets import Secret

#: properties that are parts of an e-mail
_MAIL = frozenset({
    "asm", "attachments", "batchId", "categories", "content", "customArgs", "from", "headers", "IPPoolName",
    "mailSettings", "personalizations", "replyTo", "replyToList", "sections", "sendAt", "subject", "templateId",
    "trackingSettings",
})  # fmt: skip


class Content(msgspec.Struct, frozen=True):
    """A part of the e-mail's body."""

    type: str = ""
    value: str = ""


class Attachment(msgspec.Struct, frozen=True, rename="camel"):
    """A file, with its content in Base64."""

    content: str = ""
    filename: str = ""
    type: str = ""
    disposition: str = ""
    content_id: str = ""


class SendgridSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    event_names_settings: Tags = Tags()
    subject: str = ""
    contents: tuple[Content, ...] = ()
    template_id: str = ""
    from_email: str = ""
    from_name: str = ""
    reply_to_email: str = ""
    reply_to_name: str = ""
    mail_from_traits: bool = False
    attachments: tuple[Attachment, ...] = ()
    group: str = ""
    groups_to_display: Tags = Tags()
    ip_pool_name: str = msgspec.field(default="", name="IPPoolName")
    sandbox_mode: bool = False
    footer: bool = False
    footer_text: str = ""
    footer_html: str = ""
    click_tracking: bool = False
    click_tracking_enable_text: bool = False
    open_tracking: bool = False
    open_tracking_substitution_tag: str = ""
    subscription_tracking: bool = False
    text: str = ""
    html: str = ""
    substitution_tag: str = ""
    ganalytics: bool = False
    utm_source: str = ""
    utm_medium: str = ""
    utm_term: str = ""
    utm_content: str = ""
    utm_campaign: str = ""
    list_id: str = ""
    custom_fields_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Sendgrid",
    SendgridSettings,
    docs="https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send",
    quirks=["The contact of a single event is shown in RudderStack's form from before contacts are batched."],
    answers=[
        Answer("success", 202, "", at="/mail/send"),
        Answer("success", 202, {"job_id": "8b1c2d3e"}),
        Answer("bad key", 401, {"errors": [{"message": "The provided authorization grant is invalid"}]}),
        Answer("rate limit", 429, {"errors": [{"message": "too many requests"}]}, headers={"X-RateLimit-Reset": "60"}),
        Answer(
            "invalid field", 400, {"errors": [{"message": "Does not contain a valid address.", "field": "from.email"}]}
        ),
    ],
    differences=[
        "RudderStack caches the list of custom fields, so some of its recorded cases do not request it; here each "
        "event does.",
    ],
    needs=["lookup"],
)

API = Endpoint("https://api.sendgrid.com/v3", JSON, bearer("api_key"))

CONTACT = Table(
    {
        "email": required(trait("email")),
        "phone_number": trait("phone"),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "unique_name": trait("name"),
    }
)
RECIPIENT = Table({"email": trait("email")})
OPTIONS = Table(
    {
        "reply_to_list": "properties.replyToList",
        "headers": "properties.headers",
        "categories": "properties.categories",
        "sections": "properties.sections",
        "send_at": "properties.sendAt",
        "batch_id": "properties.batchId",
    }
)


@destination.on("identify")
def send_person(event: Event, settings: SendgridSettings, context: Context) -> Payload:
    """Return the contact, for the configured list."""
    contact = {**CONTACT(event), "custom_fields": _custom_fields(event, settings, context)}
    body = {"contactDetails": contact, "contactListIds": settings.list_id}
    return API.put(settings, "marketing/contacts", body)


@destination.on("track")
def send_mail(event: Event, settings: SendgridSettings) -> Payload:
    """Return the e-mail for a configured event."""
    name = event_name(event).strip().lower()
    if name not in [known.lower() for known in settings.event_names_settings]:
        raise NotConfigured("event", event.raw["event"], setting="eventNamesSettings")
    properties = event.properties
    mail = {
        "from": _sender(properties, settings),
        "personalizations": _personalizations(event, settings),
        "reply_to": _reply_to(properties, settings),
        "subject": properties.get("subject") or settings.subject,
        "content": properties.get("content") or [msgspec.to_builtins(part) for part in settings.contents if part.value],
        "template_id": properties.get("templateId") or settings.template_id,
        "attachments": _attachments(properties, settings),
        "asm": properties.get("asm") or _unsubscribe_group(settings),
        "ip_pool_name": properties.get("IPPoolName") or settings.ip_pool_name,
        "mail_settings": _mail_settings(properties, settings),
        "tracking_settings": properties.get("trackingSettings") or _tracking_settings(settings),
        "custom_args": properties.get("customArgs")
        or nest_dotted({k: v for k, v in properties.items() if k not in _MAIL}),
        **OPTIONS(event),
    }
    if not mail["content"] and not mail["template_id"]:
        raise Missing("properties.content", setting="templateId", wants="a body or a template")
    return API.post(settings, "mail/send", compact(mail))


def _personalizations(event: Event, settings: SendgridSettings) -> list[dict[str, Any]]:
    """Return the recipients, without entries that have no address."""
    listed = event.properties.get("personalizations")
    if not listed and settings.mail_from_traits and RECIPIENT(event):
        listed = [{"to": [RECIPIENT(event)]}]
    if not isinstance(listed, list) or not listed:
        where = "properties.personalizations"
        raise Missing(where, wants="a list of recipients")
    return [{**as_object(item), "to": _addresses(as_object(item).get("to"))} for item in listed]


def _addresses(listed: Any) -> list[Mapping[str, Any]]:
    return [item for item in map(as_object, listed) if item.get("email")] if isinstance(listed, list) else []


def _sender(properties: Mapping[str, Any], settings: SendgridSettings) -> Mapping[str, Any]:
    sender = properties.get("from") or compact({"email": settings.from_email, "name": settings.from_name})
    if not as_object(sender).get("email"):
        raise Missing("properties.from.email", setting="fromEmail")
    return as_object(sender)


def _reply_to(properties: Mapping[str, Any], settings: SendgridSettings) -> Mapping[str, Any]:
    configured = compact({"email": settings.reply_to_email, "name": settings.reply_to_name})
    chosen = properties.get("replyTo", configured)
    return as_object(chosen) if as_object(chosen).get("email") else {}


def _attachments(properties: Mapping[str, Any], settings: SendgridSettings) -> list[Any]:
    """Return the files that have a name and content."""
    listed = properties.get("attachments")
    if not isinstance(listed, list):
        listed = [
            {**compact(msgspec.to_builtins(file)), **compact({"content_id": file.content_id})}
            for file in settings.attachments
        ]
    files = [{key: value for key, value in as_object(file).items() if key != "contentId"} for file in listed]
    return [file for file in files if file.get("content") and file.get("filename")]


def _unsubscribe_group(settings: SendgridSettings) -> dict[str, Any]:
    if not settings.group.isdecimal():
        return {}
    shown = [int(group) for group in settings.groups_to_display if group.isdecimal()]
    return {"group_id": int(settings.group), **compact({"groups_to_display": shown})}


def _mail_settings(properties: Mapping[str, Any], settings: SendgridSettings) -> dict[str, Any]:
    chosen = as_object(properties.get("mailSettings"))
    bypass, footer = chosen.get("bypassListManagement"), chosen.get("footer") if chosen else settings.footer
    out: dict[str, Any] = {}
    if bypass:
        out["bypass_list_management"] = {"enable": bypass}
    if footer:
        out["footer"] = {"enable": footer, **compact({"text": settings.footer_text, "html": settings.footer_html})}
    if settings.sandbox_mode or chosen.get("sandboxMode"):
        out["sandbox_mode"] = {"enable": True}
    return out


def _tracking_settings(settings: SendgridSettings) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if settings.click_tracking or settings.click_tracking_enable_text:
        enable_text = settings.click_tracking_enable_text
        out["click_tracking"] = {"enable": settings.click_tracking, "enable_text": enable_text}
    if settings.open_tracking:
        tag = {"substitution_tag": settings.open_tracking_substitution_tag}
        out["open_tracking"] = {"enable": True, **compact(tag)}
    if settings.subscription_tracking:
        texts = {"text": settings.text, "html": settings.html, "substitution_tag": settings.substitution_tag}
        out["subscription_tracking"] = {"enable": True, **compact(texts)}
    if settings.ganalytics:
        utm = {f"utm_{name}": getattr(settings, f"utm_{name}") for name in _UTM}
        out["ganalytics"] = {"enable": True, **compact(utm)}
    return out


_UTM = ("source", "medium", "term", "content", "campaign")


def _custom_fields(event: Event, settings: SendgridSettings, context: Context) -> dict[str, Any]:
    """Return the traits mapped to custom fields, under SendGrid's IDs of these fields."""
    values = {row.to: event.traits.get(row.from_) for row in settings.custom_fields_mapping if row.to}
    if not values:
        return {}
    answer = as_object(context.ask(API.lookup(settings, "marketing/field_definitions"), setting="customFieldsMapping"))
    listed = [*objects(answer.get("custom_fields")), *objects(answer.get("reserved_fields"))]
    ids = {field.get("name"): field.get("id") for field in listed}
    return {str(ids[name]): value for name, value in values.items() if name in ids and value is not None}


destination.batch(batch, may_refuse=False)
destination.deletes_with(deletion)
