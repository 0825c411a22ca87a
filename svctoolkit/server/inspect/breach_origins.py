"""Where the values of breaches come from: measured when the breaches are read, once for each group of them.

Bounded: a call measures for two seconds at most, and 20 groups. Nothing leaves the machine, whatever the delivery mode
is: look-ups of the user's code get the answers of a recorder.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from svctoolkit.causes import text_template
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.plans import change_event
from svctoolkit.server.inspect.revisions import Revision, Revisions, dependencies, unsent
from svctoolkit.server.store.checks import stored_change
from svctoolkit.server.store.record import time_of
from svctoolkit.server.store.records import EVENTS, FATES, Filter, Records
from svctoolkit.server.worker import Engine
from svctoolkit.server.worker.watchdog import OverBudgetError, Watchdog, is_own_code

if TYPE_CHECKING:
    from svctoolkit.policies import Policies
    from svctoolkit.policies.origins import Origins

_LOG = logging.getLogger("svctoolkit.policies")
_SECONDS = 2.0  # of a call: a page asks every few seconds
_MOST_CACHED = 1_000
#: A measurement runs the user's code about a hundred times. It may need this many times the limit of one event.
_BUDGET = 5
_Groups: TypeAlias = "dict[str, list[BreachGroup]]"


class BreachOrigin(Struct, frozen=True):
    """Where the value of a breach comes from: members of the event or settings, and in brackets the lines of code that
    wrote it: `properties.query (clean.js:9)`. For a missing value, the line that removes it.

    It was measured once for its group, on the event `seq`. `workspace` is the revision that this was measured with: the
    `current` one, the `earlier` one that the event was sent by, or the current one because that one is `unknown`.
    `note` says what has changed since, or is empty.
    """

    text: str
    seq: int
    workspace: Literal["current", "earlier", "unknown"]
    note: str


class BreachGroup(Struct, frozen=True):
    """Breaches of a policy that are alike: at the same path of a destination, with the same text but for numbers and
    quoted texts.

    `count` is their number, `first` the seq of the first one. The other members are those of the latest: its event, the
    path in its payload, and the value, masked. `seq` is null for a row about no single event. `origin` says where the
    value comes from; null if that is unknown, or is not measured yet.
    """

    count: int
    first: int | None
    seq: int | None
    event: str
    destination: str
    path: str
    text: str
    value: Any
    origin: BreachOrigin | None = None


class _Sent(NamedTuple):
    """An event that was sent to a destination: when it was accepted, and first sent."""

    seq: int
    source: str
    received: datetime
    at: datetime


class _Measured(NamedTuple):
    """An origin, valid as long as the destination depends on the same."""

    dependencies: tuple[Any, ...]
    origin: BreachOrigin | None


class _Round:
    """What one call may still measure, and what it has prepared."""

    def __init__(self, policies: Policies, current: Revision, *, most: int) -> None:
        self.policies, self.current, self._left = policies, current, most
        self._until = time.monotonic() + _SECONDS
        self._dependencies: dict[tuple[int, str], tuple[Any, ...]] = {}
        self._pipelines: dict[int, Pipeline] = {}

    @property
    def is_over(self) -> bool:
        return self._left <= 0 or time.monotonic() > self._until

    def count(self) -> None:
        self._left -= 1

    def dependencies(self, revision: Revision, destination: str) -> tuple[Any, ...]:
        key = revision.number, destination
        if key not in self._dependencies:
            self._dependencies[key] = dependencies(revision.workspace, destination)
        return self._dependencies[key]

    def pipeline(self, revision: Revision) -> Pipeline:
        """Return a pipeline for measurements. It sends nothing, also for user code of a live workspace."""
        if revision.number not in self._pipelines:
            self._pipelines[revision.number] = unsent(revision.workspace)
        return self._pipelines[revision.number]


class BreachOrigins:
    """Measures and caches the origins of a data plane's breaches. Thread-safe."""

    def __init__(self, engine: Engine, revisions: Revisions) -> None:
        self._engine, self._revisions = engine, revisions
        self._known: dict[tuple[str, str, str, str, int], _Measured] = {}
        self._lock = Lock()
        self._watchdog = Watchdog(lambda: engine.workspace.data_plane.limits.mapping * _BUDGET)

    def add(self, policies: Policies, groups: Mapping[str, Sequence[BreachGroup]]) -> tuple[_Groups, bool]:
        """Return groups of breaches, by policy, with their origins, and whether the next call will find more of these.

        One call at a time measures, because that runs user code. Others return at once with what is cached.
        """
        from svctoolkit.policies.origins import MOST  # few workspaces have policies

        has_turn = self._lock.acquire(blocking=False)
        try:
            round_ = _Round(policies, self._revisions.current(), most=MOST if has_turn else 0)
            found, more = dict[str, list[BreachGroup]](), False
            for name, of in groups.items():
                found[name] = []
                for item in of:
                    measured = self._find(name, item, round_)
                    more |= measured is None
                    found[name].append(replace(item, origin=measured.origin) if measured else item)
            return found, more
        finally:
            if has_turn:
                self._lock.release()

    def _find(self, policy: str, item: BreachGroup, round_: _Round) -> _Measured | None:
        """Return the origin of a breach; None if it is still to be measured."""
        from svctoolkit.policies.origins import names_of

        sent, now = self._sent(item), round_.dependencies(round_.current, item.destination)
        names = names_of(round_.policies, policy, item.destination, item.path)
        if sent is None or not names:
            return _NOTHING
        used = self._revisions.between(sent.received, sent.at)
        number = used[0].number if used else -1
        key = policy, item.destination, item.path, text_template(item.text), number
        known = self._known.get(key)
        if known is not None and known.dependencies == now:
            return known
        if round_.is_over:
            return None
        round_.count()
        if len(self._known) >= _MOST_CACHED:
            self._known.clear()
        self._known[key] = _Measured(now, self._measure(names, item, sent, used, round_))
        return self._known[key]

    def _sent(self, item: BreachGroup) -> _Sent | None:
        """Return how the event of a breach was sent; None if it was deleted, or the breach is about no single event."""
        if item.seq is None:
            return None
        fate = Records(self._engine.store, FATES, Filter(seq=item.seq, destination=item.destination)).at(0)
        event = Records(self._engine.store, EVENTS, Filter(seq=item.seq)).at(0)
        if fate is None or event is None:
            return None
        at = fate.at if fate.since is None else time_of(fate.since)
        return _Sent(item.seq, fate.source, event.received_at, at)

    def _measure(
        self, names: Collection[str], item: BreachGroup, sent: _Sent, used: Sequence[Revision], round_: _Round
    ) -> BreachOrigin | None:
        """Return the origin by the last revision that gives the same value.

        The user's code may have run long before the event was sent, with an earlier revision. If no measurement gives
        the same value, the first one counts, and has a note.
        """
        other: BreachOrigin | None = None
        for revision in _differing(used or [round_.current], item.destination, round_):
            if other is not None and round_.is_over:
                return other
            found = self._origins(names, item, sent, revision, round_)
            if found is None:
                continue
            if found.is_same:
                return _shown(found, sent.seq, revision, is_known=bool(used))
            other = other or _shown(found, sent.seq, revision, is_known=bool(used))
        return other

    def _origins(
        self, names: Collection[str], item: BreachGroup, sent: _Sent, revision: Revision, round_: _Round
    ) -> Origins | None:
        from svctoolkit.policies.origins import Subject, find_origins

        has_value, mask = bool(item.path), self._engine.masker().mask

        def is_value(value: Json) -> bool:
            if item.value is None:  # a row of a query shows none
                return not has_value or value in (None, "")
            return str(mask(value)) == str(item.value)

        try:
            event = change_event(self._engine.events[sent.seq], stored_change(self._engine.store, sent.seq))
            pipeline = round_.pipeline(revision)
            workspace = pipeline.workspace
            route = pipeline.route(workspace.destination(item.destination))
            context = replace(pipeline.context_of(route), clock=lambda: sent.at)
            subject = Subject(event, route, context, workspace.sources.get(sent.source))
            if not is_own_code(route):
                return find_origins(names, subject, is_value)
            return self._watchdog.run(lambda: find_origins(names, subject, is_value), "dest_transform")
        except OverBudgetError as error:
            _LOG.warning("measuring the origin of a breach at %s %s", item.destination, error)
            return None
        except (KeyError, ToolkitError):  # the event was deleted, or the revision cannot be used
            return None
        except Exception:  # noqa: BLE001 - a user's mapping may fail for a changed event
            _LOG.exception("the origin of a breach at %s cannot be measured", item.destination)
            return None


_NOTHING = _Measured((), None)


def _differing(used: Sequence[Revision], destination: str, round_: _Round) -> Iterator[Revision]:
    """Yield the revisions that differ for a destination, the current one instead of those that are the same as it."""
    seen = list[tuple[Any, ...]]()
    for revision in used:
        depends = round_.dependencies(revision, destination)
        if depends not in seen:
            seen.append(depends)
            is_current = depends == round_.dependencies(round_.current, destination)
            yield round_.current if is_current else revision


def _shown(found: Origins, seq: int, revision: Revision, *, is_known: bool) -> BreachOrigin | None:
    if not found.text:
        return None
    notes = []
    if not is_known:
        notes.append("the workspace that sent the event is unknown; this is measured with the current one")
    if revision.until is not None:
        notes.append(
            f"the workspace has changed since; this is how it was until {revision.until:%Y-%m-%d %H:%M:%S} UTC"
        )
    if not found.is_same:
        notes.append("measured again, the value is another: code, settings or look-ups have changed since")
    workspace: Literal["current", "earlier", "unknown"] = "current" if revision.until is None else "earlier"
    return BreachOrigin(found.text, seq, workspace if is_known else "unknown", "; ".join(notes))
