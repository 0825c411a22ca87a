"""Marketo: leads, rows of custom objects, and leads' events as custom activities.

identify updates the lead that the look-ups find by e-mail address, user ID or anonymous ID; the look-up creates it if
the configuration says so. A warehouse row becomes a row of a custom object. track logs the custom activity that the
configuration maps the event's name to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Rows, Settings
from svctoolkit.destinations._families.marketo_answers import judge
from svctoolkit.events import Event
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    USER_ID,
    LookupFailed,
    Misfit,
    Missing,
    NotConfigured,
    NotFound,
    Table,
    as_object,
    first,
    is_empty,
    leading_number,
    objects,
    text,
    value_of,
    verbatim,
    warehouse_id,
)
from svctoolkit.secrets import Secret


class ActivityRow(msgspec.Struct, frozen=True, rename="camel"):
    """The custom activity of an event: its ID, and the property that contains its primary attribute."""

    event: str = ""
    marketo_primarykey: str = ""
    marketo_activity_id: str = ""


class MarketoSettings(Settings, frozen=True, kw_only=True):
    account_id: str
    client_id: str
    client_secret: Secret
    track_anonymous_events: bool = False
    create_if_not_exist: bool = True
    rudder_events_mapping: tuple[ActivityRow, ...] = ()
    custom_activity_event_map: tuple[Rows, ...] = ()
    custom_activity_primary_key_map: tuple[Rows, ...] = ()
    custom_activity_property_map: tuple[Rows, ...] = ()
    lead_trait_mapping: tuple[Rows, ...] = ()


destination = DestinationType(
    "Marketo",
    MarketoSettings,
    docs="https://experienceleague.adobe.com/en/docs/marketo-developer/marketo/rest/lead-database/leads",
    earlier=("customActivityEventMap", "customActivityPrimaryKeyMap"),
    quirks=[
        "Without an e-mail address, the lead is searched with the first external ID of the context as e-mail address.",
        "A warehouse row whose external ID does not name a Marketo object goes to the custom object null.",
        "The time of an activity is sent unchanged, or as null if it is missing.",
    ],
    answers=[
        Answer("success", 200, {"requestId": "e42b#14272d07d78", "success": True, "result": [{"id": 4}]}),
        Answer(
            "bad key",
            200,
            {"requestId": "e42b", "success": False, "errors": [{"code": "601", "message": "Access token invalid"}]},
        ),
        Answer(
            "rate limit",
            200,
            {"requestId": "e42b", "success": False, "errors": [{"code": "606", "message": "Max rate limit exceeded"}]},
        ),
        Answer(
            "invalid field",
            200,
            {"requestId": "e42b", "success": False, "errors": [{"code": "1006", "message": "Field 'x' not found"}]},
        ),
    ],
    differences=[
        "RudderStack caches the access token, so some of its recorded cases have no token request; here each event "
        "requests a token.",
    ],
    needs=["lookup"],
)

#: from the traits of the event, or from those of its context if the event has none
LEAD = Table(
    {
        "Address": first("address.street", "street"),
        "City": first("address.city", "city"),
        "Company": first("company.name", "company"),
        "Country": first("address.country", "country"),
        "DateofBirth": "birthday",
        "Email": "email",
        "FirstName": "firstName",
        "Industry": "company.industry",
        "LastName": "lastName",
        "Phone": "phone",
        "PostalCode": first("address.zip", "zip", "address.postalCode", "postalCode"),
        "Rating": verbatim("rating"),
        "State": first("address.state", "state"),
        "Title": "title",
        "Website": "website",
    },
    of="traits",
)
ADDRESS = first(EMAIL, "context.externalId.0.id")


@destination.on("identify")
def send_person(event: Event, settings: MarketoSettings, context: Context) -> Payload:
    """Return the lead with its Marketo ID, or the row of a custom object."""
    traits = event.traits
    if not isinstance(event.raw.get("traits"), dict) and not isinstance(event.context.get("traits"), dict):
        raise Missing("traits", "context.traits", wants="the fields of a lead")
    marketo = _Marketo(settings, context)
    if event.context.get("mappedToDestination"):
        row = {key: value for key, value in traits.items() if key != "marketoGUID"} | warehouse_id(event)
        kinds = (text(entry.get("type")) for entry in objects(event.context.get("externalId")))
        kind = next((kind.replace("MARKETO-", "", 1) for kind in kinds if "MARKETO-" in kind), "null")
        body = {"action": "createOrUpdate", "dedupeBy": "dedupeFields", "input": [row]}
        return marketo.send(f"/customobjects/{kind}.json", body)
    lead = {**LEAD(traits), "id": marketo.lead_id(event)}
    user_id = value_of(event, USER_ID)
    if user_id is not None:
        lead["userId"] = user_id
    lead |= {row.to: traits[row.from_] for row in settings.lead_trait_mapping if row.to and row.from_ in traits}
    return marketo.send("/leads.json", {"action": "createOrUpdate", "input": [lead], "lookupField": "id"})


@destination.on("track")
def send_action(event: Event, settings: MarketoSettings, context: Context) -> Payload:
    """Return the custom activity for the event's name."""
    if not event.raw.get("userId") and not settings.track_anonymous_events:
        raise Missing(
            "userId", setting="trackAnonymousEvents", why="anonymous users are tracked only with trackAnonymousEvents"
        )
    activity, key = _activity(event, settings)
    primary = event.properties.get(key)
    if is_empty(primary):
        raise Missing(f"properties.{key}", wants="the primary attribute of the activity")
    marketo = _Marketo(settings, context)
    names = {row.from_: row.to for row in settings.custom_activity_property_map if row.from_ != key}
    attributes = [
        {"name": name, "value": event.properties[source]}
        for source, name in names.items()
        if source in event.properties
    ]
    body = {
        "activityDate": value_of(event, TIME),
        "activityTypeId": leading_number(activity),
        "attributes": attributes,
        "leadId": marketo.lead_id(event),
        "primaryAttributeValue": primary,
    }
    return marketo.send("/activities/external.json", {"input": [body]})


