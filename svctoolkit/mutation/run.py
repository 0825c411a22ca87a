"""Judges the changes of a project, in this process or in several."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.mutation.baseline import Baseline
from svctoolkit.mutation.cache import Cache
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.judge import Judge
from svctoolkit.mutation.project import Project
from svctoolkit.mutation.verdict import Verdict
from svctoolkit.runner import Scenario, explanation

#: Changes for which another process is started; loading the suites takes it about a second.
_WORTH_A_PROCESS = 25
_SHOWN = 5


def require_green(baseline: Baseline) -> None:
    """Raise `ToolkitError` if a scenario fails without a change: failures would show nothing."""
    if not baseline.failed:
        return
    count = len(baseline.failed)
    shown = [f"  {explanation(outcome).splitlines()[0]}" for outcome in baseline.failed[:_SHOWN]]
    more = [f"  and {count - _SHOWN} more"] if count > _SHOWN else []
    what = "1 scenario fails" if count == 1 else f"{count} scenarios fail"
    head = f"nothing was changed: {what} already. Fix the suites first: svctoolkit run"
    raise ToolkitError("\n".join([head, *shown, *more]))


def judge_all(
    project: Project,
    baseline: Baseline,
    changes: Sequence[Change],
    *,
    jobs: int = 1,
    cache: Cache | None = None,
) -> Generator[Verdict]:
    """Yield the verdict on each change as soon as it is known. `jobs` processes work in parallel.

    `cache` has verdicts of earlier runs, and keeps the new ones.
    """
    work = []
    dependents: dict[str, list[Scenario]] = {}
    for change in changes:
        scenarios = dependents[change.id] = baseline.dependents(change)
        known = cache.verdict(change, scenarios) if cache is not None else None
        if known is None:
            work.append((change, scenarios))
        else:
            yield known
    for verdict in _judge_all(project, baseline, work, jobs):
        if cache is not None:
            cache.keep(verdict, dependents[verdict.change.id])
        yield verdict


def _judge_all(
    project: Project, baseline: Baseline, work: Sequence[tuple[Change, Sequence[Scenario]]], jobs: int
) -> Iterator[Verdict]:
    processes = min(jobs, len([change for change, scenarios in work if scenarios]) // _WORTH_A_PROCESS)
    if processes < 2:
        judge = Judge(baseline.passing)
        for change, scenarios in work:
            yield judge.judge(change, scenarios)
        return
    yield from _in_processes(work, processes, project, [scenario.name for scenario in baseline.passing])


def _in_processes(
    work: Sequence[tuple[Change, Sequence[Scenario]]],
    processes: int,
    project: Project,
    passing: Sequence[str],
) -> Iterator[Verdict]:
    # A forked process would share the sandbox's pipes and the data plane's locks with this one.
    context = get_context("spawn")
    with_scenarios = iter([(change, [s.name for s in scenarios]) for change, scenarios in work if scenarios])
    nobody = Judge([])
    yield from (nobody.judge(change, []) for change, scenarios in work if not scenarios)
    pool = ProcessPoolExecutor(processes, context, _prepare, (project.targets, project.variables, passing))
    try:
        pending: set[Future[Verdict]] = set()
        while True:
            # few at a time, so that an interrupt does not wait for the rest
            while len(pending) < 2 * processes and (task := next(with_scenarios, None)) is not None:
                pending.add(pool.submit(_judge, *task))
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Worker:
    """What a worker process has loaded: its scenarios by name, and their judge."""

    def __init__(self, scenarios: Sequence[Scenario], passing: Sequence[str]) -> None:
        self.scenarios = {scenario.name: scenario for scenario in scenarios}
        self.judge = Judge([self.scenarios[name] for name in passing])


_workers: list[_Worker] = []  # one in a worker process, none elsewhere


def _prepare(targets: Sequence[str], variables: Mapping[str, Json], passing: Sequence[str]) -> None:
    import warnings

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides when it ends
    warnings.simplefilter("ignore")  # the first process has reported them
    _workers.append(_Worker(_load(targets, variables), passing))


def _load(targets: Sequence[str], variables: Mapping[str, Json]) -> Sequence[Scenario]:
    from svctoolkit.runner import collect

    return collect(targets, variables=variables)[1]


def _judge(change: Change, names: Sequence[str]) -> Verdict:
    (worker,) = _workers
    return worker.judge.judge(change, [worker.scenarios[name] for name in names])
