"""The fault profiles that are switched on, and the fault that each request meets."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from threading import Lock
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct

from svctoolkit.delivery._runs import is_within
from svctoolkit.delivery.faults.profile import Down, Faults, FaultSettings
from svctoolkit.delivery.recorder.answer import Answer
from svctoolkit.errors import UnknownName, UsageError

Kind: TypeAlias = Literal["destination", "source"]
#: Runs whose requests are counted, per destination or source; the oldest start again at their first fault.
_MOST_RUNS = 10_000


class Fault(Struct, frozen=True):
    """What one request meets: seconds of delay, and `answer` instead of that of the server, if there is one."""

    delay: float
    answer: Answer | None
    bandwidth: float | None

    def seconds(self, size: int) -> float:
        """Return the delay of a request and an answer whose bodies have `size` bytes together."""
        return self.delay if self.bandwidth is None else self.delay + size / self.bandwidth


class FaultState(Struct, frozen=True):
    """A fault profile that is switched on, and what it has done since `since`.

    `run` is empty for all runs. `name` is empty for a profile that has none. `seconds` are the delays of all requests.
    """

    kind: Kind
    key: str
    run: str
    name: str
    profile: Faults
    since: datetime
    is_down: bool
    requests: int
    errors: int
    closed: int
    seconds: float


@dataclass
class _Active:
    """A profile at a destination or source. Requests of each run are counted separately."""

    name: str
    profile: Faults
    since: datetime
    requests: OrderedDict[str, int] = field(default_factory=OrderedDict)
    total: int = 0
    errors: int = 0
    closed: int = 0
    seconds: float = 0.0

    def number(self, run: str) -> int:
        count = self.requests.pop(run, 0)
        self.requests[run] = count + 1
        if len(self.requests) > _MOST_RUNS:
            self.requests.popitem(last=False)
        return count


def _now() -> datetime:
    return datetime.now(UTC)


class FaultInjector:
    """Decides which fault a request meets. Thread-safe.

    `settings` returns the workspace's faults. Its profiles can be switched on by name; only a data plane applies them
    to the destinations and sources that the workspace names, after `start`.
    """

    def __init__(self, settings: Callable[[], FaultSettings] = FaultSettings) -> None:
        self._settings, self._lock = settings, Lock()
        self._clock: Callable[[], datetime] = _now
        self._started, self._is_started = _now(), False
        #: by kind, key and run; None: switched off
        self._switched: dict[tuple[Kind, str, str], _Active | None] = {}
        self._of_workspace: dict[tuple[Kind, str], _Active] = {}

    def start(self, clock: Callable[[], datetime]) -> None:
        """Apply the profiles of the workspace's destinations and sources from now on; times are those of this clock."""
        self._clock, self._started, self._is_started = clock, clock(), True

    def switch(self, kind: Kind, key: str, profile: str | Faults | None, run: str = "") -> None:
        """Switch a profile on: by its name in the workspace, or itself; None: none, whatever the workspace says.

        With `run`, only for requests of that run and of the runs within it. Raises `UnknownName` for a name that the
        workspace does not have, `UsageError` for a profile that makes no sense.
        """
        active = None if profile is None else self._activate(profile)
        with self._lock:
            self._switched[kind, key, run] = active
            if len(self._switched) > _MOST_RUNS:  # of tests that never reset their runs
                del self._switched[next(iter(self._switched))]

    def _activate(self, profile: str | Faults) -> _Active:
        name, faults = "", profile
        if isinstance(faults, str):
            name, profiles = faults, self._settings().profiles
            if name not in profiles:
                raise UnknownName("fault profile", name, profiles)
            faults = profiles[name]
        for path, message in faults.problems():
            raise UsageError(f"{'.'.join(map(str, ('profile', *path)))}: {message}")
        return _Active(name, faults, self._clock())

    def reset(self, run: str = "") -> None:
        """Return to what the workspace says, and count requests anew. With `run`, only for it and runs within it."""
        with self._lock:
            within = [key for key in self._switched if not run or is_within(key[2], run)]
            for key in within:
                del self._switched[key]
            if not run:
                self._of_workspace.clear()
                self._started = self._clock()
            for active in self._of_workspace.values():
                for other in [other for other in active.requests if is_within(other, run)]:
                    del active.requests[other]

    def applies_to(self, kind: Kind, key: str = "") -> bool:
        """Whether some request to a destination, or of a source, may meet a fault. Without a key: to any."""
        with self._lock:
            named = self._named(kind)
            if key in named or (not key and named):
                return True
            return any(k == kind and key in ("", other) and on for (k, other, _), on in self._switched.items())

    def _named(self, kind: Kind) -> Mapping[str, str]:
        if not self._is_started:
            return {}
        settings = self._settings()
        return settings.destinations if kind == "destination" else settings.sources

    def next(self, kind: Kind, key: str, run: str = "") -> Fault | None:
        """Return the fault of the next request; None without a profile."""
        if not self._switched and not self._named(kind):
            return None
        with self._lock:
            active = self._active(kind, key, run)
            if active is None:
                return None
            random = Random(f"{active.profile.seed}:{kind}:{key}:{active.number(run)}")
            fault = _draw(active.profile, random, active.name, (self._clock() - active.since).total_seconds())
            active.total += 1
            active.seconds += fault.delay
            if fault.answer is not None:
                active.closed += bool(fault.answer.close)
                active.errors += not fault.answer.close
            return fault

    def _active(self, kind: Kind, key: str, run: str) -> _Active | None:
        """Return the profile of the run, of the run around it, and so on; at last that of the workspace."""
        around = run
        while True:
            if (kind, key, around) in self._switched:
                return self._switched[kind, key, around]
            if not around:
                return self._by_workspace(kind, key)
            around = around.rpartition("/")[0]

    def _by_workspace(self, kind: Kind, key: str) -> _Active | None:
        name = self._named(kind).get(key)
        profile = None if name is None else self._settings().profiles.get(name)
        known = self._of_workspace.get((kind, key))
        if profile is None or name is None:
            return None
        if known is None or known.profile != profile:  # the workspace was reloaded
            known = _Active(name, profile, self._started if known is None else self._clock())
            self._of_workspace[kind, key] = known
        return known

    def states(self) -> list[FaultState]:
        """Return the profiles that are switched on, those of the workspace last."""
        with self._lock:
            kinds: tuple[Kind, ...] = ("destination", "source")
            named = [(kind, key) for kind in kinds for key in self._named(kind)]
            shown = {place: active for place, active in self._switched.items() if active is not None}
            for kind, key in named:
                if (kind, key, "") not in self._switched and (active := self._by_workspace(kind, key)):
                    shown[kind, key, ""] = active
            return [self._state(kind, key, run, active) for (kind, key, run), active in shown.items()]

    def _state(self, kind: Kind, key: str, run: str, active: _Active) -> FaultState:
        period = _period(active.profile, (self._clock() - active.since).total_seconds())
        return FaultState(
            kind, key, run, active.name, active.profile, active.since, period is not None,
            active.total, active.errors, active.closed, round(active.seconds, 3),
        )  # fmt: skip


