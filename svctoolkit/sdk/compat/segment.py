"""Segment's SDK for Python: the module's settings and calls, with this client's queue.

Set the variables before the first call: `write_key`, `host`, `on_error`... Use `Client` for additional clients.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from svctoolkit.sdk.compat.client import Client
from svctoolkit.sdk.compat.module import Calls

write_key: str | None = None
host: str | None = None

on_error: Callable[[Exception, list[Any]], object] | None = None
debug = False
send = True
sync_mode = False
max_queue_size = 10_000
gzip = False
timeout: float = 15
max_retries = 10
upload_interval: float = 0.5
upload_size = 100
log_handler: logging.Handler | None = None
oauth_client_id: str | None = None
oauth_client_key: str | None = None
oauth_key_id: str | None = None
oauth_auth_server = "https://oauth2.segment.io"
oauth_scope = "tracking_api:write"
#: The client behind the functions of this module, created by the first call.
default_client: Client | None = None

_calls = Calls(globals())
identify, track, alias, group = _calls.identify, _calls.track, _calls.alias, _calls.group
page, screen = _calls.page, _calls.screen
flush, join, shutdown = _calls.flush, _calls.join, _calls.shutdown

__all__ = ["Client", "alias", "flush", "group", "identify", "join", "page", "screen", "shutdown", "track"]
