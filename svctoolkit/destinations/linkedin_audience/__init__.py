"""Linkedin Audience: adds users to audiences and removes them.

It accepts only warehouse records, which have no mapping here. Events are rejected, as by RudderStack.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings


class LinkedInAudienceSettings(Settings, frozen=True, kw_only=True):
    pass


destination = DestinationType(
    "Linkedin Audience",
    LinkedInAudienceSettings,
    docs="https://learn.microsoft.com/en-us/linkedin/marketing/matched-audiences/create-and-manage-segment-users",
    names=("linkedin_audience",),
    takes="records",
    answers=[
        Answer("success", 200, {"elements": [{"status": 201}]}),
        Answer("bad key", 401, {"code": "INVALID_ACCESS_TOKEN", "status": 401}),
        Answer("rate limit", 429, {"code": "TOO_MANY_REQUESTS", "status": 429}),
        Answer("invalid field", 400, {"code": "INVALID_INPUT", "status": 400}),
    ],
)
