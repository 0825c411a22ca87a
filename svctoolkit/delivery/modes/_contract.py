"""The interface of a delivery mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from svctoolkit.delivery._http import Transport
from svctoolkit.delivery.recorder import Recorder


class Setting(msgspec.Struct, frozen=True):
    """The input of a delivery mode. `transports` caches the transports of a workspace by file, for reuse."""

    recorder: Recorder
    allow: tuple[str, ...] = ()
    loopback: bool = True  # true if the server listens on loopback only, or without a server
    cassette: Path = Path("cassette.json")
    secrets: Callable[[], Iterable[str]] = tuple
    transports: dict[Path, Transport] = {}


class Mode(msgspec.Struct, frozen=True):
    """A delivery mode: what responds to a workspace's requests.

    - `transport(setting)`: the transport
    - `offline(setting)`: the transport for use without a network, or None if the mode needs the network
    - `sends(setting)`: whether requests may leave the machine
    - `describe(setting)`: a one-line description for the user
    - `needs`: the member of `delivery` in a workspace file that this mode requires, and what it is
    """

    transport: Callable[[Setting], Transport]
    offline: Callable[[Setting], Transport | None]
    sends: Callable[[Setting], bool]
    describe: Callable[[Setting], str]
    needs: tuple[str, str] | None = None
