"""Freshmarketer: contacts, their companies, activities and stages.

identify writes the contact with the e-mail address. A group of the type `accounts` is a company, to which the contact
with the e-mail address is added. A track event logs an activity (`sales_activity`) or moves the contact to a stage
(`lifecycle_stage`).
"""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.destinations import Context, DestinationType, Payload, Rows
from svctoolkit.destinations._families.freshworks import (
    ADDRESS,
    ANSWERS,
    Crm,
    FreshworksSettings,
    account_shape,
    action_payloads,
    contact_shape,
)
from svctoolkit.events import Event
from svctoolkit.mapping import EMAIL_OR_EXTERNAL_ID, Misfit, Table, number, value_of


class FreshmarketerSettings(FreshworksSettings, frozen=True, kw_only=True):
    rudder_events_to_freshmarketer_events: tuple[Rows, ...] = ()


destination = DestinationType(
    "Freshmarketer",
    FreshmarketerSettings,
    docs="https://developers.freshworks.com/crm/api/",
    quirks=["The campaign's name is sent as its ID: an event whose campaign name is not a number is refused."],
    answers=ANSWERS,
    differences=["A group of the type `marketing_lists` is refused, because RudderStack's request for it is unknown."],
    needs=["lookup"],
)

CONTACT = Table({**contact_shape(number), "address": ADDRESS})
ACCOUNT = Table({**account_shape(number), "address": ADDRESS})


@destination.on("identify")
def send_contact(event: Event, settings: FreshmarketerSettings, context: Context) -> Payload:
    """Create or update the contact."""
    contact = CONTACT(event)
    body = {"contact": contact, "unique_identifier": {"emails": contact["emails"]}}
    return Crm(settings, context).send("contacts/upsert", body)


@destination.on("track")
def send_action(event: Event, settings: FreshmarketerSettings, context: Context) -> Iterator[Payload]:
    """Return the contact's activities and stages: an event may be mapped to both."""
    return action_payloads(event, settings.rudder_events_to_freshmarketer_events, Crm(settings, context))


@destination.on("group")
def send_account(event: Event, settings: FreshmarketerSettings, context: Context) -> Payload:
    """Return the company, or, with an e-mail address, the contact with the additional company."""
    kind = event.traits.get("groupType")
    if not isinstance(kind, str) or kind.lower() != "accounts":
        raise Misfit("traits.groupType", "accounts", kind)
    account = ACCOUNT(event)
    body = {"unique_identifier": {"name": account["name"]}, "sales_account": account}
    crm, email = Crm(settings, context), value_of(event, EMAIL_OR_EXTERNAL_ID)
    return crm.send("sales_accounts/upsert", body) if email is None else crm.join_account(email, body)
