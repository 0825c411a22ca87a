"""PersistIQ: leads, and the campaigns that they are in.

identify updates the lead given in `context.externalId` (`persistIqLeadId`), or creates one from an e-mail address.
group adds the lead to a campaign, or removes it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Endpoint, Header, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    Misfit,
    Missing,
    Source,
    Table,
    as_object,
    js_join,
    trait,
    unnest,
    value_of,
)
from svctoolkit.secrets import Secret


class PersistiqSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    persist_iq_attributes_mapping: tuple[Rows, ...] = ()

    @cached_property
    def attributes(self) -> list[tuple[str, Source]]:
        """The lead attributes for custom traits, each with the path of its trait."""
        return [(row.to, trait(row.from_)) for row in self.persist_iq_attributes_mapping if row.from_ and row.to]


destination = DestinationType(
    "PersistIQ",
    PersistiqSettings,
    docs="https://apidocs.persistiq.com/#leads",
    quirks=[
        "Custom attributes are the other traits of the context, or those of the event if the context has none.",
        "A trait that is mapped to an attribute is not a custom attribute as well.",
        "If a trait is an object, each of its members is sent as a separate attribute.",
    ],
    answers=[
        Answer("success", 200, {"status": "success", "errors": []}),
        Answer("bad key", 401, {"status": "error", "error": {"reason": "authentication", "message": "Invalid key"}}),
        Answer(
            "rate limit", 429, {"status": "error", "error": {"reason": "rate_limit", "message": "Too many requests"}}
        ),
        Answer("invalid field", 400, {"status": "error", "error": {"reason": "invalid_email", "message": "..."}}),
    ],
)

API = Endpoint("https://api.persistiq.com/v1", Header("x-api-key", "{api_key}"))

LEAD = Table(
    {
        "email": trait("email"),
        "phone": trait("phone"),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "city": trait("address.city"),
        "country": trait("country"),
        "DOB": trait("DOB"),
        "linkedin": trait("linkedinUrl"),
        "twitter": trait("twitterUrl"),
        "facebook": trait("facebookUrl"),
        "company_name": trait("company.name", "company"),
    }
)
COMMON = Table({"dup": trait("dup"), "creator_id": trait("creator_id")})
TITLE = trait("title")
STATUS = Table({"status": trait("status")})
LEAD_ID = "context.externalId.persistIqLeadId"
MEMBER = Table({"lead_id": LEAD_ID, "mailbox_id": trait("mailbox_id")})
_NOT_CUSTOM = frozenset({
    "city", "company", "country", "creator_id", "dup", "email", "facebookUrl", "firstName", "first_name", "firstname",
    "gender", "lastName", "last_name", "lastname", "linkedinUrl", "phone", "status", "twitterUrl",
})  # fmt: skip
_HONORIFICS = frozenset({"mr", "mrs", "ms", "dr", "prof"})


@destination.on("identify")
def send_lead(event: Event, settings: PersistiqSettings) -> Payload:
    """Update the lead that the event names; otherwise create a lead."""
    lead, lead_id = _lead(event, settings), value_of(event, LEAD_ID)
    if lead_id:
        return API.request(settings, "PATCH", f"leads/{js_join(lead_id)}", {**STATUS(event), "data": lead})
    if "email" not in lead:
        raise Missing("traits.email", "context.traits.email", wants="the e-mail address of a new lead")
    return API.post(settings, "leads", {"leads": [lead], **COMMON(event)})


@destination.on("group")
def send_member(event: Event, settings: PersistiqSettings) -> Payload:
    """Add the lead to the campaign with the group ID, or remove it."""
    group_id = event.raw.get("groupId")
    if not group_id:
        raise Missing("groupId", wants="the ID of a campaign")
    member = MEMBER(event)
    if "lead_id" not in member:
        raise Missing(LEAD_ID)
    path = f"campaigns/{js_join(group_id)}/leads"
    operation = as_object(event.raw.get("traits")).get("operation") or "add"
    if operation == "remove":
        return API.request(settings, "DELETE", f"{path}/{js_join(member['lead_id'])}", {})
    if operation != "add":
        raise Misfit("traits.operation", "add or remove", operation)
    return API.post(settings, path, member)


def _lead(event: Event, settings: PersistiqSettings) -> dict[str, Any]:
    title = value_of(event, TITLE)
    if title is not None and js_join(title).rstrip(".").lower() not in _HONORIFICS:
        raise Misfit("traits.title", "one of Mr, Mrs, Ms, Dr, Prof", title)
    attributes = {name: value_of(event, source) for name, source in settings.attributes}
    traits = as_object(event.context.get("traits") or event.raw.get("traits"))
    mapped = {row.from_ for row in settings.persist_iq_attributes_mapping}
    custom = {key: value for key, value in traits.items() if key not in _NOT_CUSTOM and key not in mapped}
    return {
        **LEAD(event),
        **unnest({**attributes, **custom}),
    }
