"""Which destinations a call reaches, and which option decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from svctoolkit.sdk.sending.source import DeviceDestination

_CALL, _INITIAL, _DEFAULT = "the call's integrations", "the integrations of initialize", "the default"


class Reach(NamedTuple):
    """Whether a call reaches a destination, by its display name; `because` names the option that decides."""

    destination: str
    reached: bool
    because: str


class Explanation(tuple[Reach, ...]):
    """One `Reach` for each destination. Printed, one line for each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(f"{name}: {'yes' if reached else 'no'} ({because})" for name, reached, because in self)


def explanation(
    event: Mapping[str, object],
    own: Mapping[str, object],
    initial: Mapping[str, object],
    destinations: Iterable[DeviceDestination],
) -> Explanation:
    """Return the explanation of a call with its `own` integrations. If there are any, `initial` ones do not count."""
    choice, whose = (own, _CALL) if own else (initial, _INITIAL) if initial else ({}, _DEFAULT)
    by_name = {destination.display_name: destination for destination in destinations}
    names = [*by_name, *(name for name in (own or initial) if name != "All" and name not in by_name)]
    replaced = ", which replace those of initialize" if own and initial else ""
    return Explanation(_reach(name, choice, whose, replaced, event, by_name.get(name)) for name in names)


def _reach(
    name: str,
    choice: Mapping[str, object],
    whose: str,
    replaced: str,
    event: Mapping[str, object],
    destination: DeviceDestination | None,
) -> Reach:
    if name in choice:
        reached, because = choice[name] is not False, f"{name} in {whose}{replaced}"
    elif "All" in choice:
        reached, because = choice["All"] is not False, f"All in {whose}{replaced}"
    elif choice:
        reached, because = True, f"neither {name} nor All is in {whose}{replaced}, and All is true by default"
    else:
        reached, because = True, "no integrations are given, and All is true by default"
    if reached and destination is not None and not destination.takes(event):
        return Reach(name, False, "the event filter of the source configuration, in device mode")
    return Reach(name, reached, because)
