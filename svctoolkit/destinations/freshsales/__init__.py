"""Freshsales: contacts, their companies, activities and stages.

identify writes the contact with the e-mail address; group writes a company and, with an e-mail address, adds the
contact to it. A track event logs an activity (`sales_activity`) or moves the contact to a stage (`lifecycle_stage`).
"""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.destinations import Context, DestinationType, Payload, Rows
from svctoolkit.destinations._families.freshworks import (
    ANSWERS,
    CONTACT_EMAIL,
    Crm,
    FreshworksSettings,
    account_shape,
    action_payloads,
    address_text,
    contact_shape,
)
from svctoolkit.events import Event
from svctoolkit.mapping import Table, number_or_none, value_of


class FreshsalesSettings(FreshworksSettings, frozen=True, kw_only=True):
    rudder_events_to_freshsales_events: tuple[Rows, ...] = ()


destination = DestinationType(
    "Freshsales",
    FreshsalesSettings,
    docs="https://developers.freshworks.com/crm/api/",
    quirks=[
        "An address that is text is sent empty.",
        "IDs that are not numbers are left out.",
        "Parts of addresses are joined by single spaces, even if a part is missing.",
    ],
    answers=ANSWERS,
    needs=["lookup"],
)

CONTACT = Table(contact_shape(number_or_none))
ACCOUNT = Table(account_shape(number_or_none))


@destination.on("identify")
def send_contact(event: Event, settings: FreshsalesSettings, context: Context) -> Payload:
    """Create or update the contact."""
    contact = {**CONTACT(event), **address_text(event)}
    body = {"contact": contact, "unique_identifier": {"emails": contact["emails"]}}
    return Crm(settings, context).send("contacts/upsert", body)


@destination.on("track")
def send_action(event: Event, settings: FreshsalesSettings, context: Context) -> Iterator[Payload]:
    """Return an activity or a stage of the contact."""
    return action_payloads(event, settings.rudder_events_to_freshsales_events, Crm(settings, context))


@destination.on("group")
def send_account(event: Event, settings: FreshsalesSettings, context: Context) -> Payload:
    """Return the company, or, with an e-mail address, the contact with the additional company."""
    account = {**ACCOUNT(event), **address_text(event)}
    body = {"unique_identifier": {"name": account["name"]}, "sales_account": account}
    crm, email = Crm(settings, context), value_of(event, CONTACT_EMAIL)
    return crm.send("sales_accounts/upsert", body) if email is None else crm.join_account(email, body)
