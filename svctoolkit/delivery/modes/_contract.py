"""What a delivery mode is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from svctoolkit.delivery._http import Transport
from svctoolkit.delivery._recorder import Recorder


@dataclass(frozen=True, slots=True)
class Setting:
    """What a mode may need. `transports` has what it wants to use again for the same workspace, by file."""

    recorder: Recorder
    allow: tuple[str, ...] = ()
    loopback: bool = True  # the server listens on loopback only, or there is none
    cassette: Path = Path("cassette.json")
    secrets: Callable[[], Iterable[str]] = tuple
    transports: dict[Path, Transport] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mode:
    """What answers the requests of a workspace.

    - `transport(setting)`: it
    - `offline(setting)`: it where the network must not be used, or None where only the network could answer
    - `sends(setting)`: whether requests may leave the machine
    - `describe(setting)`: what a user should know about it, in one line
    - `needs`: the member of `delivery` in a workspace file that this mode cannot do without, and what it is
    """

    transport: Callable[[Setting], Transport]
    offline: Callable[[Setting], Transport | None]
    sends: Callable[[Setting], bool]
    describe: Callable[[Setting], str]
    needs: tuple[str, str] | None = None
