"""Snapchat Custom Audience: adds users to segments and removes them, through Snapchat's Marketing API.

It accepts only audience lists, which have no mapping here. Events are rejected, as by RudderStack.
Snapchat's responses are still interpreted, for payloads from other sources.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.destinations._families.oauth_answers import judge_account
from svctoolkit.secrets import Secret


class SnapchatAudienceSettings(Settings, frozen=True, kw_only=True):
    segment_id: Secret


destination = DestinationType(
    "Snapchat Custom Audience",
    SnapchatAudienceSettings,
    docs="https://developers.snap.com/api/marketing-api/Ads-API/audience-segments",
    names=("snapchat_custom_audience",),
    takes="audience lists",
    answers=[
        Answer("success", 200, {"request_status": "SUCCESS", "users": [{"sub_request_status": "SUCCESS"}]}),
        Answer("bad key", 401, "unauthorized"),
        Answer("rate limit", 429, {"request_status": "ERROR", "debug_message": "Too many requests"}),
        Answer("invalid field", 400, {"request_status": "ERROR", "error_code": "E1001"}),
    ],
)
destination.judge(judge_account)
