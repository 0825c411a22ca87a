"""What a destination's answer means for the jobs that it was given.

A type says it where its answers need reading (`@destination.judge`); else the status alone decides, as in the service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

#: `delivered`; `retry`: later, again; `abort`: never again; `throttle`: later, and slower.
OutcomeKind: TypeAlias = Literal["delivered", "retry", "abort", "throttle"]


class Reply(NamedTuple):
    """One answer of a destination. `body` is parsed when it is JSON. Status 0: none came, and `body` is the reason."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def successful(self) -> bool:
        """Whether the status says so."""
        return 200 <= self.status < 300


class JobOutcome(Struct, frozen=True):
    """What an answer means for one job of a batch. `alone`: it is tried again without the others (`dontBatch`)."""

    outcome: OutcomeKind
    message: str = ""
    alone: bool = False


class Outcome(Struct, frozen=True):
    """What the answers to a request mean: for all of its jobs, or for each (`jobs`, in the order of the batch).

    `auth` is what an OAuth type says of its account: `REFRESH_TOKEN` or `AUTH_STATUS_INACTIVE`.
    """

    outcome: OutcomeKind
    message: str = ""
    jobs: tuple[JobOutcome, ...] = ()
    auth: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a judge is given: the payload as it was sent, the answers to its requests, and the jobs that it carried.

    `jobs` are their ids, `metadata` what is known of each, in the same order. Of the destination's configuration there
    is what came with the payload, in its `destinationConfig`.
    """

    payload: Mapping[str, Any]
    replies: Sequence[Reply]
    jobs: Sequence[Any] = ()
    metadata: Sequence[Mapping[str, Any]] = ()

    @property
    def reply(self) -> Reply:
        """The last answer: of a payload that takes several requests, the one that decides."""
        return self.replies[-1]

    def each(self, failures: Mapping[int, str], *, outcome: OutcomeKind = "abort", message: str = "") -> Outcome:
        """An outcome in which the jobs at these positions failed, each for its reason, and the others are delivered."""
        jobs = tuple(
            JobOutcome(outcome, failures[at]) if at in failures else JobOutcome("delivered")
            for at in range(len(self.jobs))
        )
        whole: OutcomeKind = outcome if jobs and all(job.outcome == outcome for job in jobs) else "delivered"
        return Outcome(whole, message or ("" if whole == "delivered" else jobs[0].message), jobs)

    def each_of(self, reasons: Sequence[str | None]) -> Outcome:
        """As `each`, of a reason for each entry of an answer; None is success. Refusals alone stand for all jobs."""
        if reasons and None not in reasons:
            reasons = [reasons[min(at, len(reasons) - 1)] for at in range(len(self.jobs))] or reasons
        return self.each({at: reason for at, reason in enumerate(reasons) if reason is not None})

    def apart(self, message: str = "") -> Outcome:
        """A failed batch is tried again job by job; a job that was alone already is aborted."""
        if len(self.jobs) <= 1 or all(entry.get("dontBatch") for entry in self.metadata):
            return Outcome("abort", message)
        return Outcome("retry", message, tuple(JobOutcome("retry", message, alone=True) for _ in self.jobs))


#: Gives what the answers mean, or None where the status alone decides.
Judge: TypeAlias = Callable[[Delivery], Outcome | None]


def outcome_of_status(reply: Reply) -> Outcome:
    """What a status means where a type says nothing else.

    2xx is delivered; 429 throttles; 408, 5xx, statuses below 200 and no answer at all are tried again; all others
    (redirects among them) abort.
    """
    if reply.successful:
        return Outcome("delivered")
    message = f"the destination answered {reply.status}" if reply.status else f"no answer: {reply.body}"
    if reply.status == 429:
        return Outcome("throttle", message)
    if reply.status == 408 or reply.status < 200 or reply.status >= 500:
        return Outcome("retry", message)
    return Outcome("abort", message)
