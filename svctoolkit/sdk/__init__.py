"""The client SDK: records events and delivers them to a data plane without losing any.

One client for the whole application, at module level:

>>> from svctoolkit import sdk
>>> sdk.initialize("WRITE_KEY", {"dataPlaneUrl": "http://127.0.0.1:8091"})  # doctest: +SKIP
>>> sdk.track("Order Completed", {"revenue": 12.5})                         # doctest: +SKIP

or any number of `ServiceClient` objects. Web applications: `svctoolkit.sdk.middleware`; device mode:
`svctoolkit.sdk.factories`.
"""

from __future__ import annotations

from svctoolkit.sdk.base.ready import Ready
from svctoolkit.sdk.base.reporter import Stats
from svctoolkit.sdk.base.settings import DEFAULT_DATA_PLANE_URL, Configuration, ConsentQuery, LogLevel
from svctoolkit.sdk.base.transport import Request, Response, Transport
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.device.protocol import Factory, Integration
from svctoolkit.sdk.sending.http import HttpTransport

#: The client behind the functions of this module.
default = ServiceClient()

initialize = default.initialize
identify = default.identify
track = default.track
group = default.group
screen = default.screen
alias = default.alias
reset = default.reset
opt_out = optOut = default.opt_out  # noqa: N816 - the specified names
put_anonymous_id = putAnonymousId = default.put_anonymous_id  # noqa: N816
put_advertising_id = putAdvertisingId = default.put_advertising_id  # noqa: N816
put_device_token = putDeviceToken = default.put_device_token  # noqa: N816
flush = default.flush
forget = default.forget
shutdown = default.shutdown
stats = default.stats
frame = default.frame

__all__ = [
    "DEFAULT_DATA_PLANE_URL",
    "Configuration",
    "ConsentQuery",
    "Factory",
    "HttpTransport",
    "Integration",
    "LogLevel",
    "Ready",
    "Request",
    "Response",
    "ServiceClient",
    "Stats",
    "Transport",
    "alias",
    "default",
    "flush",
    "forget",
    "frame",
    "group",
    "identify",
    "initialize",
    "optOut",
    "opt_out",
    "putAdvertisingId",
    "putAnonymousId",
    "putDeviceToken",
    "put_advertising_id",
    "put_anonymous_id",
    "put_device_token",
    "reset",
    "screen",
    "shutdown",
    "stats",
    "track",
]
