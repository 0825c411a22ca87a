"""Criteo Audience: contact lists for Criteo advertising, through its Audience API.

It accepts only audience lists from a warehouse, which have no mapping here. Events are refused, as in RudderStack.
Criteo's answers are interpreted for payloads from other sources.
"""

from __future__ import annotations

from typing import Literal

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.destinations._families.oauth_answers import judge_expired_token


class CriteoSettings(Settings, frozen=True, kw_only=True):
    audience_type: Literal["email", "madid", "identityLink", "gum"] = "email"


destination = DestinationType(
    "Criteo Audience",
    CriteoSettings,
    docs="https://developers.criteo.com/marketing-solutions/docs",
    names=("criteo_audience",),
    takes="audience lists",
    answers=[
        Answer("success", 200, {"data": {"type": "ContactlistAmendment", "attributes": {"nbValidIdentifiers": 1}}}),
        Answer("bad key", 401, {"errors": [{"type": "authorization", "code": "authorization-token-invalid"}]}),
        Answer("rate limit", 429, {"errors": [{"type": "quota", "code": "quota-exceeded"}]}),
        Answer("invalid field", 400, {"errors": [{"type": "validation", "code": "audience-invalid"}]}),
    ],
)
destination.judge(judge_expired_token)
