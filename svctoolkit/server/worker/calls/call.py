"""A call of the router: jobs of one destination, the requests that they share, and what the responses mean for each.

The rules are RudderStack's. Requests are sent in the order of their first job. After a job of a user has failed, no
more jobs of that user are sent in this call. A retryable request ends its batch. A request that failed for good ends
its batch only if the destination type has no handler for responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from svctoolkit.causes import Cause, Refusal, map_texts
from svctoolkit.destinations import Context, DestinationMapping, Reply, outcome_of_status
from svctoolkit.pipeline import Route
from svctoolkit.pipeline.fates import NOTHING_SENT, Fate
from svctoolkit.pipeline.judging import RETRIED, after_refusal, ends, judge
from svctoolkit.server.worker.calls.wire import Wire
from svctoolkit.server.worker.task import Exchange, Job, Outcome, Step, Task
from svctoolkit.server.worker.watchdog import OverBudgetError, Watchdog, is_own_code

#: The destination throttles or is unavailable: the event's age alone decides when it is dead.
_PUT_OFF = (408, 429, 599)


class _Batch(Struct, frozen=True):
    """Jobs that share their requests, or that were rejected for the same reason."""

    jobs: Sequence[Job]
    ids: Sequence[int]  # the mapping's ids of the jobs; they may be part of the payloads
    payloads: Sequence[Mapping[str, Any]]
    refusal: Refusal | None = None
    over_budget: str = ""


class _Verdict(Struct, frozen=True):
    """The outcome of one job. `held`: it was not sent, because an earlier job of its user failed; `nothing`: the
    mapping produces no request for it; `dead`: mapping it took too long.
    """

    job: Job
    kind: Literal["delivered", "retry", "abort", "throttle", "held", "refused", "nothing", "dead"]
    reason: str = ""
    wait: float | None = None
    throttled: bool = False
    by: str = "send_to_destination"
    cause: Cause | None = None


class Call:
    """`size` is the number of jobs that the router transforms together; `on_auth` gets authentication errors."""

    def __init__(self, route: Route, wire: Wire, size: int, on_auth: Callable[[str], None], watchdog: Watchdog) -> None:
        self._route, self._wire, self._size, self._watchdog = route, wire, size, watchdog
        self._on_auth = on_auth
        self._failed: set[str] = set()  # users
        self._counted: set[str] = set()  # users whose failed attempt is already counted for one event
        self._open: Counter[Task] = Counter()
        self._verdicts: dict[Task, list[_Verdict]] = {}
        self._last: dict[Task, tuple[Exchange, int]] = {}
        self._requests: Counter[Task] = Counter()

    def steps(self, tasks: Sequence[Task]) -> Iterator[Step]:
        """Deliver the jobs of the tasks, request by request."""
        # One event can yield several jobs (a transformation may return several events); its fate is known when the last
        # one is.
        jobs = [job for task in tasks for job in task.jobs or ()]
        self._open.update(job.task for job in jobs)
        for start in range(0, len(jobs), self._size):
            for batch in self._batches(jobs[start : start + self._size]):
                exchanges: list[Exchange] = []
                for verdict in self._deliver(batch, exchanges):
                    task = verdict.job.task
                    self._verdicts.setdefault(task, []).append(verdict)
                    self._open[task] -= 1
                    if verdict.kind in (*RETRIED, "held"):
                        self._failed.add(task.owner)
                # Yielded batch by batch, so that a fate is stored even if the process ends during a later request.
                certain = [task for task in dict.fromkeys(job.task for job in batch.jobs) if not self._open[task]]
                outcomes = [(task, self._outcome(task)) for task in certain]
                yield Step(exchanges, outcomes, bool(self._verdicts), self._wire.take_held())

    def _batches(self, jobs: Sequence[Job]) -> list[_Batch]:
        mapping = self._route.mapping
        if mapping is None or not self._route.at_router:
            return [_Batch([job], [0], [job.payload]) for job in jobs if job.payload is not None]
        if not any(job.task.is_large for job in jobs) and not is_own_code(self._route):
            return self._map(mapping, jobs)
        try:
            return self._watchdog.run(lambda: self._map(mapping, jobs), "dest_transform")
        except OverBudgetError as error:
            if len(jobs) > 1:  # each alone, to find those that are to blame
                return [batch for job in jobs for batch in self._batches([job])]
            reason = f"{error.stage} at {self._route.destination.key} {error}"
            return [_Batch(jobs, [0], [], over_budget=reason)]

    def _map(self, mapping: DestinationMapping, jobs: Sequence[Job]) -> list[_Batch]:
        contexts = [self._context(job) for job in jobs]
        events = [(place, job.event) for place, job in enumerate(jobs)]
        started = perf_counter()
        # Mappings may group by kind; requests must leave in the order of their first job.
        results = sorted(mapping.batches(events, contexts), key=lambda result: min(result.jobs))
        milliseconds = (perf_counter() - started) * 1000 / len(jobs)
        for job in jobs:
            job.task.stage_times = {**(job.task.stage_times or {}), "dest_transform": milliseconds}
        # A mapping that forgets a job would leave its event pending forever, one that repeats it would send it twice.
        if sorted(place for result in results for place in result.jobs) != list(range(len(jobs))):
            raise AssertionError("the mapping's batches do not have each job once")
        return [_Batch([jobs[place] for place in r.jobs], r.jobs, r.payloads, r.refusal) for r in results]

    def _context(self, job: Job) -> Context:
        context = self._wire.context(job.task.run, job.event)
        return replace(context, metadata={**context.metadata, **_metadata(job)})

    def _deliver(self, batch: _Batch, exchanges: list[Exchange]) -> list[_Verdict]:
        if batch.refusal is not None:
            return self._refuse(batch, batch.refusal)
        if batch.over_budget:
            return [_Verdict(job, "dead", batch.over_budget, by="dest_transform") for job in batch.jobs]
        if any(job.task.owner in self._failed for job in batch.jobs):
            # A batch cannot be sent in part: if one of its users waits, all of them do.
            return [_Verdict(job, "held") for job in batch.jobs]
        verdicts = [_Verdict(job, "delivered" if batch.payloads else "nothing") for job in batch.jobs]
        for payload in batch.payloads:
            earlier, verdicts = verdicts, self._send(payload, batch, exchanges)
            if any(verdict.kind in RETRIED for verdict in verdicts):
                # Even jobs that this request delivered: the next attempt repeats all requests of the batch.
                return verdicts if len(batch.payloads) == 1 else _all_fail(verdicts)
            if ends(verdicts[0].kind, self._route):
                return verdicts
            verdicts = [_after(*pair) for pair in zip(earlier, verdicts, strict=True)]
        return verdicts

    def _refuse(self, batch: _Batch, refusal: Refusal) -> list[_Verdict]:
        """Return the verdict of jobs that the mapping rejected. Only failed lookups are retried."""
        cause = map_texts(refusal, self._route.masker.text)
        reason = cause.text
        outcome = outcome_of_status(Reply(refusal.status, {}, None)).outcome if refusal.status else "abort"
        if outcome == "retry" or outcome == "throttle":
            put_off = refusal.status in _PUT_OFF
            return [_Verdict(job, outcome, reason, None, put_off, "dest_transform", cause) for job in batch.jobs]
        return [_Verdict(job, "refused", reason, by="dest_transform", cause=cause) for job in batch.jobs]

    def _send(self, payload: Mapping[str, Any], batch: _Batch, exchanges: list[Exchange]) -> list[_Verdict]:
        tasks = [job.task for job in batch.jobs]
        answer = self._wire.send(payload, batch.jobs)
        judged = judge(self._route, payload, answer, batch.ids, [_metadata(job) for job in batch.jobs])
        accepted = sum(job.outcome == "delivered" for job in judged.jobs)
        exchange = self._wire.exchange(payload, answer, tasks, self._requests[tasks[0]], accepted)
        self._requests[tasks[0]] += 1
        exchanges.append(exchange)
        # Reversed, so that a task with several jobs in the request keeps the place of its first one.
        for place, task in reversed([*enumerate(tasks)]):
            self._last[task] = exchange, place
        self._on_auth(judged.auth)
        wait = self._wire.wait(answer)
        verdicts = []
        for job, of_job in zip(batch.jobs, judged.jobs, strict=True):
            # Stays set: once the destination has asked for single events, retries are sent alone as well.
            job.alone = job.alone or of_job.alone
            put_off = of_job.outcome == "throttle" or answer.status in _PUT_OFF
            cause = None if of_job.outcome == "delivered" else judged.cause
            verdicts.append(_Verdict(job, of_job.outcome, of_job.message, wait, put_off, cause=cause))
        return verdicts

    def _outcome(self, task: Task) -> Outcome:
        verdicts = self._verdicts.pop(task)
        # Only these are sent again; jobs that were delivered must not be repeated.
        task.jobs = [verdict.job for verdict in verdicts if verdict.kind in (*RETRIED, "held")]
        exchange, place = self._last.get(task, (None, 0))
        for verdict in verdicts:
            if verdict.kind in ("abort", "refused"):
                task.failure = task.failure or Fate("failed", verdict.by, verdict.reason, verdict.cause)
        dead = next((verdict for verdict in verdicts if verdict.kind == "dead"), None)
        if dead is not None:
            return Outcome("dead", dead.by, dead.reason, exchange=exchange, place=place)
        failed = next((verdict for verdict in verdicts if verdict.kind in RETRIED), None)
        if failed is not None:
            # As in RudderStack, one failed call counts as one attempt of a user, whichever of the events failed.
            first = task.owner not in self._counted
            self._counted.add(task.owner)
            return Outcome(
                "pending",
                failed.by,
                failed.reason,
                again=True,
                wait=failed.wait,
                cause=failed.cause,
                throttled=failed.throttled,
                attempted=first,
                kind="throttle" if failed.kind == "throttle" else "retry",
                exchange=exchange,
                place=place,
            )
        if task.jobs:
            return Outcome("pending", again=True, attempted=False, exchange=exchange, place=place)
        if task.failure:
            _, by, reason, cause = task.failure
            return Outcome("failed", by, reason, cause, kind="abort", exchange=exchange, place=place)
        if all(verdict.kind == "nothing" for verdict in verdicts):
            return Outcome("filtered", "dest_transform", NOTHING_SENT)
        reason = next((verdict.reason for verdict in verdicts if verdict.reason), "")
        return Outcome("delivered", "", reason, kind="delivered", exchange=exchange, place=place)


def _all_fail(verdicts: Sequence[_Verdict]) -> list[_Verdict]:
    """A retried request fails its whole batch: none of its jobs has had all of its requests."""
    cause = next(verdict for verdict in verdicts if verdict.kind in RETRIED)
    return [replace(cause, job=verdict.job) for verdict in verdicts]


def _after(earlier: _Verdict, verdict: _Verdict) -> _Verdict:
    """Return the verdict of the last request, with a note if the one before it was refused."""
    if earlier.kind != "abort" or verdict.kind != "delivered":
        return verdict
    return replace(verdict, reason=after_refusal(earlier.reason))


def _metadata(job: Job) -> dict[str, Any]:
    alone = {"dontBatch": True} if job.alone else {}
    return {"userId": job.task.owner, **alone}
