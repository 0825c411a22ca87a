"""Salesforce: leads, or records of any object, from identify events.

Without an external ID the user is a lead: one with the same e-mail address is updated, otherwise a new one is created.
An external ID of the type `Salesforce-<object>` identifies a record of any object to update; its traits are sent
unchanged. The look-ups log in with the user's password, and search for the record.
"""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.destinations import Context, DestinationType, Payload, Settings
from svctoolkit.destinations._families.salesforce import ANSWERS, QUIRKS, Salesforce, check, judge, save_records
from svctoolkit.events import Event
from svctoolkit.mapping import LookupFailed, as_object, text
from svctoolkit.secrets import Secret


class SalesforceSettings(Settings, frozen=True, kw_only=True):
    user_name: str
    password: Secret
    initial_access_token: Secret = Secret("")  # not needed from networks that Salesforce trusts
    map_properties: bool = True
    map_property: bool = True
    sandbox: bool = False
    use_contact_id: bool = False


destination = DestinationType(
    "Salesforce",
    SalesforceSettings,
    docs="https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_list.htm",
    quirks=QUIRKS,
    earlier=("mapProperty",),
    answers=ANSWERS,
    differences=[
        "A configuration without a user name or password is rejected, whereas RudderStack logs in with empty ones.",
        "An external ID whose type has surrounding spaces does not identify a record.",
    ],
    needs=["lookup"],
)


@destination.on("identify")
def send_person(event: Event, settings: SalesforceSettings, context: Context) -> Iterator[Payload]:
    """Yield one request for each record that the event names, else one for the lead."""
    check(event)
    maps = settings.map_properties and settings.map_property
    yield from save_records(event, _log_in(settings, context), maps=maps, to_contacts=settings.use_contact_id)


def _log_in(settings: SalesforceSettings, context: Context) -> Salesforce:
    """Log in with the user's password and security token."""
    host = "test" if settings.sandbox else "login"
    password = settings.password.reveal() + settings.initial_access_token.reveal()
    login = {
        "method": "POST",
        "url": f"https://{host}.salesforce.com/services/oauth2/token",
        "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        "body": {"grant_type": "password", "username": settings.user_name, "password": password},
    }
    answer = as_object(context.ask(login, setting="userName"))
    instance, token = text(answer.get("instance_url") or ""), answer.get("access_token")
    if not token or not instance:
        raise LookupFailed("", "Salesforce's login response has no access_token and instance_url", setting="userName")
    return Salesforce(context, instance, text(token))


destination.judge(judge)
