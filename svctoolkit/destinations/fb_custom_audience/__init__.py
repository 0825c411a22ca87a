"""Facebook Custom Audience: people in and out of audiences, by the Marketing API.

It takes audience lists and records of a warehouse only; those have no mapping here. Events are refused, as by the
service. What Facebook answers is read, for payloads that come from elsewhere.
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
