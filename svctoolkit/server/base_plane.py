"""What a test does with a data plane while it runs: wait, pass time, set answers and faults, delete users, reset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from svctoolkit.delivery import Answer as RecorderAnswer
from svctoolkit.delivery import Recorder
from svctoolkit.delivery.faults import FaultInjector, Faults, FaultState
from svctoolkit.errors import StillWaiting
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.admin import Control
from svctoolkit.server.faults import switch
from svctoolkit.server.inspect import arrivals
from svctoolkit.server.inspect.arrivals import Totals
from svctoolkit.server.inspect.views import View
from svctoolkit.server.regulations.model import Regulation
from svctoolkit.server.regulations.worker import Regulations
from svctoolkit.server.store.memory import IdentityMemory
from svctoolkit.server.worker import Engine
from svctoolkit.simulations import SimulatedServer
from svctoolkit.workspace import Destination, UserCode, Workspace

if TYPE_CHECKING:
    from svctoolkit.warehouse import Warehouse

_SOON = 0.02  # seconds in which most events arrive


class BaseDataPlane(View):
    """A data plane without its HTTP server: the records of its events, and the methods that control it."""

    def __init__(self, workspace: Workspace, engine: Engine, pipeline: Pipeline, new_id: Callable[[], str]) -> None:
        super().__init__(engine)
        self.workspace, self._pipeline = workspace, pipeline
        self._regulations = Regulations(engine, pipeline, new_id)
        self._control = Control(engine)

    @property
    def recorder(self) -> Recorder:
        """The recorder that answers for every destination, in delivery mode `record`."""
        return self._pipeline.recorder

    @property
    def injector(self) -> FaultInjector:
        """What decides which faults its requests meet; `set_faults` switches profiles by any key."""
        return self._pipeline.faults

    @property
    def user_code(self) -> UserCode:
        """The transformations of the workspace, as this data plane runs them."""
        return self._pipeline.user_code

    def memory(self, source: str, *, run: str = "") -> IdentityMemory:
        """Return what a source (key or id) remembers between webhooks in a run: carts and visitors of Shopify.

        Raises `UnknownName`.
        """
        return self._engine.memories.of(self.workspace.source(source).key, run)

    def delete(self, users: Json, *, destinations: Sequence[str] | None = None, run: str = "") -> Regulation:
        """Delete users at `destinations` (keys or ids), by default at all whose type can. Return the regulation.

        `users` is an id, an object with `userId` and other attributes, or a list of these. The jobs run in the
        background, one at a time: `drain` waits for them.

        Raises `InvalidDeletion` for bad users, `UnknownName` for an unknown destination.
        """
        return self._regulations.add(users, destinations, run)

    @property
    def regulations(self) -> list[Regulation]:
        """The requests to delete users, oldest first, with their jobs."""
        return self._regulations.of_run()

    def of_run(self, run: str) -> View:
        """Return a view of one run: events with the header `X-Svctoolkit-Run` or with `write_key(..., run=run)`."""
        return View(self._engine, run)

    def drain(self, timeout: float = 30.0, *, run: str = "") -> None:
        """Return when nothing is under way any more, including scheduled retries but not disabled destinations.

        With `run`, wait only for that run.

        Raises `StillWaiting` after `timeout` seconds, which says what is under way and why.
        """
        chosen = run or None
        with self._engine.hurry(chosen):
            # Most drains end within milliseconds; waking every lane first would cost more than the wait.
            if self._engine.await_idle(chosen, min(_SOON, timeout)):
                return
            self._engine.wake()  # a destination may have been enabled without notice
            idle = self._engine.await_idle(chosen, timeout)
        if not idle:
            raise StillWaiting(f"events are still under way after {timeout:.2g} s: {self._engine.describe(chosen)}")

    def advance(self, seconds: float, *, timeout: float = 30.0) -> None:
        """Let `seconds` pass at once: retries that become due are made, and the clock moves on.

        Raises `StillWaiting` if that takes longer than `timeout` real seconds.
        """
        if not self._engine.advance(seconds, timeout):
            events = self._engine.describe(None)
            raise StillWaiting(f"the retries of {seconds:g} s are not finished after {timeout:g} s: {events}")

    def time(self) -> float:
        """Return the time of its clock in seconds since 1970, including what `advance` has added.

        A client with `clock=plane.time` lives in the same time: its sessions end while `advance` passes.
        """
        return self._engine.clock().timestamp()

    def wait(self, condition: Callable[[], object], timeout: float = 30.0) -> None:
        """Return when `condition()` is true. It is checked after every change, and ten times a second.

        The condition may therefore depend on other things, such as your own server. Raises `StillWaiting`.
        """
        if not self._engine.notifier.wait(lambda: bool(condition()), timeout, every=0.1):
            raise StillWaiting(f"the condition is false after {timeout:g} s: {self._engine.describe(None)}")

    def totals(self) -> Totals:
        """Return counts since the start. They are kept up to date, so this is cheap, unlike counting the records."""
        return arrivals.totals(self._engine)

    def warehouse(self, destination: str) -> Warehouse:
        """Return the tables of a warehouse destination (key or id). Reading them loads the events so far.

        Raises `UnknownName`, also for a destination of another type.
        """
        return self._pipeline.warehouse(destination)

    def mask(self, value: Json) -> Json:
        """Return a copy of `value` (JSON) with every secret of the workspace masked."""
        return self._engine.masker().mask(value)

    def watch(self, listener: Callable[[str, list[dict[str, Json]]], None]) -> Callable[[], None]:
        """Call `listener(kind, changes)` after every change. Return a function that stops this.

        Kinds are `received`, `rejected`, `delivery`, `fate`, `violation`, and `end` when the data plane stops. The
        listener is called in, and blocks, the thread that makes the change: one of the data plane's, or the caller of
        `send`. Its errors are logged (`svctoolkit.delivery`), and the events continue.
        """
        self._engine.journal.feed.listen(listener)
        return partial(self._engine.journal.feed.unlisten, listener)

    def simulation(self, destination: str, *, run: str = "") -> SimulatedServer:
        """Return the simulated server of a destination (key or id), with what it holds in a run.

        Raises `UnknownName`, or `UsageError` if the destination is not simulated.
        """
        return self._pipeline.simulated.server(self.workspace.destination(destination), run)

    def simulated_destinations(self) -> list[Destination]:
        """Return the destinations whose servers are simulated, in the order of the workspace."""
        is_simulated = self._pipeline.simulated.is_simulated
        return [destination for destination in self.workspace.destinations.values() if is_simulated(destination)]

    def script(self, destination: str, *answers: RecorderAnswer, run: str = "") -> None:
        """Let the recorder answer a destination (key or id) with these answers, in order; the last is repeated.

        `destination` may be a URL prefix instead, such as `https://crm.example/lookup`, for requests of user code.
        With `run`, this applies only to requests of that run. Without answers, restore the default. Raises
        `UnknownName`.
        """
        key = destination if "://" in destination else self.workspace.target_key(destination)
        self.recorder.script(key, *answers, run=run)

    def set_faults(
        self,
        profile: str | Faults | None,
        *,
        destination: str | None = None,
        source: str | None = None,
        run: str = "",
    ) -> None:
        """Switch a fault profile on at a destination, or for the requests of a source's clients (keys or ids).

        `profile` is a name in the workspace, or a profile; None: no faults, whatever the workspace says. With `run`, it
        applies only to requests of that run. `reset` returns to what the workspace says; `faults` shows what is on.

        Raises `UnknownName`, and `UsageError` for a profile that contradicts itself.
        """
        switch(self._engine.faults, self.workspace, profile, destination=destination, source=source, run=run)

    @property
    def faults(self) -> list[FaultState]:
        """The fault profiles that are switched on, with what they have done."""
        return self._engine.faults.states()

    def reset(self, run: str = "") -> int:
        """Delete settled events, recorded requests, scripts and faults that were set. Return how many events.

        With `run`, delete only what belongs to it or to a run within it (`run/...`). Pending events stay.
        """
        self.recorder.reset(run)
        self._engine.faults.reset(run)
        self.user_code.forget(run)
        if not run:
            self._pipeline.warehouses.clear()
        return self._engine.forget(run or None)

    def replay(self, destination: str | None = None, *, run: str | None = None, status: str = "dead") -> int:
        """Retry dead events (or, with `status`, `failed` ones). Return how many. Raises `UnknownName`."""
        key = self.workspace.target_key(destination) if destination else None
        return self._engine.replay([status], key, run)

    def enable(self, *, source: str | None = None, destination: str | None = None, enabled: bool = True) -> None:
        """Enable or disable a source or a destination. Events that wait for a disabled destination stay pending.

        Raises `UnknownName`.
        """
        self._control.enable(source=source, destination=destination, enabled=enabled)
