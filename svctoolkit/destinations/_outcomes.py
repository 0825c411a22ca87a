"""Outcomes: what a destination's answer means for the jobs of a request.

A type registers a judge (`@destination.judge`) if its response bodies matter; otherwise the status alone decides, as in
RudderStack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

#: `delivered`; `retry`: send again later; `abort`: give up; `throttle`: send again later, at a lower rate.
OutcomeKind: TypeAlias = Literal["delivered", "retry", "abort", "throttle"]


class Reply(NamedTuple):
    """One answer of a destination. `body` is parsed if it is JSON. Status 0: no answer, and `body` is the reason."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def successful(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


class JobOutcome(Struct, frozen=True):
    """The outcome of one job of a batch. `alone`: the job is retried without the others (`dontBatch`)."""

    outcome: OutcomeKind
    message: str = ""
    alone: bool = False


class Outcome(Struct, frozen=True):
    """The outcome of a request for all of its jobs, or for each of them (`jobs`, in the order of the batch).

    `auth` is the state of an OAuth type's account: `REFRESH_TOKEN` or `AUTH_STATUS_INACTIVE`.
    """

    outcome: OutcomeKind
    message: str = ""
    jobs: tuple[JobOutcome, ...] = ()
    auth: str = ""


class Delivery(Struct, frozen=True):
    """The argument of a judge: the payload as it was sent, the answers to its requests, and the jobs that it carried.

    `jobs` are job ids, and `metadata` has the metadata of each, in the same order. The destination's configuration is
    available only as far as the payload carries it, in `destinationConfig`.
    """

    payload: Mapping[str, Any]
    replies: Sequence[Reply]
    jobs: Sequence[Any] = ()
    metadata: Sequence[Mapping[str, Any]] = ()

    @property
    def reply(self) -> Reply:
        """The last answer, which decides if a payload takes several requests."""
        return self.replies[-1]

    def each(self, failures: Mapping[int, str], *, outcome: OutcomeKind = "abort", message: str = "") -> Outcome:
        """Return an outcome in which the jobs at these positions failed, with a reason each; others are delivered."""
        jobs = tuple(
            JobOutcome(outcome, failures[at]) if at in failures else JobOutcome("delivered")
            for at in range(len(self.jobs))
        )
        whole: OutcomeKind = outcome if jobs and all(job.outcome == outcome for job in jobs) else "delivered"
        return Outcome(whole, message or ("" if whole == "delivered" else jobs[0].message), jobs)

    def each_of(self, reasons: Sequence[str | None]) -> Outcome:
        """Like `each`, but with one reason per entry of an answer (None: success).

        If all entries failed and there are fewer entries than jobs, the last reason is used for the remaining jobs.
        """
        if reasons and None not in reasons:
            reasons = [reasons[min(at, len(reasons) - 1)] for at in range(len(self.jobs))] or reasons
        return self.each({at: reason for at, reason in enumerate(reasons) if reason is not None})

    def apart(self, message: str = "") -> Outcome:
        """Return an outcome that retries a failed batch job by job, and aborts a job that was already alone."""
        if len(self.jobs) <= 1 or all(entry.get("dontBatch") for entry in self.metadata):
            return Outcome("abort", message)
        return Outcome("retry", message, tuple(JobOutcome("retry", message, alone=True) for _ in self.jobs))


#: Returns the outcome of a delivery, or None if the status alone decides.
Judge: TypeAlias = Callable[[Delivery], Outcome | None]


def outcome_of_status(reply: Reply) -> Outcome:
    """Return the outcome by status, for types without a judge.

    2xx is delivered; 429 throttles; 408, 5xx, statuses below 200 and missing answers are retried; everything else
    (including redirects) aborts.
    """
    if reply.successful:
        return Outcome("delivered")
    message = f"the destination answered {reply.status}" if reply.status else f"no answer: {reply.body}"
    if reply.status == 429:
        return Outcome("throttle", message)
    if reply.status == 408 or reply.status < 200 or reply.status >= 500:
        return Outcome("retry", message)
    return Outcome("abort", message)
