"""The simulated destinations of one side: what they refuse, drop, cut and fold of the events of a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from svctoolkit.delivery import Delivered, Recorder, Sender, Transport
from svctoolkit.destinations import Context, Lookup
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Passage, Route, Simulated
from svctoolkit.pipeline.outside import lookup_through, transport_of
from svctoolkit.replay.engine.direct import DirectSender
from svctoolkit.simulations import Disk, Loss, SimulatedServer
from svctoolkit.workspace import Workspace


class Judge:
    """Servers that remember the events of earlier batches, with most of their state on disk.

    The clock of a server is that of the event that it receives. Unless requests are needed as a `whole`, or the
    transport shows them, servers get their values instead of their bytes. Losses are kept by the context of their
    event, until `passages` returns them.
    """

    def __init__(
        self, workspace: Workspace, transport: Transport, history: Literal["new", "existing"], *, whole: bool = False
    ) -> None:
        self._workspace, self._transport, self._whole = workspace, transport, whole
        self._context: Context | None = None
        self._lost: dict[int, list[Loss]] = {}
        self._simulated = Simulated(workspace, self._now, history=history, disk=Disk())

    def judges(self, to: Route) -> bool:
        """Whether the server of a destination is simulated."""
        return self._simulated.is_simulated(to.destination)

    def begin(self, context: Context) -> None:
        """Receive the requests of this event from now on."""
        self._context = context

    def _now(self) -> datetime:
        return datetime.now(UTC) if self._context is None else self._context.clock()

    def sender(self, to: Route) -> Sender:
        """Return a sender to a destination whose server is simulated."""
        return _Attentive(self._sender(to), self._simulated.server(to.destination), self._note)

    def _note(self, lost: Sequence[Loss]) -> None:
        self._lost.setdefault(id(self._context), []).extend(lost)

    def lookup(self, to: Route) -> Lookup:
        """Return look-ups that the simulated server answers from what it holds.

        What it loses by them is not counted: the request of the same event follows.
        """
        sender = self._sender(to)
        return lookup_through(lambda: sender)

    def _sender(self, to: Route) -> Sender:
        carry = transport_of(to, self._transport, simulated=self._simulated)
        sender = Sender(carry, timeout=self._workspace.delivery.timeout)
        if not self._whole and isinstance(self._transport, Recorder) and self._transport.is_silent:
            return DirectSender(self._simulated.server(to.destination), to, sender)
        return sender

    def passages(self, passages: Sequence[Passage], contexts: Sequence[Context]) -> list[Passage]:
        """Return the passages of events, with what was lost of each."""
        lost: Mapping[int, list[Loss]] = self._lost
        self._lost, self._context = {}, None
        for server in self._simulated.servers():
            server.spill()
        return [
            passage._replace(lost=lost.get(id(context), ())) if _is_sent(passage) else passage
            for passage, context in zip(passages, contexts, strict=True)
        ]


class _Attentive(Sender):
    """A sender that notes what the server lost of each request."""

    def __init__(self, sender: Sender, server: SimulatedServer, note: Callable[[Sequence[Loss]], None]) -> None:
        self._sender, self._server, self._note = sender, server, note

    def send(self, payload: Mapping[str, Json]) -> Delivered:
        """Return the response to a request."""
        delivered = self._sender.send(payload)
        lost = self._server.recent_losses()
        if lost:
            self._note(lost)
        return delivered


def _is_sent(passage: Passage) -> bool:
    return passage.fate.status == "delivered" or passage.fate.by == "send_to_destination"
