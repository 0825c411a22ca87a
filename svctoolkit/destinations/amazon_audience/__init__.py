"""Amazon Audience: audiences for Amazon's advertising, by its DSP data provider API.

It takes records of a warehouse only; those have no mapping here. Events are refused, as by the service. What
Amazon answers is read, for payloads that come from elsewhere: it takes two requests, and the last one decides.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.destinations._families.oauth_answers import judge_expired_token


class AmazonAudienceSettings(Settings, frozen=True, kw_only=True):
    enable_hash: bool = True


destination = DestinationType(
    "Amazon Audience",
    AmazonAudienceSettings,
    docs="https://advertising.amazon.com/API/docs/en-us",
    names=("amazon_audience",),
    takes="records",
    answers=[
        Answer("success", 200, {"requestId": "r1", "jobId": "j1"}),
        Answer("bad key", 401, {"message": "Unauthorized"}),
        Answer("rate limit", 429, {"code": "429", "details": "Too Many Requests"}),
        Answer("invalid field", 400, {"code": "400", "details": "Invalid audience id"}),
    ],
)
destination.judge(judge_expired_token)
