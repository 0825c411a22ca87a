"""Shared by both Braze types: the host of each data center."""

from __future__ import annotations

_HOSTS = {"US": "rest.iad-{}.braze.com", "EU": "rest.fra-{}.braze.eu", "AU": "rest.au-{}.braze.com"}


def host_of(data_center: str) -> str:
    """Return the host of a data center such as `US-01`; an empty text for one in an unknown region."""
    region, _, number = data_center.upper().partition("-")
    return _HOSTS.get(region, "").format(number)