def _activity(event: Event, settings: MarketoSettings) -> tuple[str, str]:
    """Return the ID of the event's activity, and the property with its primary attribute."""
    name = event.raw.get("event")
    for row in settings.rudder_events_mapping:
        if row.event and row.event == name:
            return row.marketo_activity_id, row.marketo_primarykey
    numbers = {row.from_: row.to for row in settings.custom_activity_event_map if row.from_}
    if not isinstance(name, str) or name not in numbers:
        raise NotConfigured("event", name, setting="customActivityEventMap")
    keys = {row.from_: row.to for row in settings.custom_activity_primary_key_map}
    return numbers[name], keys.get(name, "")


class _Marketo:
    """One Marketo account, after login."""

    def __init__(self, settings: MarketoSettings, context: Context) -> None:
        self._settings, self._context = settings, context
        host = f"https://{settings.account_id}.mktorest.com"
        params = {
            "client_id": settings.client_id,
            "client_secret": settings.client_secret.reveal(),
            "grant_type": "client_credentials",
        }
        answer = as_object(
            context.ask({"method": "GET", "url": f"{host}/identity/oauth/token", "params": params}, setting="clientId")
        )
        if not answer.get("access_token") or not answer.get("expires_in"):
            raise LookupFailed("", "Marketo's login response has no valid access_token", setting="clientId")
        self._api = f"{host}/rest/v1"
        self._headers = {"Authorization": f"Bearer {answer['access_token']}", "Content-Type": "application/json"}

    def send(self, place: str, body: Mapping[str, Any]) -> Payload:
        return Payload(endpoint=self._api + place, headers=self._headers, json=body)

    def lead_id(self, event: Event) -> Any:
        """Return the lead's Marketo ID; create a missing lead if the configuration allows it."""
        ids = {
            "email": value_of(event, ADDRESS),
            "userId": value_of(event, USER_ID),
            "anonymousId": event.raw.get("anonymousId"),
        }
        values = {name: value for name, value in ids.items() if not is_empty(value)}
        for name, value in values.items():
            if isinstance(value, (bool, list, dict)):
                raise Misfit(name, "a string or a number", value)
            lead = self._lead("GET", params={"filterType": name, "filterValues": value})
            if lead is not None:
                return lead
        if values and self._settings.create_if_not_exist:
            name = next(iter(values))
            lead = self._lead("POST", {"action": "createOrUpdate", "input": [values], "lookupField": name})
            if lead is not None:
                return lead
        raise NotFound("lead, and Marketo did not create one", field="userId or traits.email")

    def _lead(self, method: str, body: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None) -> Any:
        url = f"{self._api}/leads.json"
        request = {"method": method, "url": url, "headers": self._headers, "params": params or {}, "body": body}
        records = as_object(self._context.ask(request, field="userId or traits.email")).get("result")
        return as_object(records[0]).get("id") if isinstance(records, list) and records else None


destination.judge(judge)
