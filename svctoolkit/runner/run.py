"""Run scenarios and yield notices for reporters, pytest or a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from svctoolkit.expect.snapshots import Snapshots
from svctoolkit.inputs import recording
from svctoolkit.interrupts import uninterrupted
from svctoolkit.runner.attempts.attempt import attempt
from svctoolkit.runner.attempts.known_bugs import judge
from svctoolkit.runner.attempts.outcome import Covered, Finished, Notice, Outcome, Started
from svctoolkit.runner.planes.pool import Planes
from svctoolkit.runner.suite.model import Scenario

if TYPE_CHECKING:
    from svctoolkit.runner.coverage.collector import Collector

__all__ = ["outcomes", "run"]


def run(
    scenarios: Sequence[Scenario],
    planes: Planes,
    *,
    fail_fast: bool = False,
    jobs: int = 1,
    snapshots: Snapshots | None = None,
    coverage: bool = False,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Notice]:
    """Run scenarios: yields one `Started`, one `Outcome` for each in order, and one `Finished`.

    With `fail_fast` the run ends after the first failure. `jobs` scenarios run in parallel, but never two of one
    `serial` group. With `coverage` there is one `Covered` before `Finished`. An interrupt (Ctrl-C) ends the run and is
    reported in `Finished`.
    """
    counts: Counter[str] = Counter()
    began = clock()
    interrupted = False
    store = snapshots or Snapshots()
    collector = _collector(scenarios) if coverage else None
    yield Started(scenarios)
    outcomes = (
        _one_by_one(scenarios, planes, store, clock)
        if jobs < 2
        else _side_by_side(scenarios, planes, store, clock, jobs)
    )
    try:
        for outcome in outcomes:
            counts[outcome.status] += 1
            if collector:
                collector.add(outcome)
            yield outcome
            if fail_fast and not outcome.ok:
                break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # Ends the threads of a parallel run, also after `fail_fast` or an interrupt.
        outcomes.close()
    if collector:
        collector.lines(planes.lines())
        collector.branches(planes.branches())
        yield Covered(collector.coverage())
    yield Finished(counts, clock() - began, len(scenarios), interrupted)


def outcomes(
    scenarios: Sequence[Scenario], planes: Planes, *, fail_fast: bool = False, snapshots: Snapshots | None = None
) -> Iterator[Outcome]:
    """Yield only the outcomes of a run, for callers that cannot use a part of them.

    Raises `KeyboardInterrupt`, which `run` reports in a notice.
    """
    for notice in run(scenarios, planes, fail_fast=fail_fast, snapshots=snapshots):
        if isinstance(notice, Outcome):
            yield notice
        elif isinstance(notice, Finished) and notice.interrupted:
            raise KeyboardInterrupt


def _collector(scenarios: Sequence[Scenario]) -> Collector:
    from svctoolkit.runner.coverage.collector import Collector

    return Collector(list(dict.fromkeys(s.suite for s in scenarios)))


def _one_by_one(
    scenarios: Sequence[Scenario], planes: Planes, snapshots: Snapshots, clock: Callable[[], float]
) -> Generator[Outcome]:
    for scenario in scenarios:
        yield _judge(scenario, planes, snapshots, clock)


def _side_by_side(
    scenarios: Sequence[Scenario], planes: Planes, snapshots: Snapshots, clock: Callable[[], float], jobs: int
) -> Generator[Outcome]:
    from concurrent.futures import Future, ThreadPoolExecutor

    # A lock per group: a thread that waits for its group holds a worker, but the order stays simple.
    groups = {scenario.serial: Lock() for scenario in scenarios if scenario.serial}

    def attempt_one(scenario: Scenario) -> Outcome:
        if not scenario.serial:
            return _judge(scenario, planes, snapshots, clock)
        with groups[scenario.serial]:
            return _judge(scenario, planes, snapshots, clock)

    pool = ThreadPoolExecutor(jobs, thread_name_prefix="svctoolkit-suites")
    try:
        with uninterrupted():  # an interrupt here would leave a thread that the pool does not join
            futures: list[Future[Outcome]] = [pool.submit(attempt_one, scenario) for scenario in scenarios]
        for future in futures:
            # In the order of the suite, although scenarios finish in another one: reports must not differ from run to
            # run.
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _judge(scenario: Scenario, planes: Planes, snapshots: Snapshots, clock: Callable[[], float]) -> Outcome:
    """Return the outcome, with `skip`, `live` and `xfail` taken into account."""
    reason = skip_reason(scenario, planes)
    if reason:
        return Outcome(scenario, "skipped", reason=reason)
    if scenario.live and (unset := scenario.suite.environment.unset):
        reason = f"live: environment variables are not set: {', '.join(unset)}"
        return Outcome(scenario, "error", reason=reason)
    with recording() as read:
        outcome = attempt(scenario, planes, snapshots=snapshots, clock=clock)
    return judge(replace(outcome, inputs=read))


def skip_reason(scenario: Scenario, planes: Planes) -> str:
    """Return why a scenario does not run here, or an empty string."""
    if scenario.skip:
        return scenario.skip
    if scenario.live and not planes.live:
        return "live: only runs with --live"
    return planes.unable(scenario)
