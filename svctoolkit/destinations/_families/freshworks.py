"""Shared by Freshsales and Freshmarketer: the API of the Freshworks CRM, and the actions of track events.

A track event that is called, or mapped to, `sales_activity` logs an activity of a contact; `lifecycle_stage` moves the
contact to another stage. Names in the event are looked up to get their IDs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._context import Context
from svctoolkit.destinations._endpoint import JSON, Endpoint, Header
from svctoolkit.destinations._payload import Method, Payload
from svctoolkit.destinations._settings import Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL_OR_EXTERNAL_ID,
    FIRST_NAME,
    LAST_NAME,
    PHONE,
    TIME,
    LookupFailed,
    Misfit,
    Missing,
    NotFound,
    Shape,
    Source,
    Table,
    as_object,
    first,
    js_join,
    objects,
    required,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret


class FreshworksSettings(Settings, frozen=True, kw_only=True):
    """Settings of both types: the API key and the domain of the organisation."""

    api_key: Secret
    domain: str


ANSWERS = (
    Answer("success", 200, {"contact": {"id": 70054866612}}),
    Answer("bad key", 401, {"login": "failed", "message": "Incorrect API key"}),
    Answer("rate limit", 429, {"errors": {"code": 429, "message": ["Too many requests"]}}),
    Answer("invalid field", 400, {"errors": {"code": 400, "message": ["emails is invalid"]}}),
)


_ZIP = trait(
    "zip", "zipcode", "zip_code", "zipCode", "postalcode", "postal_code", "postalCode",
    "address.zip", "address.zipcode", "address.zip_code", "address.zipCode", "address.postalcode", "address.postalCode",
    "address.postal_code",
)  # fmt: skip
_CREATED = first(trait("createdAt"), TIME)
#: address and creation date, both of contacts and of accounts
_PLACE: Shape = {
    "city": trait("city", "address.city"),
    "state": trait("state", "address.state"),
    "country": trait("address.country", "country"),
    "zipcode": _ZIP,
    "facebook": trait("facebookUserName"),
    "twitter": trait("twitterUserName"),
    "linkedin": trait("linkedinUserName"),
    "created_at": _CREATED,
    "updated_at": TIME,
}
_PHONE = Source(PHONE.paths[:2], shared=PHONE.shared)
ADDRESS = trait("address")
CONTACT_EMAIL = trait("email")
ANY_EMAIL = required(EMAIL_OR_EXTERNAL_ID)


def contact_shape(ids: Json) -> Shape:
    """Return the fields of a contact; `ids` converts the numeric IDs."""
    return {
        "emails": required(CONTACT_EMAIL),
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "subscription_status": trait("subscriptionStatus"),
        "job_title": trait("job_title", "jobTitle"),
        "work_number": _PHONE,
        "external_id": ANY_ID,
        "mobile_number": trait("mobileNumber"),
        **_PLACE,
        "sales_accounts": trait("salesAccounts", "sales_accounts"),
        "territory_id": ids(trait("territoryId")),
        "lead_source_id": ids(trait("leadSourceId")),
        "owner_id": ids(trait("ownerId")),
        "subscription_types": trait("subscriptionTypes"),
        "medium": trait("medium"),
        "campaign_id": ids(trait("campaignId"), "context.campaign.name"),
        "keyword": first(trait("keyword"), "context.campaign.term"),
        "time_zone": first(trait("timeZone"), "context.timeZone"),
        "lifecycle_stage_id": ids(trait("lifecycleStageId")),
        "contact_status_id": ids(trait("contactStatusId")),
    }


def account_shape(ids: Json) -> Shape:
    """Return the fields of a company; `ids` converts the numeric IDs."""
    return {
        "name": required(trait("name")),
        "phone": _PHONE,
        "number_of_employees": ids(trait("numberOfEmployees")),
        "annual_revenue": trait("annualRevenue"),
        **_PLACE,
        "territory_id": ids(trait("territoryId")),
        "industry_type_id": ids(trait("industryTypeId")),
        "business_type_id": ids(trait("businessTypeId", "business_type_id")),
        "website": trait("website"),
        "owner_id": ids(trait("ownerId")),
        "parent_sales_account_id": trait("parentSalesAccountId"),
    }


ACTIVITY = Table(
    {
        "sales_activity_name": "properties.salesActivityName",
        "title": required("properties.title"),
        "sales_activity_type_id": "properties.salesActivityTypeId",
        "sales_activity_outcome_id": "properties.salesActivityOutcomeId",
        "start_date": required("properties.startDate"),
        "end_date": required("properties.endDate"),
        "notes": "properties.notes",
        "owner_id": required("properties.ownerId"),
        "targetable_type": required("context.externalId.type"),
        "targetable_id": "context.externalId.id",
        "creater_id": "properties.createrId",
        "created_at": TIME,
        "updated_at": TIME,
        "location": "properties.location",
        "latitude": first("context.address.latitude", "context.location.latitude"),
        "longitude": first("context.address.longitude", "context.location.longitude"),
        "checkedin_at": "properties.checkedinAt",
    }
)
STAGE = Table({"id": "properties.lifecycleStageId", "name": "properties.lifecycleStageName"})


#: lists that the CRM keeps per account, and what to call an entry in messages
Kind: TypeAlias = Literal["sales_activity_types", "lifecycle_stages"]
_KINDS: Mapping[Kind, str] = {"sales_activity_types": "type of sales activity", "lifecycle_stages": "lifecycle stage"}


API = Endpoint("https://{domain}/crm/sales/api", Header("Authorization", "Token token={api_key}"), JSON)


class Crm:
    """The API of one organisation: requests and lookups."""

    def __init__(self, settings: FreshworksSettings, context: Context) -> None:
        self._settings, self._context = settings, context

    def send(self, path: str, body: Mapping[str, Json], *, method: Method = "POST") -> Payload:
        """Return a request that writes."""
        return API.request(self._settings, method, path, body)

    def ask(self, path: str, body: Mapping[str, Json] | None = None) -> Mapping[str, Json]:
        """Look up something, or create something that must exist before an event can be sent."""
        question = API.lookup(self._settings, path, "GET" if body is None else "POST", body)
        return as_object(self._context.ask(question, field="traits.email"))

    def contact(self, email: Json, query: str = "") -> Mapping[str, Json]:
        """Look up the contact with this address, and create it if it does not exist."""
        body = {"unique_identifier": {"emails": email}, "contact": {"emails": email}}
        return as_object(self.ask(f"contacts/upsert{query}", body).get("contact"))

    def id_of(self, kind: Kind, name: Json, field: str) -> Json:
        """Look up the ID of `name` among the account's `sales_activity_types` or `lifecycle_stages`."""
        for item in objects(self.ask(f"selector/{kind}").get(kind)):
            if item.get("name") == name and item.get("id"):
                return item["id"]
        raise NotFound(_KINDS[kind], name, field=field)

    def join_account(self, email: Json, account: Mapping[str, Json]) -> Payload:
        """Return a request that adds a company to the contact. The company is created if none has this name."""
        accounts = self.contact(email, "?include=sales_accounts").get("sales_accounts")
        if not isinstance(accounts, list):
            raise LookupFailed(
                "traits.email", "Freshworks did not answer with the companies of the contact", case="companies"
            )
        answer = as_object(self.ask("sales_accounts/upsert", account).get("sales_account"))
        if not answer.get("id"):
            raise LookupFailed("traits.name", "Freshworks did not answer with the ID of the company")
        joined = [*accounts, {"id": answer["id"], "is_primary": False}]
        body = {"contact": {"sales_accounts": joined}, "unique_identifier": {"emails": email}}
        return self.send("contacts/upsert", body)


