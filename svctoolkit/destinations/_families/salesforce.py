"""Shared by both Salesforce types: leads, or records of any object, from identify events.

https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_list.htm; answers: `errorCode` in a
list of errors (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._context import Context
from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.destinations._payload import Payload
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Missing,
    NotFound,
    Table,
    as_object,
    default,
    external_ids,
    first,
    in_url,
    js_join,
    text,
)
from svctoolkit.mapping.warehouse import ExternalId

ANSWERS = [
    Answer("success", 204, "", at="_HttpMethod=PATCH"),
    Answer("success", 201, {"id": "00Q5e00001VDabcEAD", "success": True, "errors": []}),
    Answer("bad key", 401, [{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}]),
    Answer(
        "rate limit",
        403,
        [{"message": "TotalRequests Limit exceeded.", "errorCode": "REQUEST_LIMIT_EXCEEDED"}],
    ),
    Answer(
        "invalid field",
        400,
        [{"message": "No such column 'plan__c' on sobject of type Lead", "errorCode": "INVALID_FIELD"}],
    ),
]
QUIRKS = [
    "The last name is the second word of the trait name; further words are lost.",
    "Zero and false are left out of custom fields. Objects and lists are sent, although Salesforce rejects them.",
]
_DATA = "/services/data/v50.0"
_THROTTLES = {"REQUEST_LIMIT_EXCEEDED": {403}, "SERVER_UNAVAILABLE": {500, 503}}

#: fields from the event's traits, or from the context's traits if the event has none
LEAD = Table(
    {
        "ConvertedAccountId": "convertedAccountId",
        "ConvertedContactId": "convertedContactId",
        "ConvertedDate": "convertedDate",
        "ConvertedOpportunityId": "convertedOpportunityId",
        "CreatedById": "createdById",
        "Description": "description",
        "CompanyDunsNumber": "companyDunsNumber",
        "Division": "division",
        "Fax": "fax",
        "HasOptedOutOfEmail": "hasOptedOutOfEmail",
        "HasOptedOutOfFax": "hasOptedOutOfFax",
        "MobilePhone": "mobilePhone",
        "RecordTypeId": "recordTypeId",
        "GeocodeAccuracy": "geocodeAccuracy",
        "IndividualId": "individualId",
        "IsConverted": "isConverted",
        "IsDeleted": "isDeleted",
        "IsUnreadByOwner": "isUnreadByOwner",
        "Jigsaw": "jigsaw",
        "JigsawContactId": "jigsawContactId",
        "LastActivityDate": "lastActivityDate",
        "LastModifiedById": "lastModifiedById",
        "LastModifiedDate": "lastModifiedDate",
        "LastReferencedDate": "lastReferencedDate",
        "LastViewedDate": "lastViewedDate",
        "MasterRecordId": "masterRecordId",
        "OwnerId": "ownerId",
        "Phone": "phone",
        "PhotoUrl": "photoUrl",
        "Rating": "rating",
        "Salutation": "salutation",
        "Status": "status",
        "SystemModstamp": "systemModstamp",
        "Title": "title",
        "Website": "website",
        "Email": "email",
        "LeadSource": first("LeadSource", "leadSource"),
        "FirstName": "firstName",
        "LastName": "lastName",
        "MiddleName": "middleName",
        "Company": default(first("company.name", "company"), "n/a"),  # Salesforce requires a company for each lead
        "Industry": "company.industry",
        "AnnualRevenue": "company.annualRevenue",
        "NumberOfEmployees": "company.employee_count",
        "CreatedDate": first("createdAt", "createddate"),
        "Accuracy": first("address.accuracy", "accuracy"),
        "City": first("address.city", "city"),
        "Country": first("address.country", "country"),
        "CountryCode": first("address.countryCode", "countryCode"),
        "Latitude": first("address.latitude", "latitude"),
        "Longitude": first("address.longitude", "longitude"),
        "PostalCode": first("address.postalCode", "postalCode"),
        "State": first("address.state", "state"),
        "StateCode": first("address.stateCode", "stateCode"),
        "Street": first("address.street", "street"),
    },
    of="traits",
)
#: fields of traits whose names are written with dots, such as `address.city`
_DOTTED = {path: place.rpartition(".")[2] for place, source in LEAD for path in source.paths if "." in path}
_ENDS = re.compile(r"[/?#%\x00-\x1f]")
_NOT_CUSTOM = frozenset({"name", "anonymousId", "age", "avatar", "birthday", "gender"})


class Record(NamedTuple):
    """A Salesforce object type and the id of the record to update; without an id a record is created."""

    kind: str
    id: str = ""


class Salesforce:
    """The API of one organization, with a token for it."""

    def __init__(self, context: Context, instance: str, token: str) -> None:
        self._ask, self._api = context.ask, instance + _DATA
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def search(self, kind: str, value: str, more: str, *, field: str) -> list[Mapping[str, Json]]:
        url = f"{self._api}/parameterizedSearch/?q={in_url(value)}&sobject={in_url(kind)}{more}"
        answer = self._ask({"method": "GET", "url": url, "headers": self._headers}, field=field)
        records = as_object(answer).get("searchRecords")
        return [as_object(record) for record in records] if isinstance(records, list) else []

    def save(self, record: Record, body: Mapping[str, Json]) -> Payload:
        place = f"{self._api}/sobjects/{in_url(record.kind)}"
        if record.id:
            place += f"/{_in_path(record.id)}?_HttpMethod=PATCH"
        return Payload(endpoint=place, headers=self._headers, json=body)


def check(event: Event) -> None:
    """Raises `MappingError` for an event that cannot become a record."""
    if not isinstance(event.raw.get("traits"), dict) and not isinstance(event.context.get("traits"), dict):
        raise Missing("traits")
    named = _records(event)
    if not named and not event.traits.get("email"):
        raise Missing("traits.email", wants="the e-mail address of the lead")
    if event.context.get("mappedToDestination") and not all(external.field for external in named):
        where = "context.externalId.identifierType"
        raise Missing(where, wants="the field that identifies the row of the warehouse")


def save_records(event: Event, salesforce: Salesforce, *, maps: bool, to_contacts: bool) -> Iterator[Payload]:
    """Return one request for each record that the event names, or else one for the lead.

    With `maps` traits become fields of a lead; with `to_contacts` the contact of a converted lead is updated.
    """
    named, mapped = _records(event), bool(event.context.get("mappedToDestination"))
    if not named:
        record = _find_lead(text(event.traits.get("email")), salesforce, to_contacts)
        yield salesforce.save(record, _lead(event, maps))
    for _, kind, field, record_id in named:
        value = js_join(record_id or "")
        if not mapped:
            yield salesforce.save(Record(kind, value), _fields(event, kind, maps))
        elif field == "Id":
            yield salesforce.save(Record(kind, value), event.traits)
        else:
            yield salesforce.save(_find_record(kind, field, value, salesforce), {**event.traits, field: value})


def _records(event: Event) -> list[ExternalId]:
    return [external for external in external_ids(event) if external.destination == "salesforce" and external.object]


def _fields(event: Event, kind: str, maps: bool) -> Mapping[str, Any]:
    """Return the fields of a lead or of a contact, which has no company; other records get the traits."""
    if kind == "Contact":
        return {key: value for key, value in _lead(event, maps).items() if key != "Company"}
    return _lead(event, maps) if kind == "Lead" else event.traits


def _lead(event: Event, maps: bool) -> Mapping[str, Any]:
    """Return the traits as fields of a lead; traits without a Salesforce field become custom fields (`plan__c`)."""
    if not maps:
        return event.traits
    traits, lead = event.traits, LEAD(event.traits)
    lead |= {_DOTTED[key]: value for key, value in traits.items() if key in _DOTTED and value is not None}
    names = [*text(traits.get("name") or "").split(" "), ""]
    lead.setdefault("FirstName", names[0])
    lead.setdefault("LastName", names[1] if traits.get("name") else "n/a")
    own = {
        key if key.endswith("__c") else f"{key}__c": value
        for key, value in LEAD.rest(traits).items()
        if (value or isinstance(value, (list, dict))) and key not in _NOT_CUSTOM
    }
    return {key: value for key, value in {**lead, **own}.items() if value is not None and value != ""}


def _find_lead(address: str, salesforce: Salesforce, to_contacts: bool) -> Record:
    leads = salesforce.search(
        "Lead", address, "&Lead.fields=id,IsConverted,ConvertedContactId,IsDeleted", field="traits.email"
    )
    lead = leads[0] if leads else {}
    if lead.get("IsDeleted") is True:
        raise NotFound("lead", address, field="traits.email", why="it was deleted in Salesforce")
    if lead.get("IsConverted") is True and to_contacts and lead.get("ConvertedContactId"):
        return Record("Contact", text(lead["ConvertedContactId"]))
    return Record("Lead", text(lead.get("Id") or ""))


def _find_record(kind: str, by: str, value: str, salesforce: Salesforce) -> Record:
    """Find the record with this value in the field `by`, for a warehouse row."""
    records = salesforce.search(
        kind, value, f"&in={in_url(by)}&{in_url(kind)}.fields=id,{in_url(by)}", field="context.externalId.id"
    )
    same = [record for record in records if text(record.get(by)) == value]
    if len(same) > 1:
        raise NotFound(
            f"single {kind}", value, field="context.externalId.id", why=f"{len(same)} records have this {by}"
        )
    return Record(kind, text(same[0].get("Id") or "") if same else "")


def _in_path(value: str) -> str:
    """Escape only characters that would end the path segment; RudderStack does not escape the ID at all."""
    return _ENDS.sub(lambda match: in_url(match[0]), value)


def judge(delivery: Delivery) -> Outcome | None:
    """Refresh the token if the session expired; throttle if a limit is reached or the server is unavailable."""
    reply = delivery.reply
    for error in _errors(reply.body):
        code, message = error.get("errorCode"), str(error.get("message"))
        if code == "INVALID_SESSION_ID":
            return Outcome("retry", message, auth="REFRESH_TOKEN")
        if reply.status in _THROTTLES.get(str(code), ()):
            return Outcome("throttle", message)
    return None


def _errors(body: Any) -> list[dict[str, Any]]:
    return [error for error in body if isinstance(error, dict)] if isinstance(body, list) else []
