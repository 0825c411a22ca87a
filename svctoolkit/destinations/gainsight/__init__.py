"""Gainsight: people, their companies, and events for its rules.

identify writes a person. group finds the company by name, writes it, and assigns the person to it. track sends an event
that the settings name, with its version, to a topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from svctoolkit.destinations import Answer, Context, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    Misconfigured,
    NotConfigured,
    Source,
    Table,
    as_object,
    converter,
    event_name,
    json_text,
    leading_number,
    nest_dotted,
    required,
    text,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class GainsightSettings(Settings, frozen=True, kw_only=True):
    domain: str
    access_key: Secret = Secret("")
    shared_secret: Secret = Secret("")
    tenant_id: str = ""
    topic_name: str = ""
    contract_id: str = ""
    person_map: tuple[Rows, ...] = ()
    company_map: tuple[Rows, ...] = ()
    event_name_map: tuple[Rows, ...] = ()
    event_version_map: tuple[Rows, ...] = ()

    @cached_property
    def person_fields(self) -> list[tuple[str, Source]]:
        """The fields of a person for custom traits."""
        return _fields(self.person_map)

    @cached_property
    def company_fields(self) -> list[tuple[str, Source]]:
        """The fields of a company for custom traits."""
        return _fields(self.company_map)


destination = DestinationType(
    "Gainsight",
    GainsightSettings,
    docs="https://support.gainsight.com/gainsight_nxt/API_and_Developer_Docs/Person_API/People_API_Documentation",
    quirks=["group writes the company during mapping; its payload contains only the person."],
    answers=[
        Answer("success", 200, {"result": True, "errorCode": None, "requestId": "r1", "data": {"count": 1}}),
        Answer("bad key", 401, {"result": False, "errorCode": "GSOBJ_1006", "errorDesc": "Invalid access key"}),
        Answer("rate limit", 429, {"result": False, "errorCode": "GSOBJ_1005", "errorDesc": "Too many requests"}),
        Answer("invalid field", 400, {"result": False, "errorCode": "GSOBJ_1009", "errorDesc": "Field is not valid"}),
    ],
    differences=["One golden case lacks the record of the company lookup: the company is created here."],
    needs=["lookup"],
)


@converter
def as_text(value: Json) -> str:
    """Return text unchanged, and other values as JSON text."""
    return text(value)


@converter
def number_at_start(value: Json) -> int | float | None:
    """Return a number, or the number that a string begins with; anything else is left out."""
    return leading_number(value)


PERSON = Table(
    {
        "Email": required(trait("email")),
        "Name": trait("name"),
        "FirstName": FIRST_NAME,
        "MiddleName": trait("middleName", "middle_name"),
        "LastName": LAST_NAME,
        "LinkedinUrl": trait("linkedinUrl"),
        "Location": as_text(trait("location")),
        "Timezone": trait("timezone"),
        "Comments": as_text(trait("comments")),
        "EmailOptOut": trait("emailOptOut"),
        "DynamicResolutionKey": as_text(trait("dynamicResolutionKey")),
        "ExternalRecordID__gc": as_text(trait("externalRecordId")),
        "MasterRecordID": as_text(trait("masterRecordID")),
        "MasterAvatarTypeCode": number_at_start(trait("masterAvatarTypeCode")),
    }
)
COMPANY = Table(
    {
        "Name": required("traits.name"),
        "Employees": number_at_start("traits.employees"),
        "Arr": "traits.arr",
        "BillingAddress": "traits.billingAddress",
        "Summary": "traits.summary",
        "CompanyType": "traits.companyType",
        "Csm": "traits.csm",
        "CustomerLifetimeInMonths": number_at_start("traits.customerLifetimeInMonths"),
        "Industry": "traits.industry",
        "IndustryNew": "traits.industryNew",
        "LifecycleInWeeks": number_at_start("traits.lifecycleInWeeks"),
        "ManagedAs": "traits.managedAs",
        "Mrr": "traits.mrr",
        "OriginalContractDate": "traits.originalContractDate",
        "ParentCompany": "traits.parentCompany",
        "RenewalDate": "traits.renewalDate",
        "SfdcAccountId": "traits.sfdcAccountId",
        "Stage": "traits.stage",
        "Status": "traits.status",
        "Tags": "traits.tags",
        "TickerSymbol": "traits.tickerSymbol",
        "Users": number_at_start("traits.users"),
    }
)
MEMBER = Table({"Email": required(trait("email"))})


@destination.on("identify")
def send_person(event: Event, settings: GainsightSettings) -> Payload:
    """Return the person."""
    person = PERSON(event)
    if "Name" not in person:
        names = [text(person[key]) for key in ("FirstName", "MiddleName", "LastName") if key in person]
        person |= {"Name": " ".join(names)} if names else {}
    return _send_person(settings, {**person, **_own(event, settings.person_fields)})


@destination.on("group")
def send_member(event: Event, settings: GainsightSettings, context: Context) -> Payload:
    """Create or update the company, then return the person assigned to it."""
    company, member = {**COMPANY(event), **_own(event, settings.company_fields)}, MEMBER(event)
    ids = _write_company(company, settings, context)
    return _send_person(settings, {**member, "companies": [{"Company_ID": ids.get("Gsid")}]})


CONTRACT = "context.externalId.gainsightEventContractId"


@destination.on("track")
def send_event(event: Event, settings: GainsightSettings) -> Payload:
    """Return the event with its configured name and version."""
    name = event_name(event)
    headers = {
        "Accesskey": settings.access_key.reveal(),
        "sharedSecret": _require(settings.shared_secret.reveal(), "sharedSecret"),
        "tenantId": _require(settings.tenant_id, "tenantId"),
        "topicName": _require(settings.topic_name, "topicName"),
        "eventName": _look_up(settings.event_name_map, name, "eventNameMap"),
        "eventVersion": _look_up(settings.event_version_map, name, "eventVersionMap"),
        "contractId": value_of(event, CONTRACT) or settings.contract_id,
        "Content-Type": "application/json",
    }
    return Payload(
        endpoint=f"https://{settings.domain}/v1.0/api/eventManager/event",
        headers={key: value for key, value in headers.items() if value},
        json=nest_dotted(event.properties),
    )


def _write_company(company: Mapping[str, Any], settings: GainsightSettings, context: Context) -> Mapping[str, Any]:
    """Write the company and return Gainsight's record of it."""
    url, headers = f"https://{settings.domain}/v1/data/objects", _headers(settings)
    condition = {"name": "Name", "alias": "A", "value": [company["Name"]], "operator": "EQ"}
    query = {"select": ["Name"], "where": {"conditions": [condition], "expression": "A"}}
    request = {"method": "POST", "url": f"{url}/query/Company", "headers": headers, "body": json_text(query)}
    exists = bool(_records(context.ask(request, field="groupId")))
    request |= {"url": f"{url}/Company", "body": json_text({"records": [company]})}
    if exists:
        request |= {"method": "PUT", "params": {"keys": "Name"}}
    records = _records(context.ask(request, field="groupId"))
    return as_object(records[0] if records else None)


