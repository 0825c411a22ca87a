"""`nothing_lost`: simulated destinations hold everything that they receive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, ScreenedCheck
from svctoolkit.policies.arrivals import Arrival, Sent


def make(options: Json) -> ScreenedCheck:
    """Return the check. Without `destinations`, it is about every simulated one."""
    destinations = options.get("destinations")

    def check(_event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        for arrival in arrivals:
            if destinations is None or arrival.destination in destinations:
                for loss in {loss.rule: loss for loss in arrival.losses}.values():
                    yield Finding(arrival.destination, "", f"{loss.what} by {loss.rule}: {loss.says}", loss.value)

    def screen(_events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        for of in sent.values():
            yield from (position for position, losses in enumerate(of.losses) if losses)

    return ScreenedCheck(check, screen)


kind = PolicyKind(
    "simulated destinations lose nothing",
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {"destinations": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    },
    make,
    lambda options: options.get("destinations", ()),
)
