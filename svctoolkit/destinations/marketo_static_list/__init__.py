"""Marketo Static List: adds leads to a list and removes them, through Marketo's REST API.

It accepts only audience lists and warehouse records, which have no mapping here. Events are rejected.
Marketo's responses are still interpreted, for payloads from other sources.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.destinations._families.marketo_answers import judge
from svctoolkit.secrets import Secret


class StaticListSettings(Settings, frozen=True, kw_only=True):
    client_id: Secret
    client_secret: Secret
    account_id: Secret
    static_list_id: str | int


destination = DestinationType(
    "Marketo Static List",
    StaticListSettings,
    docs="https://experienceleague.adobe.com/en/docs/marketo-developer/marketo/rest/lead-database/static-lists",
    names=("marketo_static_list",),
    takes="audience lists and records",
    answers=[
        Answer("success", 200, {"requestId": "r1", "success": True, "result": [{"id": 1, "status": "added"}]}),
        Answer("bad key", 200, {"success": False, "errors": [{"code": "601", "message": "Access token invalid"}]}),
        Answer(
            "rate limit", 200, {"success": False, "errors": [{"code": "606", "message": "Max rate limit exceeded"}]}
        ),
        Answer("invalid field", 200, {"success": False, "errors": [{"code": "1004", "message": "Lead not found"}]}),
    ],
)
destination.judge(judge)