def action_payloads(event: Event, rows: Iterable[Rows], crm: Crm) -> Iterator[Payload]:
    """Yield the requests of a track event: by the names that it is mapped to, or else by its own name."""
    name = event.raw.get("event")
    if not isinstance(name, str) or not name:
        raise Misfit("event", "a name, as a string", name)
    targets = [row.to for row in rows if row.from_.lower() == name.lower()]
    for target in targets or [name]:
        match target.lower():
            case "sales_activity":
                yield crm.send("sales_activities", {"sales_activity": _activity(event, crm)})
            case "lifecycle_stage":
                yield crm.send("contacts/upsert", _stage(event, crm))
            case _:
                raise Misfit("event", "sales_activity or lifecycle_stage", target, case="target")


def _activity(event: Event, crm: Crm) -> dict[str, Any]:
    activity = ACTIVITY(event)
    if "sales_activity_type_id" not in activity and "sales_activity_name" not in activity:
        raise Missing("properties.salesActivityName", "properties.salesActivityTypeId")
    if "targetable_id" not in activity:
        if activity["targetable_type"] != "Contact":
            raise Missing("context.externalId.id")
        activity["targetable_id"] = crm.contact(_email(event)).get("id")
    if "sales_activity_type_id" not in activity:
        activity["sales_activity_type_id"] = crm.id_of(
            "sales_activity_types", activity["sales_activity_name"], "properties.salesActivityName"
        )
    return activity


def _stage(event: Event, crm: Crm) -> dict[str, Any]:
    email, stage = _email(event), STAGE(event)
    if not stage:
        raise Missing("properties.lifecycleStageName", "properties.lifecycleStageId")
    stage_id = (
        stage["id"] if "id" in stage else crm.id_of("lifecycle_stages", stage["name"], "properties.lifecycleStageName")
    )
    return {"contact": {"lifecycle_stage_id": stage_id}, "unique_identifier": {"emails": email}}


def _email(event: Event) -> Any:
    return value_of(event, ANY_EMAIL)


def address_text(event: Event) -> dict[str, str]:
    """Return the address as one line, or None; empty if the address is not an object."""
    address = value_of(event, ADDRESS)
    if address is None:
        return {}
    if not isinstance(address, dict):
        return {"address": ""}
    words = (address.get(key) for key in ("street", "city", "state", "country", "postalCode"))
    return {"address": " ".join(js_join(word) if word else "" for word in words)}
