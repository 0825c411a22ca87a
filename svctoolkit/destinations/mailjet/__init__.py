"""Mailjet: contacts of a list, written many at a time.

identify writes the contact. The list is that of the configuration, or `listId` among `context.externalId`; what is
done with the contact is `integrations.mailjet.Action`.

Decisions. A contact without a list is refused; the service sends it to the list undefined.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload
from svctoolkit.destinations.mailjet._batches import batch
from svctoolkit.destinations.mailjet._settings import MailjetSettings
from svctoolkit.events import Event
from svctoolkit.mapping import Table, as_object, compact, first, required, trait

destination = DestinationType(
    "Mailjet",
    MailjetSettings,
    docs="https://dev.mailjet.com/email/reference/contacts/bulk-contact-management/",
    quirks=[
        "The properties of a contact come from the traits of the event's context only.",
        "A contact by itself has no address: it is sent in a request for its list.",
    ],
    answers=[
        Answer("success", 201, {"Count": 1, "Data": [{"JobID": 1}], "Total": 1}),
        Answer("bad key", 401, {"ErrorMessage": "API key authentication/authorization failure", "StatusCode": 401}),
        Answer("invalid contact", 400, {"ErrorMessage": "Invalid email", "StatusCode": 400}),
        Answer("rate limit", 429, {"ErrorMessage": "Too Many Requests", "StatusCode": 429}),
    ],
)
destination.batch(batch)

CONTACT = Table(
    {
        "email": required(trait("email")),
        "Name": trait("name"),
        "IsExcludedFromCampaigns": first("context.traits.IsExcludedFromCampaigns", "traits.IsExcludedFromCampaigns"),
    }
)


@destination.on("identify")
def send_contact(event: Event, settings: MailjetSettings) -> Payload:
    """The contact, with the properties that the configuration names."""
    return Payload(endpoint="", json={**CONTACT(event), "properties": _properties(event, settings)})


def _properties(event: Event, settings: MailjetSettings) -> dict[str, Any]:
    traits = as_object(event.context.get("traits"))
    return compact({row.to: traits.get(row.from_) for row in settings.contact_properties_mapping if row.to})
