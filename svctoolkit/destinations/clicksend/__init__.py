"""ClickSend: contacts in lists, and text messages.

identify writes a contact to the list that `context.externalId` names (`CLICKSEND_CONTACT_LIST_ID`). track sends a
message to the user or, with such a list, a campaign to all of its contacts.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Merge, Payload, Settings, basic
from svctoolkit.destinations.clicksend._judge import answer_batch, judge
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    TIME,
    Misconfigured,
    Misfit,
    Missing,
    Table,
    converter,
    javascript_text,
    js_join,
    json_text,
    leading_number,
    moment,
    trait,
    value_of,
    verbatim,
)
from svctoolkit.mapping.times import microseconds
from svctoolkit.secrets import Secret


class ClickSendSettings(Settings, frozen=True, kw_only=True):
    clicksend_username: Secret
    clicksend_password: Secret
    default_campaign_schedule_unit: str = "minute"
    default_campaign_schedule: str = ""
    default_source: str = ""
    default_sender_id: Secret = Secret("")

    @property
    def delay(self) -> int:
        """Delay of messages in seconds, configured in days or minutes; text that is not a number is 0."""
        unit = 86_400 if self.default_campaign_schedule_unit == "day" else 60
        return int(leading_number(self.default_campaign_schedule) or 0) * unit


destination = DestinationType(
    "Clicksend",
    ClickSendSettings,
    docs="https://developers.clicksend.com/docs/rest/v3/",
    quirks=[
        "`properties.from` is not read; `CLICKSEND_SENDER_ID` in `context.externalId` replaces the configured sender.",
        "A contact with a numeric `CLICKSEND_CONTACT_ID` is created, not updated.",
        "Both address lines of a contact contain the whole address as JSON text.",
        "For several contacts of one list RudderStack reports only the first, and retries all.",
        "A message is sent with an empty schedule if the time of its event is invalid.",
    ],
    differences=[
        "In two recorded batches a contact with a numeric ID is created by POST; alone it is sent by PUT, as here.",
    ],
    answers=[
        Answer(
            "success",
            200,
            {"http_code": 200, "response_code": "SUCCESS", "data": {"messages": [{"status": "SUCCESS"}]}},
        ),
        Answer(
            "country not enabled", 200, {"http_code": 200, "data": {"messages": [{"status": "COUNTRY_NOT_ENABLED"}]}}
        ),
        Answer("bad key", 401, {"http_code": 401, "response_code": "UNAUTHORIZED", "data": None}),
        Answer("unknown list", 403, {"http_code": 403, "response_code": "FORBIDDEN", "data": None}),
        Answer("rate limit", 429, {"http_code": 429, "response_code": "TOO_MANY_REQUESTS", "data": None}),
    ],
    merges=[Merge("messages", wraps=True, limit=1000, at="/v3/sms/send")],
)

API = Endpoint("https://rest.clicksend.com/v3", basic("clicksend_username", "clicksend_password"), JSON)
destination.judge(judge)
destination.answer_batch(answer_batch)


@converter
def address_text(value: Json) -> str:
    """Return an address as JSON: a text has quotes."""
    return json_text(value)


LIST_ID = verbatim("context.externalId.CLICKSEND_CONTACT_LIST_ID")
CONTACT_ID = "context.externalId.CLICKSEND_CONTACT_ID"
SENDER_ID = "context.externalId.CLICKSEND_SENDER_ID"
CONTACT = Table(
    {
        "email": verbatim(trait("email")),
        "phone_number": verbatim(trait("phone")),
        "fax_number": trait("fax_number"),
        "first_name": verbatim(FIRST_NAME),
        "last_name": verbatim(LAST_NAME),
        "address_line_1": verbatim(address_text(trait("address"))),
        "address_line_2": verbatim(address_text(trait("address"))),
        "city": verbatim(trait("address.city")),
        "state": verbatim(trait("state")),
        "country": verbatim(trait("country")),
        "contact_id": CONTACT_ID,
    }
)
MESSAGE = Table(
    {
        "email": EMAIL,
        "to": PHONE,
        "body": "properties.body",
        "source": "properties.source",
        "custom_string": "properties.custom_string",
        "country": trait("country"),
        "from_email": "properties.from_email",
    }
)
SCHEDULE = verbatim("properties.schedule")
WHEN = verbatim(TIME)


@destination.on("identify")
def send_contact(event: Event, settings: ClickSendSettings) -> Payload:
    """Create a contact in a list, or update `CLICKSEND_CONTACT_ID`."""
    contact = CONTACT(event)
    if not any(contact.get(key) for key in ("email", "phone_number", "fax_number")):
        raise Missing("traits.email", "traits.phone", "traits.fax_number", wants="an address of the contact")
    list_id = value_of(event, LIST_ID)
    if list_id is None or list_id == "":
        raise Missing("context.externalId.CLICKSEND_CONTACT_LIST_ID", wants="the ID of a list")
    place = f"lists/{js_join(list_id)}/contacts"
    known = contact.get("contact_id")
    if not known:
        return API.post(settings, place, contact)
    # RudderStack leaves an ID that is not text out of the path
    return API.put(settings, f"{place}/{known}" if isinstance(known, str) else place, contact)


@destination.on("track")
def send_message(event: Event, settings: ClickSendSettings) -> Payload:
    """Return a message to the user's telephone, or a campaign for a list."""
    sender = value_of(event, SENDER_ID) or settings.default_sender_id.reveal()
    list_id = value_of(event, LIST_ID)
    if list_id is not None:
        return API.post(settings, "sms-campaigns/send", _campaign(event, settings, list_id, sender))
    message = MESSAGE(event)
    _check_sender(sender)
    for member, field in (("to", "traits.phone"), ("body", "properties.body")):
        if member not in message:
            raise Missing(field)
    source = {} if "source" in message or not settings.default_source else {"source": settings.default_source}
    return API.post(settings, "sms/send", {"from": sender, **message, **source, "schedule": _schedule(event, settings)})


def _campaign(event: Event, settings: ClickSendSettings, list_id: Any, sender: Json) -> dict[str, Any]:
    _check_sender(sender)
    words = {name: event.properties.get(name, "") for name in ("name", "body")}
    for name, value in words.items():
        if value == "":
            raise Missing(f"properties.{name}")
        words[name] = javascript_text(value)
    return {"list_id": _whole(list_id), **words, "from": sender, "schedule": _schedule(event, settings)}


def _check_sender(sender: Json) -> None:
    if not sender:
        raise Misconfigured("defaultSenderId", "is required by messages and campaigns")


def _whole(list_id: Any) -> int:
    if isinstance(list_id, bool) or not js_join(list_id).strip().isdecimal():
        raise Misfit("context.externalId.CLICKSEND_CONTACT_LIST_ID", "a whole number", list_id)
    return int(js_join(list_id))


def _schedule(event: Event, settings: ClickSendSettings) -> Any:
    """Return the schedule in the event, else the event's time plus the configured delay, in seconds since 1970."""
    schedule = value_of(event, SCHEDULE)
    if schedule is not None:
        return schedule
    when = value_of(event, WHEN)
    when = moment(int(when) if isinstance(when, bool) else when)
    return None if when is None else microseconds(when) // 1_000_000 + settings.delay
