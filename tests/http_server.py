"""A server of the standard library for tests."""

from __future__ import annotations

import http.server


class HttpServer(http.server.ThreadingHTTPServer):
    """Connections wait until they are accepted. With the default of 5, a busy machine resets those of many clients."""

    request_queue_size = 128
