"""Yahoo DSP: audiences for Yahoo advertising, through its Traffic API.

It accepts only audience lists from a warehouse, which have no mapping here. Events are rejected, as by RudderStack.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.secrets import Secret


class YahooSettings(Settings, frozen=True, kw_only=True):
    client_id: Secret
    client_secret: Secret
    audience_id: str
    account_id: str


destination = DestinationType(
    "Yahoo DSP",
    YahooSettings,
    docs="https://developer.yahooinc.com/dsp/api/docs/",
    names=("yahoo_dsp",),
    takes="audience lists",
    answers=[
        Answer("success", 200, {"response": {"id": 34893, "status": "INIT"}, "errors": None}),
        Answer("bad key", 401, {"response": None, "errors": {"httpStatusCode": 401, "message": "Unauthorized"}}),
        Answer(
            "rate limit", 429, {"response": None, "errors": {"httpStatusCode": 429, "message": "Too many requests"}}
        ),
        Answer("invalid field", 400, {"response": None, "errors": {"httpStatusCode": 400, "message": "Bad request"}}),
    ],
)
