"""Salesforce Pardot: prospects.

identify writes the prospect given in `context.externalId` (`pardotId`, or `crmfid` for the CRM's ID), or else the one
with the e-mail address.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, Context, DestinationType, Endpoint, Header, Payload, Settings, oauth
from svctoolkit.destinations.pardot._judge import judge
from svctoolkit.events import Event
from svctoolkit.mapping import Missing, Table, first, js_join, objects, trait, value_of
from svctoolkit.secrets import Secret


class PardotSettings(Settings, frozen=True, kw_only=True):
    business_unit_id: Secret
    campaign_id: int | str


destination = DestinationType(
    "Pardot",
    PardotSettings,
    docs="https://developer.salesforce.com/docs/marketing/pardot/guide/prospects-v4.html",
    quirks=["Of several external IDs only the first is read."],
    answers=[
        Answer("success", 200, {"@attributes": {"stat": "ok", "version": 1}, "prospect": {"id": 1}}),
        Answer("bad key", 401, {"@attributes": {"stat": "fail", "err_code": 184}, "err": "access_token is invalid"}),
        Answer("rate limit", 429, {"@attributes": {"stat": "fail", "err_code": 122}, "err": "Daily API limit met"}),
        Answer("invalid field", 400, {"@attributes": {"stat": "fail", "err_code": 4}, "err": "Invalid email address"}),
    ],
    needs=["account"],
)

API = Endpoint(
    "https://pi.pardot.com/api/prospect/version/4/do/upsert",
    oauth(),
    Header("Pardot-Business-Unit-Id", "{business_unit_id}"),
    body="form",
)

PROSPECT = Table(
    {
        "salutation": trait("salutation"),
        "first_name": first(trait("first_name"), trait("firstName")),
        "last_name": first(trait("last_name"), trait("lastName")),
        "company": trait("company.name"),
        "prospect_account_id": trait("prospect_account_id", "prospectAccountId"),
        "website": trait("website"),
        "job_title": trait("job_title", "jobTitle"),
        "department": trait("department"),
        "country": first(trait("address.country"), trait("country")),
        "address_one": trait("address.street"),
        "address_two": trait("address_two"),
        "city": trait("address.city"),
        "state": trait("address.state"),
        "territory": trait("territory"),
        "zip": trait("address.zip"),
        "phone": trait("phone"),
        "fax": trait("fax"),
        "annual_revenue": first(trait("annual_revenue"), trait("annualRevenue")),
        "employees": trait("employees"),
        "industry": trait("industry"),
        "years_in_business": trait("years_in_business"),
        "comments": trait("comments"),
        "notes": trait("notes"),
        "score": trait("score"),
        "is_do_not_email": trait("is_do_not_email"),
        "is_do_not_call": trait("is_do_not_call"),
        "opted_out": trait("opted_out"),
        "is_reviewed": trait("is_reviewed"),
        "is_starred": trait("is_starred"),
        "campaign_id": trait("campaignId", "campaign_id"),
    }
)
EMAIL = trait("email")
_KEYS = {"pardotid": "id", "crmfid": "fid"}


@destination.on("identify")
def send_prospect(event: Event, settings: PardotSettings, context: Context) -> Payload:
    """Create or update the prospect."""
    form = {"campaign_id": settings.campaign_id, **PROSPECT(event)}
    return API.post(settings, _key(event), form, context=context)


def _key(event: Event) -> str:
    """Return the key that identifies the prospect in Pardot: `email/ada@mail.example`."""
    for entry in objects(event.context.get("externalId"))[:1]:
        key = _KEYS.get(str(entry.get("type")).lower())
        if key and entry.get("id"):
            return f"{key}/{js_join(entry['id'])}"
    email = value_of(event, EMAIL)
    if not email:
        raise Missing("traits.email", "context.traits.email", why="or send an external ID")
    return f"email/{js_join(email)}"


destination.judge(judge)
