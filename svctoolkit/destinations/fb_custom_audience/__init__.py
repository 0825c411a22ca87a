"""Facebook Custom Audience: adds people to audiences and removes them, through the Marketing API.

It accepts only audience lists and warehouse records, which have no mapping here. Events are refused, as in RudderStack.
Facebook's answers are interpreted for payloads from other sources.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.destinations._families.facebook_errors import judge_graph_answer
from svctoolkit.secrets import Secret


class FacebookAudienceSettings(Settings, frozen=True, kw_only=True):
    access_token: Secret = Secret("")
    app_secret: Secret = Secret("")
    audience_id: str = ""


destination = DestinationType(
    "Facebook Custom Audience",
    FacebookAudienceSettings,
    docs="https://developers.facebook.com/docs/marketing-api/reference/custom-audience/users",
    names=("fb_custom_audience",),
    takes="audience lists and records",
    answers=[
        Answer("success", 200, {"audience_id": "1", "num_received": 4, "num_invalid_entries": 0}),
        Answer("bad key", 400, {"error": {"code": 190, "message": "Error validating access token"}}),
        Answer("rate limit", 400, {"error": {"code": 80003, "message": "There have been too many calls"}}),
        Answer("invalid field", 400, {"error": {"code": 100, "message": "Invalid parameter"}}),
    ],
)
destination.judge(judge_graph_answer)
