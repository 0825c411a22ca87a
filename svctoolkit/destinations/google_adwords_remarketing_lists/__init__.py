"""Google Ads Remarketing Lists (Customer Match): adds people to user lists and removes them.

It accepts only audience lists and warehouse records, which have no mapping here. Events are refused, as in RudderStack.
Google's answers are interpreted for payloads from other sources.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.destinations.google_adwords_remarketing_lists._judge import judge


class RemarketingListsSettings(Settings, frozen=True, kw_only=True):
    customer_id: str
    sub_account: bool = False
    login_customer_id: str = ""


destination = DestinationType(
    "Google Ads Remarketing Lists (Customer Match)",
    RemarketingListsSettings,
    docs="https://developers.google.com/google-ads/api/docs/remarketing/audience-segments/customer-match/overview",
    names=("google_adwords_remarketing_lists",),
    takes="audience lists and records",
    answers=[
        Answer("success", 200, {"requestId": "r-1"}),
        Answer("bad key", 401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}}),
        Answer("rate limit", 429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}),
        Answer("invalid field", 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}),
    ],
)
destination.judge(judge)
