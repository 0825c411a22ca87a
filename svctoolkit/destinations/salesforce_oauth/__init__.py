"""Salesforce V2: the same requests as Salesforce, with the token of a connected account.

The account provides `access_token`, and `instance_url` with the URL of its organization. No mapped events of this type
were observed, so the records are those of the type Salesforce.
"""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.destinations import Context, DestinationType, Payload, Settings
from svctoolkit.destinations._families.salesforce import ANSWERS, QUIRKS, Salesforce, check, judge, save_records
from svctoolkit.events import Event


class SalesforceOAuthSettings(Settings, frozen=True, kw_only=True):
    map_properties: bool = True
    use_contact_id: bool = False


destination = DestinationType(
    "Salesforce V2",
    SalesforceOAuthSettings,
    docs="https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_list.htm",
    names=("salesforce_oauth",),
    quirks=QUIRKS,
    answers=ANSWERS,
    needs=["account", "lookup"],
)


@destination.on("identify")
def send_person(event: Event, settings: SalesforceOAuthSettings, context: Context) -> Iterator[Payload]:
    """Yield one request for each record that the event names, else one for the lead."""
    check(event)
    salesforce = Salesforce(context, context.secret("instance_url"), context.secret("access_token"))
    yield from save_records(event, salesforce, maps=settings.map_properties, to_contacts=settings.use_contact_id)


destination.judge(judge)
