"""X Audience (formerly Twitter Audience): advertisers' custom audiences, through the X Ads API.

It accepts only warehouse records, which have no mapping here. Events are rejected, as by RudderStack.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings


class XAudienceSettings(Settings, frozen=True, kw_only=True):
    account_id: str


destination = DestinationType(
    "X Audience (formerly Twitter Audience)",
    XAudienceSettings,
    docs="https://docs.x.com/x-ads-api",
    names=("x_audience",),
    takes="records",
    answers=[
        Answer("success", 200, {"data": {"success_count": 1, "total_count": 1}, "request": []}),
        Answer(
            "bad key", 401, {"errors": [{"code": "UNAUTHORIZED_ACCESS", "message": "This request is not authorized"}]}
        ),
        Answer("rate limit", 429, {"errors": [{"code": "TOO_MANY_REQUESTS", "message": "Rate limit exceeded"}]}),
        Answer("invalid field", 400, {"errors": [{"code": "INVALID_PARAMETER", "message": "Expected an array"}]}),
    ],
)
