"""A data plane that scenarios run against, in this process and without a socket."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from svctoolkit.delivery.view import json_or_text
from svctoolkit.errors import StillWaiting
from svctoolkit.json_types import Json
from svctoolkit.runner.coverage.lines import CodeCounts
from svctoolkit.runner.planes.plane import RUN_HEADER, Answer, Transformed, basic, post
from svctoolkit.runner.planes.recording import recording_workspace, transformation_id
from svctoolkit.runner.planes.time import Times
from svctoolkit.runner.suite import format as _format
from svctoolkit.workspace import Person, Workspace

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from svctoolkit.delivery import Recorder
    from svctoolkit.delivery.faults import FaultInjector
    from svctoolkit.pipeline import Pipeline, Simulated
    from svctoolkit.policies import Policies, PolicyBreach
    from svctoolkit.runner.planes.loops import Loops
    from svctoolkit.runner.planes.traces import Trace
    from svctoolkit.runner.suite.model import Scenario
    from svctoolkit.server import DataPlane

_TEST_API = ("/v0/", "/destination-definitions", "/openapi.json", "/docs")
_DRAIN_SECONDS = 0.5  # for events that a scenario did not wait for; slower planes are not reused
_STOP_SECONDS = 0.5  # scenarios wait for their own events; this only matters after an interrupt


class EmbeddedPlane:
    """Serves a workspace in record mode, whatever it says; only a live scenario's destination receives requests.

    The Test API is called directly; the data plane for other requests starts on first use.
    """

    embedded = True

    def __init__(
        self,
        workspace: Workspace,
        loops: Callable[[], Loops],
        scenario: Scenario | None = None,
        *,
        times: Times | None = None,
        coverage: bool = False,
    ) -> None:
        email, token = "suite@svctoolkit.invalid", secrets.token_urlsafe()
        self._workspace = recording_workspace(workspace, scenario)
        self._workspace.users = [*workspace.users, Person.with_token(email, token)]
        self._times = times
        self._under_way: set[str] = set()  # runs whose results were not awaited
        self._loops, self._lock = loops, threading.Lock()
        self._coverage = coverage
        self._runs: Pipeline | None = None
        self._test_api: Starlette | None = None
        self._data_plane: DataPlane | None = None
        self._states: Simulated | None = None
        self._script: tuple[str, Mapping[str, Sequence[_format.RecorderAnswer]]] = "", {}
        self._faults = "", _format.ScenarioFaults()
        self.authorization = basic(email, token)

    def begin(self, scenario: Scenario) -> None:
        """Become the plane of this scenario, with its clock and ids."""
        assert self._times is not None  # noqa: S101 - lent planes are created with times
        self._times.set(scenario.freeze)

    def reset(self) -> bool:
        """End the scenario: wait for its events and clear its responses. Return whether the plane can be reused."""
        if self._data_plane is not None and self._under_way:
            try:
                # Events that no step waited for would reach the next scenario's recorder.
                self._data_plane.drain(_DRAIN_SECONDS)
            except StillWaiting:
                return False
            self._under_way.clear()
        for pipeline in (self._data_plane, self._runs):
            if pipeline is not None:
                pipeline.recorder.reset()
        self._faults = "", _format.ScenarioFaults()
        return True

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if path.startswith(_TEST_API):
            from svctoolkit.server import call

            got = self._loops().run(call(self._app, method, path, headers, body))
        else:
            self._under_way.add(headers.get(RUN_HEADER, ""))
            got = self._plane.ingest(method, path, headers=headers, body=body)
        return Answer(got.status, got.headers, json_or_text(got.body))

    def test(self, path: str, body: bytes, run: str) -> Answer:
        from svctoolkit.server import ask

        # Without HTTP, which would take most of the time of a scenario. None for requests that need it.
        got = ask(self._pipeline, path, body, run)
        return post(self, path, body, run) if got is None else Answer(got.status, got.headers, json_or_text(got.body))

    def transform(self, key: str, events: Sequence[Mapping[str, Json]], run: str) -> Transformed:
        from svctoolkit.pipeline import transform_alone

        pipeline = self._pipeline
        route = pipeline.route(self._workspace.destination(transformation_id(key)))
        return Transformed(*transform_alone(events, route, run))

    def time(self) -> float:
        return time.time() if self._times is None else self._times.now().timestamp()

    def wait(self, seconds: float, limit: float) -> None:
        if self._data_plane is not None:
            self._data_plane.advance(seconds, timeout=limit)
        elif self._times is not None:
            self._times.advance_clock(seconds)

    def run_results(self, run: str, keys: Sequence[str], limit: float) -> Mapping[str, Json]:
        from svctoolkit.runner.planes.fates import run_results

        self._plane.drain(limit, run=run)
        self._under_way.discard(run)
        return run_results(self._plane.of_run(run), keys)

    def traces(self, run: str, keys: Sequence[str]) -> Mapping[str, Trace]:
        from svctoolkit.runner.planes.fates import traces  # only failures need it

        return traces(self._plane.of_run(run), keys)

    def breaches(self, run: str, policies: Policies) -> Sequence[PolicyBreach]:
        return self._plane.of_run(run).breaches(policies, misspelt_only=True)

    def code_records(self, run: str) -> Mapping[str, Sequence[Mapping[str, Json]]]:
        from svctoolkit.runner.planes.code import code_records  # suites without user code do not need it

        planes = [plane for plane in (self._data_plane, self._runs) if plane is not None]
        fetched = [request for plane in planes for request in plane.recorder.fetched]
        logs = [log for plane in planes for log in plane.user_code.logs]
        losses = [lost for plane in planes for lost in plane.user_code.losses]
        return code_records(fetched, logs, losses, run)

    def delete(
        self, run: str, users: Json, destinations: Sequence[str] | None, limit: float
    ) -> dict[str, dict[str, Json]]:
        from svctoolkit.runner.planes.deletions import deletions_of

        self._under_way.add(run)
        regulation = self._plane.delete(users, destinations=destinations, run=run)
        self._plane.drain(limit, run=run)
        self._under_way.discard(run)
        return deletions_of(msgspec.to_builtins(regulation))

    def held(self, run: str, key: str) -> dict[str, Json]:
        return self._simulated.server(self._workspace.destination(key), run).state()

    def give(self, run: str, given: Mapping[str, Mapping[str, Json]]) -> None:
        for key, state in given.items():
            self._simulated.server(self._workspace.destination(key), run).give(state)

    def forget(self, run: str) -> None:
        for plane in (self._data_plane, self._runs):
            if plane is not None:
                plane.recorder.forget_fetched(run)
                plane.user_code.forget(run)
        if self._states is not None:
            self._states.reset(run)

    @property
    def _simulated(self) -> Simulated:
        """Return the simulated servers, which the Test API and the data plane share."""
        if self._states is None:
            from svctoolkit.destinations import Context
            from svctoolkit.pipeline import Simulated

            self._states = Simulated(self._workspace, Context(**self._clock_and_ids()).clock)
        return self._states

    def violations(self, run: str) -> list[dict[str, Json]]:
        from svctoolkit.runner.planes.fates import violation_records

        return violation_records(self._plane.of_run(run))

    def received(self, run: str) -> list[dict[str, Json]]:
        return [dict(record.event) for record in self._plane.of_run(run).received]

    def script(self, run: str, answers: Mapping[str, Sequence[_format.RecorderAnswer]]) -> None:
        self._script = run, answers  # also for a data plane that starts later
        for served in (self._data_plane, self._runs):
            if served is not None:
                self._set_answers(served.recorder)

    def set_faults(self, run: str, faults: _format.ScenarioFaults) -> None:
        self._faults = run, faults  # also for a data plane that starts later
        for injector in (self._data_plane and self._data_plane.injector, self._runs and self._runs.faults):
            if injector:
                self._switch_faults(injector)

    def _switch_faults(self, injector: FaultInjector) -> None:
        """Switch on the fault profiles of this scenario."""
        run, faults = self._faults
        injector.reset(run)
        for key, profile in faults.destinations.items():
            injector.switch("destination", key, profile, run)
        for key, profile in faults.sources.items():
            injector.switch("source", key, profile, run)

    def idle_answers(self, run: str, key: str) -> Sequence[int]:
        recorders = [served.recorder for served in (self._data_plane, self._runs) if served is not None]
        idle = [set(recorder.idle_answers(key, run)) for recorder in recorders]
        return sorted(set.intersection(*idle)) if idle else ()

    def _set_answers(self, recorder: Recorder) -> None:
        """Give the recorder the responses of this scenario."""
        run, answers = self._script
        for key, script in answers.items():
            recorder.script(key, *_recorder_answers(script), run=run)

    @property
    def _pipeline(self) -> Pipeline:
        with self._lock:
            if self._runs is None:
                from svctoolkit.destinations import Context
                from svctoolkit.pipeline import Pipeline

                self._runs = Pipeline(
                    self._workspace,
                    context=Context(**self._clock_and_ids()),
                    coverage=self._coverage,
                    simulated=self._simulated,
                )
                if self._times is not None:
                    self._runs.recorder.sleep = self._times.advance_clock  # one request after the other
                self._runs.faults.start(Context(**self._clock_and_ids()).clock)
                self._set_answers(self._runs.recorder)
                self._switch_faults(self._runs.faults)
            return self._runs

    @property
    def _app(self) -> Starlette:
        """Return the Test API alone, without a store and delivery threads."""
        pipeline = self._pipeline
        with self._lock:
            if self._test_api is None:
                from svctoolkit.server import app  # 0.1 s, and most tests of mappings do not need it

                self._test_api = app(self._workspace, pipeline=pipeline)
            return self._test_api

    @property
    def _plane(self) -> DataPlane:
        with self._lock:
            if self._data_plane is None:
                from svctoolkit.server import DataPlane
                from svctoolkit.server.worker import Backoff

                self._data_plane = DataPlane(
                    self._workspace,
                    listen=False,
                    # With virtual time, delays are exact and free; without it, retries happen at once.
                    backoff=Backoff(jitter=0.0) if self._times else Backoff(scale=0),
                    advance_clock=self._times.advance_clock if self._times else None,
                    coverage=self._coverage,
                    simulated=self._simulated,
                    **self._clock_and_ids(),
                )
                self._set_answers(self._data_plane.recorder)
                self._switch_faults(self._data_plane.injector)
            return self._data_plane

    def _clock_and_ids(self) -> dict[str, Any]:
        return {"clock": self._times.now, "new_id": self._times.new_id} if self._times else {}

    def code_counts(self, *, all: bool = False) -> CodeCounts:
        """Return how often each line of user code ran, and each branch was taken.

        With `all`, include code that did not run.
        """
        for transformation in self._workspace.transformations.values() if all else ():
            self._pipeline.user_code.runnable(transformation).run([], [])  # loads it
        code = [plane.user_code for plane in (self._runs, self._data_plane) if plane is not None]
        return CodeCounts([of_plane.coverage() for of_plane in code], [of_plane.branches() for of_plane in code])

    def close(self) -> None:
        """Stop the data plane, if it was started."""
        if self._data_plane is not None:
            self._data_plane.stop(_STOP_SECONDS)


def _recorder_answers(script: Sequence[_format.RecorderAnswer]) -> list[Any]:
    """Return the responses in the recorder's format."""
    from msgspec import UNSET

    from svctoolkit.delivery import Answer as RecorderAnswer

    return [
        RecorderAnswer.partial(
            failed=answer.failed,
            delay=_format.seconds(answer.delay),
            times=answer.times,
            when=None if answer.when is UNSET else answer.when,
        )
        if answer.failed
        else RecorderAnswer(
            status=answer.status,
            headers={name: str(value) for name, value in answer.headers.items()},
            delay=_format.seconds(answer.delay),
            close=answer.close,
            truncate=answer.truncate,
            times=answer.times,
            when=None if answer.when is UNSET else answer.when,
            **({} if answer.body is UNSET else {"body": answer.body}),
        )
        for answer in script
    ]
