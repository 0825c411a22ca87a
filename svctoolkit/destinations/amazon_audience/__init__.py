"""Amazon Audience: audiences for Amazon advertising, through the DSP data provider API.

It accepts only warehouse records, which have no mapping here. Events are refused, as in RudderStack. Answers are
interpreted for payloads from other sources: each payload takes two requests, and the last answer decides.
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
