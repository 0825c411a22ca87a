"""The records of a data plane as lazy sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from svctoolkit.displayed import Displayed
from svctoolkit.secrets import Masker
from svctoolkit.server.inspect import arrivals, queries
from svctoolkit.server.inspect.arrivals import Arrival
from svctoolkit.server.inspect.breaches import breaches_of
from svctoolkit.server.inspect.held import Held, HeldPerson, Losses
from svctoolkit.server.inspect.held.person import find_person
from svctoolkit.server.inspect.latency import Latencies, latencies
from svctoolkit.server.inspect.records import Delivery, Fate, Received, Rejected, Violation, Webhook, seen
from svctoolkit.server.store.arrivals import Selection
from svctoolkit.server.store.record import Record
from svctoolkit.server.store.records import (
    DELIVERIES,
    EVENTS,
    FATES,
    REJECTED,
    VIOLATIONS,
    WEBHOOKS,
    Filter,
    Kind,
    Records,
    fate_counts,
)
from svctoolkit.server.worker import Engine

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.delivery import Recorded
    from svctoolkit.history import History
    from svctoolkit.policies import Policies, PolicyBreach
    from svctoolkit.workspace import CodeLog

T = TypeVar("T", bound=Record)
_PAGE = 500


class Rows(Displayed, Sequence[T], Generic[T]):
    """Records of one kind, oldest first. Live: the sequence grows while the data plane works."""

    # Any: records of one of several kinds
    def __init__(self, engine: Engine, kind: Kind[Any], chosen: Filter, shown: type[T]) -> None:
        self._engine, self._shown = engine, shown
        self._records: Records[Any] = Records(engine.store, kind, chosen)

    def __len__(self) -> int:
        self._settle()
        return self._records.count()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return list(self)[index]
        self._settle()
        record = self._records.at(index)
        if record is None:
            raise IndexError(f"record {index} is out of range; there are {len(self)} records")
        return seen(self._shown, self._engine, record)

    def __iter__(self) -> Iterator[T]:
        self._settle()
        for record in self._records.all(_PAGE):
            yield seen(self._shown, self._engine, record)

    def _settle(self) -> None:
        """Wait until everything accepted before is in the tables."""
        pending, accepted = self._engine.pending, self._engine.pending.accepted
        self._engine.notifier.wait(lambda: pending.is_routed(accepted), 5.0)
        self._engine.store.flush()

    def frame(self) -> pd.DataFrame:
        """Return one row per record; JSON values become columns with dotted names. Secrets are masked."""
        from svctoolkit.server.inspect.frames import frame

        return frame(self, self._engine.masker())

    def __repr__(self) -> str:
        few = self[:3] if len(self) <= 3 else [*self[:2], ...]
        return f"[{', '.join('...' if item is ... else repr(item) for item in few)}] ({len(self)} records)"

    def masker(self) -> Masker:
        """Return a masker for the currently known secrets."""
        return self._engine.masker()


class View(Displayed):
    """The records of one run, or of all. The sequences are live."""

    def __init__(self, engine: Engine, run: str | None = None) -> None:
        self._engine, self._run = engine, run

    def __repr__(self) -> str:
        return f"<records of a data plane, {f'run {self._run!r}' if self._run else 'all runs'}>"

    @property
    def received(self) -> Rows[Received]:
        """Every accepted event. A repeat (same `messageId`) has the seq of the first event in `repeats`."""
        return Rows(self._engine, EVENTS, Filter(run=self._run), Received)

    @property
    def repeated(self) -> Rows[Received]:
        """The accepted events that a client had sent before, for instance because an answer was lost."""
        return Rows(self._engine, EVENTS, Filter(run=self._run, repeated=True), Received)

    @property
    def rejected(self) -> Rows[Rejected]:
        """The rejected requests, or (`lenient`) the rejected events."""
        return Rows(self._engine, REJECTED, Filter(run=self._run), Rejected)

    @property
    def webhooks(self) -> Rows[Webhook]:
        """Every request to `/v1/webhook` with its answer, also those that were refused."""
        return Rows(self._engine, WEBHOOKS, Filter(run=self._run), Webhook)

    @property
    def delivered(self) -> Rows[Delivery]:
        """Every request of which the destination accepted an event, by the rules of its type."""
        return Rows(self._engine, DELIVERIES, Filter(run=self._run, succeeded=True), Delivery)

    @property
    def deliveries(self) -> Rows[Delivery]:
        """Every request to a destination, with any answer."""
        return Rows(self._engine, DELIVERIES, Filter(run=self._run), Delivery)

    @property
    def fates(self) -> Rows[Fate]:
        """One record for each event and each destination that its source is connected to."""
        return Rows(self._engine, FATES, Filter(run=self._run), Fate)

    @property
    def violations(self) -> Rows[Violation]:
        """One record for each violation of a tracking plan."""
        return Rows(self._engine, VIOLATIONS, Filter(run=self._run), Violation)

    @property
    def conforming(self) -> Rows[Received]:
        """The accepted events without violations."""
        return Rows(self._engine, EVENTS, Filter(run=self._run, violations=False), Received)

    @property
    def violating(self) -> Rows[Received]:
        """The accepted events with violations."""
        return Rows(self._engine, EVENTS, Filter(run=self._run, violations=True), Received)

    def latencies(self) -> Latencies:
        """Return how long each stage takes at each destination, over the last 2,000 requests."""
        self._engine.store.flush()
        return latencies(self._engine, self._run)

    def breaches(self, policies: Policies | None = None, *, misspelt_only: bool = False) -> list[PolicyBreach]:
        """Return where policies (by default the workspace's) do not hold for what was sent, with secrets masked.

        Of a request that events share, each is checked as if it were sent alone. Raises `ConfigError` for a policy
        about a destination that the workspace does not have; with `misspelt_only` as `Policies.require` does.
        """
        from svctoolkit.policies import Policies  # few programs have policies

        workspace = self._engine.workspace
        chosen = Policies.of_workspace(workspace) if policies is None else policies
        chosen.require(workspace.destinations, misspelt_only=misspelt_only)
        return list(breaches_of(self._engine, self.fates, chosen))

    def history(self) -> History:
        """Return the accepted events as a history, with their outcomes by destination: see `svctoolkit.history`."""
        from svctoolkit.history import Collector, History  # few programs need it

        collector = Collector(self._engine.workspace.masker.text, examines_all=True)
        fates = iter(self.fates)
        fate = next(fates, None)
        for received in self.received:
            collector.begin(received.event)
            collector.add(received.event)
            while fate is not None and fate.seq <= received.seq:
                if fate.seq == received.seq:
                    collector.count(received.event, fate.destination, fate.status)
                fate = next(fates, None)
        part = collector.finish("data plane")
        return History([part] if part.events else [])

    @property
    def fetched(self) -> list[Recorded]:
        """The requests of user code (`fetch`, `fetchV2`, `geolocation`) that the recorder has answered, in order."""
        return [request for request in self._engine.recorder.fetched if self._run in (None, request.run)]

    @property
    def logs(self) -> list[CodeLog]:
        """The lines that user code has logged, oldest first, with their level, event and destination."""
        return [log for log in list(self._engine.user_code.logs) if self._run in (None, log.run)]

    def held(self, destination: str) -> Held:
        """Return what a simulated destination (key or id) holds in this run, or outside of runs.

        Raises `UnknownName`, or `UsageError` if the destination is not simulated.
        """
        target, simulated = self._engine.workspace.destination(destination), self._engine.simulated
        simulated.server(target, self._run or "")
        return Held(lambda: simulated.server(target, self._run or ""), self._engine.masker)

    def person(self, id: str) -> HeldPerson:
        """Return what every simulated destination holds about a person in this run, or outside of runs.

        `id` is the value of any id at any destination, or an e-mail address.
        """
        return find_person(self._engine, id, self._run or "")

    @property
    def lost(self) -> Losses:
        """What simulated destinations have lost, although it may be delivered."""
        return Losses(
            lambda: [loss for server in self._engine.simulated.servers(self._run) for loss in server.losses],
            self._engine.masker,
        )

    def newest(
        self,
        limit: int = 50,
        *,
        source: str = "",
        type: str = "",
        destination: str = "",
        status: str = "",
        text: str = "",
    ) -> list[Arrival]:
        """Return the newest events and refusals, newest first, in one line each with their fates. Secrets are masked.

        `status` is a fate (at `destination`, if given) or `rejected`; `text` is part of a name, a user or a message id.
        Only the newest 5,000 events are searched, so that a live display can call this several times a second.
        """
        chosen = Selection(self._run, source, type, destination, status, text)
        return arrivals.newest(self._engine, chosen, limit)

    def about(self, seq: int) -> dict[str, list[queries.JsonRecord]]:
        """Return all records of one event or refusal, as in `/inspect`: `events`, `rejected`, `fates`, `deliveries`."""
        return queries.about(self._engine, seq)

    def fate_counts(self) -> dict[tuple[str, str], int]:
        """Return how many events have which fate, by destination and status."""
        return fate_counts(self._engine.store, self._run)
