"""`hosts`: requests go to these hosts only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import urlsplit

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, ScreenedCheck
from svctoolkit.policies.arrivals import Arrival, Sent, endpoint_of, host_of

_HOST = re.compile(r"[\w.:*-]+")


def make(options: Json) -> ScreenedCheck:
    """Return the check. `*` in a host stands for any characters. Raises `ConfigError` for an address or any host."""
    if address := next((host for host in options if "/" in host), None):
        raise ConfigError(f"{address!r} is not a host. Write {urlsplit(address).hostname or address.split('/')[0]!r}")
    if wrong := next((host for host in options if not _HOST.fullmatch(host)), None):
        raise ConfigError(f"{wrong!r} is not a host: only `*` stands for other characters")
    if anything := next((host for host in options if "*" in host and len(host.strip("*.")) < 2), None):
        raise ConfigError(f"{anything!r} allows every host, so the policy always holds. Write hosts: api.example.com")
    allowed = [host.lower() for host in options]

    @lru_cache(maxsize=1024)
    def is_allowed(host: str) -> bool:
        return any(fnmatchcase(host, pattern) for pattern in allowed)

    def check(_event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        for arrival in arrivals:
            for address in filter(None, map(endpoint_of, arrival.payloads)):
                host = host_of(address)
                if not is_allowed(host):
                    yield Finding(arrival.destination, "endpoint", f"goes to {host}", address)

    def screen(_events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        for of in sent.values():
            used = {address for of_event in of.endpoints for address in of_event}
            bad = {address for address in used if address and not is_allowed(host_of(address))}
            if bad:
                yield from (position for position, of_event in enumerate(of.endpoints) if not bad.isdisjoint(of_event))

    def early(_key: str, sent: Sent) -> None:
        _ = sent.endpoints

    return ScreenedCheck(check, screen, early)


kind = PolicyKind(
    "the hosts that requests may go to",
    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    make,
)
