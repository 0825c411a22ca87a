"""Wunderkind: visitor events, for automated messages.

RudderStack sends track events, and rejects all others. The format is neither publicly documented nor shown by recorded
cases, so track events are rejected here, too.
"""

from __future__ import annotations

import msgspec

from svctoolkit.destinations import Answer, DestinationType, Settings
from svctoolkit.secrets import Secret


class WunderkindSettings(Settings, frozen=True, kw_only=True):
    account_id: Secret = msgspec.field(name="accountID")
    instance_id: Secret = msgspec.field(name="instanceID")
    api_key: Secret


destination = DestinationType(
    "Wunderkind",
    WunderkindSettings,
    docs="https://www.wunderkind.co",
    takes="those mapped by your own destination type",
    answers=[
        Answer("success", 200, None),
        Answer("bad key", 401, None),
        Answer("rate limit", 429, None),
        Answer("invalid field", 400, None),
    ],
)