def _records(answer: Any) -> list[Any]:
    records = as_object(as_object(answer).get("data")).get("records")
    return records if isinstance(records, list) else []


def _fields(rows: tuple[Rows, ...]) -> list[tuple[str, Source]]:
    """Return the configured fields for custom traits, and the sources of these traits."""
    return [(row.to, trait(row.from_)) for row in rows if row.from_ and row.to]


def _own(event: Event, fields: list[tuple[str, Source]]) -> dict[str, Any]:
    values = ((field, value_of(event, source)) for field, source in fields)
    return {field: value for field, value in values if value is not None}


def _look_up(rows: tuple[Rows, ...], name: str, setting: str) -> str:
    value = next((row.to for row in rows if row.from_ == name), "")
    if not value:
        raise NotConfigured("event", name, setting=setting)
    return value


def _require(value: str, setting: str) -> str:
    if not value:
        raise Misconfigured(setting, "is required by Gainsight's events")
    return value


def _headers(settings: GainsightSettings) -> dict[str, str]:
    key = _require(settings.access_key.reveal(), "accessKey")
    return {"Accesskey": key, "Content-Type": "application/json"}


def _send_person(settings: GainsightSettings, person: Mapping[str, Any]) -> Payload:
    endpoint = f"https://{settings.domain}/v1.0/api/people"
    return Payload(endpoint=endpoint, method="PUT", headers=_headers(settings), json=person)
