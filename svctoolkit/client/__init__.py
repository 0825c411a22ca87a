"""The Test API over HTTP, of RudderStack or `svctoolkit serve`. Same calls and results as `svctoolkit.Pipeline`.

with TestApiClient("https://api.example.com", "dev@example.com", token) as api:
    result = api.test_destination("1aIXqM", svctoolkit.events.sample("track"))
"""

from __future__ import annotations

from svctoolkit.client._client import TestApiClient
from svctoolkit.client._shape import check_results

__all__ = ["TestApiClient", "check_results"]
