"""What arrives at destinations: of one event, or of a batch, which is searched at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import urlsplit

import msgspec

from svctoolkit import personal
from svctoolkit.json_types import Json
from svctoolkit.policies.scalars import scalar_at
from svctoolkit.results.texts import open_json, open_texts, with_raw_texts
from svctoolkit.simulations import Loss

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True)
class Arrival:
    """What one event becomes at a destination (by key): its payloads, or rows of tables for a warehouse.

    `losses` is what a simulated destination lost of it.
    """

    destination: str
    payloads: Sequence[Json]
    losses: Sequence[Loss] = field(default=())
    _batch: Sent | None = field(default=None, repr=False, compare=False)  # the one that it is of, to search that once
    _position: int = field(default=0, repr=False, compare=False)

    @cached_property
    def _sent(self) -> Sent:
        return self._batch or Sent(self.destination, [self.payloads], [self.losses])

    def scalar(self, steps: str) -> bytes:
        """Return the JSON of a scalar, as `scalar_at` does."""
        return self._sent.scalar(self._position, steps)

    def may_have(self, kinds: Collection[str]) -> Collection[str]:
        """Return the kinds of personal data that the payloads may have, of kinds that have a form."""
        return self._sent.may_have(kinds).get(self._position, ())

    def lacks(self, name: str) -> bool:
        """Whether no member of the payloads has this name for certain, also not in JSON inside texts."""
        line = self._sent.lines[self._position]
        return line != b"" and name.isascii() and name.isidentifier() and name.encode() not in line

    @cached_property
    def opened(self) -> list[Json]:
        """The payloads, with objects and lists instead of texts that are their JSON."""
        return [open_texts(payload) for payload in self.payloads]


@lru_cache(maxsize=1024)
def host_of(address: str) -> str:
    """Return the host of an address, also of one without a scheme, such as `eu.posthog.com/batch`."""
    try:
        return urlsplit(address).hostname or urlsplit(f"//{address}").hostname or address
    except ValueError:  # an invalid address is not an allowed one
        return address


def endpoint_of(payload: Json) -> str:
    """Return the address of a request; empty for a payload without one."""
    address = payload.get("endpoint") if isinstance(payload, dict) else None
    return address if isinstance(address, str) else ""


class Sent:
    """What the events of a batch become at one destination: payloads and losses, by the position of the event.

    The payloads become JSON once, for all policies, and only if one searches it. `lines` is this JSON, of each event as
    `json_line` returns it, if the caller has it. Texts that are JSON are opened where
    destinations expect them: see `with_raw_texts`.
    """

    def __init__(
        self,
        destination: str,
        payloads: Sequence[Sequence[Json]],
        losses: Sequence[Sequence[Loss]],
        lines: Sequence[bytes] | None = None,
    ) -> None:
        self._destination, self._lines = destination, lines
        self.payloads, self.losses = payloads, losses
        self._searched: dict[frozenset[str], dict[int, list[str]]] = {}
        self._scalars: dict[str, list[bytes]] = {}

    def arrival(self, position: int) -> Arrival | None:
        """Return what arrived of an event; None if nothing did."""
        payloads = self.payloads[position]
        return Arrival(self._destination, payloads, self.losses[position], self, position) if payloads else None

    @cached_property
    def lines(self) -> Sequence[bytes]:
        """The payloads of each event as JSON; empty if they cannot be written as JSON."""
        return [*map(json_line, self.payloads)] if self._lines is None else self._lines

    @cached_property
    def plain(self) -> Sequence[bytes]:
        """The payloads as JSON in which each quote begins or ends a text, so that `"name":` is always a member.

        JSON inside texts is opened. Empty if any character is escaped then.
        """
        if b"\\" not in self._text:
            return self.lines
        opened = (open_json(line) if b"\\" in line else line for line in self.lines)
        return [b"" if b"\\" in line else line for line in opened]

    def scalar(self, position: int, steps: str) -> bytes:
        """Return the JSON of a scalar of an event, as `scalar_at` does."""
        return self.scalars(steps)[position]

    def scalars(self, steps: str) -> Sequence[bytes]:
        """Return the JSON of a scalar of each event, as `scalar_at` does. All are searched once, for all policies."""
        found = self._scalars.get(steps)
        if found is None:
            found = self._scalars[steps] = [scalar_at(line, steps) for line in self.plain]
        return found

    @cached_property
    def endpoints(self) -> list[list[str]]:
        """The addresses of the requests of each event; empty for payloads without one."""
        return [[*map(endpoint_of, payloads)] for payloads in self.payloads]

    @cached_property
    def same_endpoints(self) -> frozenset[int]:
        """The positions of events with several requests to the same address."""
        several = (position for position, payloads in enumerate(self.payloads) if len(payloads) > 1)
        return frozenset(n for n in several if len({*self.endpoints[n]}) < len(self.payloads[n]))

    def may_have(self, kinds: Collection[str]) -> Mapping[int, Collection[str]]:
        """Return the kinds of personal data that payloads may have, by the position of the event.

        Only for kinds that have a form; with `ENCODED` if they may be in another spelling. To search JSON takes a
        fraction of the time of a closer look.
        """
        key = frozenset(kinds)
        if key not in self._searched:
            every = [*kinds, personal.ENCODED]
            found = self._searched[key] = dict.fromkeys(self._unsearchable, every)
            lines = self._lines_with(kinds)
            encoded = lines.pop(personal.ENCODED)
            for kind, positions in lines.items():
                for position in positions - self._unsearchable:
                    found.setdefault(position, []).append(kind)
            for position in (encoded & found.keys()) - self._unsearchable:
                found[position].append(personal.ENCODED)
        return self._searched[key]

    def _lines_with(self, kinds: Collection[str]) -> dict[str, set[int]]:
        # Quotes of JSON inside texts are not escaped there. What looks like a member may be text then.
        if b"\\" in self._text:
            return personal.lines_with(kinds, self._text.replace(b'\\"', b'"'))
        return personal.lines_with(kinds, self._text, self._ends)

    @cached_property
    def _ends(self) -> Sequence[int]:
        return personal.ends_of(self.lines)

    @cached_property
    def _text(self) -> bytes:
        return b"\n".join([*self.lines, b""])

    @cached_property
    def _unsearchable(self) -> frozenset[int]:
        """The positions of events whose JSON has other escaped characters than quotes, or which have no JSON."""
        if b"\\" not in self._text and all(self.lines):  # as nearly always
            return frozenset()
        unescaped = (line.replace(b'\\"', b'"') for line in self.lines)
        return frozenset(position for position, line in enumerate(unescaped) if not line or b"\\" in line)


def json_line(payloads: Sequence[Json]) -> bytes:
    """Return the payloads of one event as a line of JSON; empty if they cannot be written as JSON."""
    try:
        return _encoder.encode([with_raw_texts(payload) for payload in payloads]).replace(b"\n", b" ")
    except (TypeError, ValueError, RecursionError):
        return b""