def _draw(profile: Faults, random: Random, name: str, elapsed: float) -> Fault:
    latency, errors = profile.latency, profile.errors
    chance, status = random.random(), 503 if errors is UNSET else random.choice(errors.statuses)
    delay = latency if isinstance(latency, (int, float)) else latency.draw(random)
    bandwidth = None if profile.bandwidth is UNSET else profile.bandwidth
    period = _period(profile, elapsed)
    if period is not None:
        answer = Answer(close=True) if period.status is UNSET else _failed(period.status, name, {})
        return Fault(0.0, answer, None)
    share = 0.0 if errors is UNSET else errors.share
    if chance < profile.close:
        return Fault(delay, Answer(close=True), bandwidth)
    if chance < profile.close + share:
        wait = {} if errors is UNSET or errors.retry_after is UNSET else {"Retry-After": str(errors.retry_after)}
        return Fault(delay, _failed(status, name, wait), bandwidth)
    if chance < profile.close + share + profile.close_after:
        return Fault(delay, Answer(close="after"), bandwidth)
    return Fault(delay, None, bandwidth)


def _failed(status: int, name: str, headers: dict[str, str]) -> Answer:
    return Answer(
        status, {"message": f"injected by the fault profile {name}" if name else "injected by a fault profile"}, headers
    )


def _period(profile: Faults, elapsed: float) -> Down | None:
    return next((period for period in profile.down if period.since <= elapsed < period.until), None)
