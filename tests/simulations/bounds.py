"""What the cases of vendors' rules share: requests on both sides of a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from svctoolkit.simulations import SimulatedServer

NOW = "2026-08-06T10:00:00Z"
SECONDS = 1_786_010_400  # NOW
#: sends requests to a server
Requests: TypeAlias = Callable[[SimulatedServer], object]


class Case(NamedTuple):
    """Requests that break a rule, and similar ones that do not. `level` is the lowest at which it has an effect."""

    breaks: Requests
    keeps: Requests
    account: Mapping[str, Any] = MappingProxyType({})
    level: str = "simulated"


def each(*requests: Requests) -> Requests:
    """Send several requests."""

    def send(server: SimulatedServer) -> None:
        for request in requests:
            request(server)

    return send


def numbered(count: int, prefix: str = "p") -> dict[str, Any]:
    """Return an object with this many members."""
    return {f"{prefix}{n}": 1 for n in range(count)}
