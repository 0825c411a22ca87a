"""Policies of the workspace, checked on what is sent while it is sent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from svctoolkit.causes import text_template
from svctoolkit.errors import ConfigError
from svctoolkit.server.inspect.breach_origins import BreachGroup, BreachOrigins
from svctoolkit.server.inspect.losses import loss_finder
from svctoolkit.server.inspect.own_payloads import OwnPayloads
from svctoolkit.server.inspect.records import Fate, seen
from svctoolkit.server.inspect.revisions import Revisions
from svctoolkit.server.store import schema
from svctoolkit.server.store.records import FATES, Filter, Records
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import is_forward_key

if TYPE_CHECKING:
    from svctoolkit.policies import Policies, PolicyBreach

_AT_ONCE = 2_000  # fates in memory
_SECONDS = 2.0  # of a call: a page asks every few seconds
_MOST_OPEN = 500  # events that are looked at again because they were pending
_MOST_GROUPS = 100  # of a policy
_Groups: TypeAlias = dict[tuple[str, str, str], BreachGroup]
_PLACE = "event "  # the place of an event in queries: the word and the seq


class PolicyState(Struct, frozen=True):
    """A policy, how many `breaches` were found, and the first hundred groups of them, the newest group first."""

    name: str
    kind: str
    severity: str
    owner: str
    breaches: int
    groups: list[BreachGroup]


class PolicyStates(Struct, frozen=True):
    """The policies of the workspace. `events` were checked so far; `more`: the next call continues, because this one
    has checked events, or measured origins, for two seconds.

    `problem` says why the policies cannot be checked.
    """

    items: list[PolicyState]
    events: int
    more: bool
    problem: str = ""


class PolicyWatch:
    """Checks events as soon as they have all their fates, each once. Thread-safe."""

    def __init__(self, engine: Engine, revisions: Revisions) -> None:
        self._engine, self._lock, self._revisions = engine, Lock(), revisions
        self._origins = BreachOrigins(engine, revisions)
        self._progress: _Progress | None = None

    def states(self, run: str | None) -> PolicyStates:
        """Return the policies and their breaches among the events of a run, or of all."""
        workspace = self._engine.workspace
        if not workspace.policies:
            return PolicyStates([], 0, more=False)
        from svctoolkit.policies import Policies  # few workspaces have policies

        with self._lock:
            current = self._progress
            if current is None or current.run != run or current.written != workspace.policies:
                try:
                    policies = Policies.of_workspace(workspace)
                except ConfigError as error:
                    return PolicyStates([], 0, more=False, problem=str(error))
                current = self._progress = _Progress(self._engine, self._revisions, policies, run, workspace.policies)
            more = current.advance(time.monotonic() + _SECONDS)
            counts, groups, events = *current.breaches(), current.events
        found, more_origins = self._origins.add(current.policies, groups)
        states = [
            PolicyState(name, kind, severity, owner, counts[name], found.get(name, []))
            for name, kind, severity, owner in current.policies.listed
        ]
        return PolicyStates(states, events, more or more_origins)


class _Progress:
    """What was found so far. A change of the policies, or another run, begins anew."""

    def __init__(
        self, engine: Engine, revisions: Revisions, policies: Policies, run: str | None, written: Sequence[Any]
    ) -> None:
        from svctoolkit.policies.tables import Sheets, Tables

        self._engine, self.policies, self.run, self.written = engine, policies, run, [*written]
        self._own = OwnPayloads(engine, revisions)
        self._sheets, self._tables = Sheets(policies.reads), Tables(policies.reads)
        self._fates = Records(engine.store, FATES, Filter(run=run))
        self._after, self._open = -1, dict[int, None]()
        self._counts, self._groups = Counter[str](), dict[str, _Groups]()
        self._of_queries: list[tuple[PolicyBreach, int | None]] = []
        self._losses = loss_finder(engine)
        self.events = 0

    def advance(self, until: float) -> bool:
        """Check the next events that are no longer pending; return whether there are more at this time."""
        before, self._losses = self.events, loss_finder(self._engine)
        again, more = [*self._open][:_MOST_OPEN], True
        self._check_settled({seq: self._of(seq) for seq in again})
        while more:
            by_event: dict[int, list[schema.Fate]] = {}
            fates = self._fates.page(self._after, _AT_ONCE)
            for fate in fates:
                if not is_forward_key(fate.destination):
                    by_event.setdefault(fate.seq, []).append(fate)
                self._after = fate.seq
            self._check_settled(by_event)
            more = len(fates) >= _AT_ONCE
            if time.monotonic() > until:
                break
        if self.events != before:
            self._query()
        return more

    def _check_settled(self, by_event: Mapping[int, Sequence[schema.Fate]]) -> None:
        for seq, of_event in by_event.items():
            self._open.pop(seq, None)
            if any(fate.status == "pending" and not self._is_paused(fate) for fate in of_event):
                self._open[seq] = None  # at the end: the next call looks at others first
            else:
                self._check(seq, [seen(Fate, self._engine, fate) for fate in of_event])

    def breaches(self) -> tuple[Counter[str], dict[str, list[BreachGroup]]]:
        """Return how many breaches each policy has, and their groups, the newest first."""
        counts, groups = Counter(self._counts), {name: {**of} for name, of in self._groups.items()}
        for breach, seq in self._of_queries:
            counts[breach.policy] += 1
            _add(groups, breach, seq)
        return counts, {name: [*of.values()][::-1] for name, of in groups.items()}

    def _of(self, seq: int) -> list[schema.Fate]:
        fates = Records(self._engine.store, FATES, Filter(seq=seq)).page(-1, _AT_ONCE)
        return [fate for fate in fates if not is_forward_key(fate.destination)]

    def _is_paused(self, fate: schema.Fate) -> bool:
        return self._engine.pending.is_paused(fate.destination)

    def _check(self, seq: int, fates: Sequence[Fate]) -> None:
        from svctoolkit.policies import Arrival

        self.events += 1
        mask = self._engine.masker().mask
        arrivals = [Arrival(fate.destination, self._own.of(fate), tuple(self._losses(fate))) for fate in fates]
        for arrival in arrivals:
            self._sheets.add(fates[0].event, f"{_PLACE}{seq}", arrival.destination, arrival.payloads, mask)
        for breach in self.policies.check(fates[0].event, arrivals, mask):
            self._counts[breach.policy] += 1
            _add(self._groups, breach, seq)

    def _query(self) -> None:
        from svctoolkit.policies import Whole

        if self.policies.reads:
            self._tables.add(self._sheets.finish())
            whole = Whole(self._tables, is_complete=False)
            found = self.policies.check_whole(whole)
            self._of_queries = [(breach, _seq_of(finding.place)) for breach, finding in found]


def _seq_of(place: str) -> int | None:
    """Return the event of a row of a query; None for a row of no event, such as a sum."""
    seq = place.removeprefix(_PLACE)
    return int(seq) if seq.isdecimal() else None


def _add(groups: dict[str, _Groups], breach: PolicyBreach, seq: int | None) -> None:
    """Add a breach to its group, so that a rare kind stays visible next to frequent ones."""
    of = groups.setdefault(breach.policy, {})
    key = breach.destination, breach.path, text_template(breach.text)
    if key in of or len(of) < _MOST_GROUPS:
        known = of.get(key)
        count, first = (known.count + 1, known.first) if known else (1, seq)
        of[key] = BreachGroup(
            count, first, seq, breach.event, breach.destination, breach.path, breach.text, breach.value
        )
