"""Mailjet: contacts of a list, written in batches.

identify writes the contact. The list comes from the configuration, or from `listId` in `context.externalId`;
`integrations.mailjet.Action` selects what to do with the contact.
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
        "A contact without a list is sent to the list `undefined`.",
        "The properties of a contact come only from `context.traits`.",
        "The payload of a single contact has no URL: it is sent in a request for its list.",
    ],
    answers=[
        Answer("success", 201, {"Count": 1, "Data": [{"JobID": 1}], "Total": 1}),
        Answer("bad key", 401, {"ErrorMessage": "API key authentication/authorization failure", "StatusCode": 401}),
        Answer("invalid contact", 400, {"ErrorMessage": "Invalid email", "StatusCode": 400}),
        Answer("rate limit", 429, {"ErrorMessage": "Too Many Requests", "StatusCode": 429}),
    ],
)
destination.batch(batch, may_refuse=False)

CONTACT = Table(
    {
        "email": required(trait("email")),
        "Name": trait("name"),
        "IsExcludedFromCampaigns": first("context.traits.IsExcludedFromCampaigns", "traits.IsExcludedFromCampaigns"),
    }
)


@destination.on("identify")
def send_contact(event: Event, settings: MailjetSettings) -> Payload:
    """Return the contact, with the configured properties."""
    return Payload(endpoint="", json={**CONTACT(event), "properties": _properties(event, settings)})


def _properties(event: Event, settings: MailjetSettings) -> dict[str, Any]:
    traits = as_object(event.context.get("traits"))
    return compact({row.to: traits.get(row.from_) for row in settings.contact_properties_mapping if row.to})
