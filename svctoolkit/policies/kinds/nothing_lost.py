"""`nothing_lost`: simulated destinations hold everything that they receive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, Proof, Reach, ScreenedCheck, Whole
from svctoolkit.policies.arrivals import Arrival, Sent

_NOT_SIMULATED: Final = "what is lost is only known with simulated destinations: run it with --simulate"


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

    def reach(_event: Mapping[str, Json], _arrivals: Sequence[Arrival]) -> Reach:
        return Reach.VALUES  # which destinations are simulated does not depend on events

    def doubts(_reached: Reach, whole: Whole) -> Iterator[Finding]:
        for key in destinations or ():
            if not whole.simulated.get(key, True):
                yield Finding(key, "", f"cannot be checked: {_NOT_SIMULATED}")
        if destinations is None and not any(whole.simulated.values()):
            whole.unchecked.append(f"nothing_lost: {_NOT_SIMULATED}")

    return ScreenedCheck(check, screen, proof=Proof(reach, doubts))


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
