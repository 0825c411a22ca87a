"""`hosts`: requests go to these hosts only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import urlsplit

from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Arrival, Check, Finding, PolicyKind


def make(options: Json) -> Check:
    """Return the check. `*` in a host stands for any characters."""
    allowed = [host.lower() for host in options]

    @lru_cache(maxsize=1024)
    def is_allowed(host: str) -> bool:
        return any(fnmatchcase(host, pattern) for pattern in allowed)

    def check(_event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        for arrival in arrivals:
            for payload in arrival.payloads:
                address = payload.get("endpoint") if isinstance(payload, Mapping) else None
                host = _host(address) if isinstance(address, str) and address else None
                if host is not None and not is_allowed(host):
                    yield Finding(arrival.destination, "endpoint", f"goes to {host}", address)

    return check


@lru_cache(maxsize=1024)
def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or address
    except ValueError:  # an invalid address is not an allowed one
        return address


kind = PolicyKind(
    "the hosts that requests may go to",
    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    make,
)
