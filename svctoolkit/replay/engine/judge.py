"""The simulated destinations of one side: what they refuse, drop, cut and fold of the events of a replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from svctoolkit.delivery import HttpRequest, HttpResponse, Sender, Transport
from svctoolkit.destinations import Context, Lookup
from svctoolkit.pipeline import Passage, Route, Simulated
from svctoolkit.pipeline.outside import lookup_through, transport_of
from svctoolkit.simulations import Disk, Loss
from svctoolkit.workspace import Workspace


class Judge:
    """Servers that remember the events of earlier batches, with most of their state on disk.

    The clock of a server is that of the event that it receives. Losses are kept by the context of their event, until
    `passages` returns them.
    """

    def __init__(self, workspace: Workspace, transport: Transport, history: Literal["new", "existing"]) -> None:
        self._workspace, self._transport = workspace, transport
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
        carry = transport_of(to, self._transport, simulated=self._simulated)

        def exchange(request: HttpRequest, *, timeout: float) -> HttpResponse:
            response = carry(request, timeout=timeout)
            lost = self._simulated.server(to.destination).recent_losses()
            if lost:
                self._lost.setdefault(id(self._context), []).extend(lost)
            return response

        return Sender(exchange, timeout=self._workspace.delivery.timeout)

    def lookup(self, to: Route) -> Lookup:
        """Return look-ups that the simulated server answers from what it holds.

        What it loses by them is not counted: the request of the same event follows.
        """
        carry = transport_of(to, self._transport, simulated=self._simulated)

        def exchange(request: HttpRequest, *, timeout: float) -> HttpResponse:
            response = carry(request, timeout=timeout)
            self._simulated.server(to.destination).recent_losses()
            return response

        return lookup_through(lambda: Sender(exchange, timeout=self._workspace.delivery.timeout))

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


def _is_sent(passage: Passage) -> bool:
    return passage.fate.status == "delivered" or passage.fate.by == "send_to_destination"
