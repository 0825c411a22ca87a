"""Freshmarketer: contacts, their companies, activities and stages.

identify writes the contact with the e-mail address. A group of the type `accounts` is a company, to which the contact
with the e-mail address is added; `marketing_lists` adds the contact to a list. A track event logs an activity
(`sales_activity`) or moves the contact to a stage (`lifecycle_stage`).
"""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.destinations import Context, DestinationType, Payload, Rows
from svctoolkit.destinations._families.freshworks import (
    ADDRESS,
    ANSWERS,
    ANY_EMAIL,
    Crm,
    FreshworksSettings,
    account_shape,
    action_payloads,
    contact_shape,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL_OR_EXTERNAL_ID,
    LookupFailed,
    Misfit,
    Missing,
    Table,
    as_object,
    in_url,
    number,
    objects,
    value_of,
)


class FreshmarketerSettings(FreshworksSettings, frozen=True, kw_only=True):
    rudder_events_to_freshmarketer_events: tuple[Rows, ...] = ()


destination = DestinationType(
    "Freshmarketer",
    FreshmarketerSettings,
    docs="https://developers.freshworks.com/crm/api/",
    quirks=["The campaign's name is sent as its ID: an event whose campaign name is not a number is refused."],
    answers=ANSWERS,
    differences=[
        "One recorded case shows a group of the type `marketing_lists`: it finds an existing list by its name. With "
        "`listId`, the list is not looked up; a list that does not exist is created, as Freshworks documents it.",
    ],
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
def send_group(event: Event, settings: FreshmarketerSettings, context: Context) -> Payload:
    """Return the company, the contact with the additional company, or the contact's membership in a list."""
    crm, kind = Crm(settings, context), event.traits.get("groupType")
    match kind.lower() if isinstance(kind, str) else None:
        case "accounts":
            return _account(event, crm)
        case "marketing_lists":
            return _list_member(event, crm)
    raise Misfit("traits.groupType", "accounts or marketing_lists", kind)


def _account(event: Event, crm: Crm) -> Payload:
    """Return the company, or, with an e-mail address, the contact with the additional company."""
    account, email = ACCOUNT(event), value_of(event, EMAIL_OR_EXTERNAL_ID)
    body = {"unique_identifier": {"name": account["name"]}, "sales_account": account}
    return crm.send("sales_accounts/upsert", body) if email is None else crm.join_account(email, body)


def _list_member(event: Event, crm: Crm) -> Payload:
    """Return the request that adds the contact with the e-mail address to the list."""
    contact = crm.contact(value_of(event, ANY_EMAIL)).get("id")
    if not contact:
        raise LookupFailed("traits.email", "Freshworks did not answer with the ID of the contact")
    return crm.send(f"lists/{in_url(_list_id(event, crm))}/add_contacts", {"ids": [contact]}, method="PUT")


def _list_id(event: Event, crm: Crm) -> Json:
    """Return the list's ID: from the event, or of the list with this name. A missing list is created."""
    own, name = event.traits.get("listId"), event.traits.get("listName")
    if own:
        return own
    if not name:
        raise Missing("traits.listId", "traits.listName")
    lists = objects(crm.ask("lists").get("lists"))
    ids = [item["id"] for item in lists if item.get("name") == name and item.get("id")]
    if not ids:
        created = as_object(crm.ask("lists", {"name": name}).get("list"))
        ids = [created["id"]] if created.get("id") else []
    if not ids:
        raise LookupFailed("traits.listName", "Freshworks did not answer with the ID of the list")
    return ids[0]
