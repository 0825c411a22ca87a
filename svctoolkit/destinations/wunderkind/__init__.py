"""Wunderkind: what visitors do, for messages that go out by themselves.

The service sends it track events, and refuses all others. What it is sent for them is neither documented in public nor
shown by cases, so that they are refused here, too.
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
    takes="those that a destination type of your own maps",
    answers=[
        Answer("success", 200, None),
        Answer("bad key", 401, None),
        Answer("rate limit", 429, None),
        Answer("invalid field", 400, None),
    ],
)
