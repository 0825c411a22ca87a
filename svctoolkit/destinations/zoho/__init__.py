"""Zoho CRM: records of its modules, through its REST API.

It accepts only warehouse records, which have no mapping here. Events are rejected, as by RudderStack.
Zoho's responses are still interpreted, for payloads from other sources. If a response has more entries than jobs, the
first entries belong to the jobs.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, Delivery, DestinationType, Outcome, Settings
from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.mapping import as_object, text


class ZohoSettings(Settings, frozen=True, kw_only=True):
    pass


destination = DestinationType(
    "ZOHO",
    ZohoSettings,
    docs="https://www.zoho.com/crm/developer/docs/api/v6/upsert-records.html",
    takes="records",
    differences=[
        "Of an answer with more results than records, only those of the records count; RudderStack reports all.",
    ],
    answers=[
        Answer("success", 200, {"data": [{"code": "SUCCESS", "status": "success", "details": {"id": "1"}}]}),
        Answer("bad key", 401, {"code": "INVALID_TOKEN", "message": "invalid oauth token", "status": "error"}),
        Answer("rate limit", 429, {"code": "TOO_MANY_REQUESTS", "status": "error"}),
        Answer("invalid field", 200, {"data": [{"code": "MANDATORY_NOT_FOUND", "status": "error"}]}),
    ],
)


@destination.judge
def judge(delivery: Delivery) -> Outcome | None:
    """Abort the records whose entry in `data` is not a success."""
    reply = delivery.reply
    if not reply.successful:
        return judge_account(delivery)
    records = as_object(reply.body).get("data")
    if not isinstance(records, list):
        return Outcome("retry", f"{reply.status}: the response has no data")
    return delivery.each_of(
        [None if as_object(record).get("status") == "success" else text(record) for record in records]
    )
