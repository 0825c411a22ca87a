"""Salesforce: leads, or records of any object, from identify events.

Without an external id the person is a lead: one with the same e-mail address is updated, else a new one is made. An
external id of the type `Salesforce-<object>` names a record of any object to update; its traits are sent as they are.
The look-ups log in with the user's password, and search.

Decisions. A configuration without a user's name or password is refused, where the service asks Salesforce with empty
ones. A type of an external id with spaces around it names no record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Settings
from svctoolkit.destinations.salesforce._judge import judge
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Table,
    as_object,
    default,
    external_ids,
    first,
    in_url,
    in_words,
    text,
)
from svctoolkit.secrets import Secret

_DATA = "/services/data/v50.0"


class SalesforceSettings(Settings, frozen=True, kw_only=True):
    user_name: str
    password: Secret
    initial_access_token: Secret = Secret("")  # networks that Salesforce trusts need none
    map_properties: bool = True
    map_property: bool = True
    sandbox: bool = False
    use_contact_id: bool = False


destination = DestinationType(
    "Salesforce",
    SalesforceSettings,
    docs="https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_list.htm",
    quirks=[
        "The last name is the second word of the trait name; what follows it is lost.",
        "Zero and false are left out of custom fields; objects and lists are not, which Salesforce refuses.",
    ],
    earlier=("mapProperty",),
    answers=[
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
    ],
)


#: of the traits: those of the event, and those of its context for an event without
LEAD = Table(
    {
        "ConvertedAccountId": "convertedAccountId",
        "ConvertedContactId": "convertedContactId",
        "ConvertedDate": "convertedDate",
        "ConvertedOpportunityId": "convertedOpportunityId",
        "CreatedById": "createdById",
        "Description": "description",
        "EmailBouncedDate": "emailBouncedDate",
        "EmailBouncedReason": "emailBouncedReason",
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
        "Company": default(first("company.name", "company"), "n/a"),  # Salesforce requires one of a lead
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
_ENDS = re.compile(r"[/?#%\x00-\x1f]")
_NOT_CUSTOM = frozenset({"name", "anonymousId", "age", "avatar", "birthday", "gender"})


class Record(NamedTuple):
    """An object of Salesforce, and the id of the record to update; without id a new one is made."""

    kind: str
    id: str = ""


@destination.on("identify")
def send_person(event: Event, settings: SalesforceSettings, context: Context) -> Iterator[Payload]:
    """One request for each record that the event names, else one for the lead."""
    if not isinstance(event.raw.get("traits"), dict) and not isinstance(event.context.get("traits"), dict):
        raise MappingError("needs traits, of which a record is made", field="traits")
    named = [external for external in external_ids(event) if external.destination == "salesforce" and external.object]
    email, mapped = event.traits.get("email"), bool(event.context.get("mappedToDestination"))
    if not named and not email:
        raise MappingError("needs a value at traits.email, by which leads are told apart", field="traits.email")
    if mapped and not all(external.field for external in named):
        where = "context.externalId.identifierType"
        raise MappingError(f"{where}: a row of a warehouse needs the field that identifies it", field=where)
    salesforce = _Salesforce(settings, context)
    if not named:
        yield salesforce.save(_find_lead(text(email), salesforce, settings), _lead(event, settings))
    for _, kind, field, record_id in named:
        value = in_words(record_id or "")
        if not mapped:
            yield salesforce.save(Record(kind, value), _lead(event, settings) if kind == "Lead" else event.traits)
        elif field == "Id":
            yield salesforce.save(Record(kind, value), event.traits)
        else:
            yield salesforce.save(_find_record(kind, field, value, salesforce), {**event.traits, field: value})


def _lead(event: Event, settings: SalesforceSettings) -> Mapping[str, Any]:
    """The traits as fields of a lead, and as custom fields (`plan__c`) where Salesforce has none for them."""
    if not (settings.map_properties and settings.map_property):
        return event.traits
    traits, lead = event.traits, LEAD(event.traits)
    names = [*text(traits.get("name") or "").split(" "), ""]
    lead.setdefault("FirstName", names[0])
    lead.setdefault("LastName", names[1] if traits.get("name") else "n/a")
    own = {
        key if key.endswith("__c") else f"{key}__c": value
        for key, value in LEAD.rest(traits).items()
        if value and key not in _NOT_CUSTOM
    }
    return {key: value for key, value in {**lead, **own}.items() if value is not None and value != ""}


def _find_lead(address: str, salesforce: _Salesforce, settings: SalesforceSettings) -> Record:
    found = salesforce.search("Lead", address, "&Lead.fields=id,IsConverted,ConvertedContactId,IsDeleted")
    lead = found[0] if found else {}
    if lead.get("IsDeleted") is True:
        raise MappingError("the lead with this e-mail address was deleted in Salesforce", field="traits.email")
    if lead.get("IsConverted") is True and settings.use_contact_id and lead.get("ConvertedContactId"):
        return Record("Contact", text(lead["ConvertedContactId"]))
    return Record("Lead", text(lead.get("Id") or ""))


def _find_record(kind: str, by: str, value: str, salesforce: _Salesforce) -> Record:
    """The record with this value in the field `by`, for a row of a warehouse."""
    found = salesforce.search(kind, value, f"&in={in_url(by)}&{in_url(kind)}.fields=id,{in_url(by)}")
    same = [record for record in found if text(record.get(by)) == value]
    if len(same) > 1:
        raise MappingError(f"Salesforce has {len(same)} {kind} records with this {by}; one can be updated only")
    return Record(kind, text(same[0].get("Id") or "") if same else "")


class _Salesforce:
    """One organization's API, after a log-in with the user's password and security token."""

    def __init__(self, settings: SalesforceSettings, context: Context) -> None:
        self._ask = context.ask
        host = "test" if settings.sandbox else "login"
        password = settings.password.reveal() + settings.initial_access_token.reveal()
        login = {
            "method": "POST",
            "url": f"https://{host}.salesforce.com/services/oauth2/token",
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "body": {"grant_type": "password", "username": settings.user_name, "password": password},
        }
        answer = as_object(self._ask(login))
        self._api, token = text(answer.get("instance_url") or "") + _DATA, answer.get("access_token")
        if not token or self._api == _DATA:
            raise MappingError("Salesforce's answer to the log-in has no access_token and instance_url")
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {text(token)}"}

    def search(self, kind: str, value: str, more: str) -> list[Mapping[str, Any]]:
        url = f"{self._api}/parameterizedSearch/?q={in_url(value)}&sobject={in_url(kind)}{more}"
        answer = self._ask({"method": "GET", "url": url, "headers": self._headers})
        found = as_object(answer).get("searchRecords")
        return [as_object(record) for record in found] if isinstance(found, list) else []

    def save(self, record: Record, body: Mapping[str, Any]) -> Payload:
        place = f"{self._api}/sobjects/{in_url(record.kind)}"
        if record.id:
            place += f"/{_in_path(record.id)}?_HttpMethod=PATCH"
        return Payload(endpoint=place, headers=self._headers, json=body)


def _in_path(value: str) -> str:
    """An ID as it is, but for what would end the segment of the path: the service escapes nothing of it."""
    return _ENDS.sub(lambda match: in_url(match[0]), value)


destination.judge(judge)
