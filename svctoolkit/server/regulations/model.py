"""A regulation, its jobs, and their tries: what is stored and shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

#: `pending`: not tried yet; `failed`: will be tried again; `complete` and `aborted` are final.
JobStatus: TypeAlias = Literal["pending", "failed", "complete", "aborted"]
#: Requests of a try that are kept; the rest is counted.
KEPT = 100


class DeletionSent(Struct, frozen=True):
    """A request to the vendor with its answer. Status 0: no answer, and `response` is the error's code."""

    method: str
    url: str
    headers: dict[str, str]
    body: Any
    status: int
    response: Any

    def __repr__(self) -> str:
        return f"<{self.method}, answered {self.status}>"


class DeletionTry(Struct, frozen=True):
    """One try of a job. `status` is 200 if the users are deleted; `requests` are the first 100, `more` counts others.

    `auth` is the state of an OAuth account: `REFRESH_TOKEN`, after which the job was sent again, or
    `AUTH_STATUS_INACTIVE`.
    """

    at: str
    status: int
    error: str
    requests: list[DeletionSent]
    more: int = 0
    auth: str = ""


class DeletionJob(Struct):
    """The deletion of a regulation's users at one destination."""

    destination: str
    type: str
    status: JobStatus = "pending"
    tries: list[DeletionTry] = []

    @property
    def is_done(self) -> bool:
        """Whether it will not be tried again."""
        return self.status in ("complete", "aborted")

    @property
    def error(self) -> str:
        """Why the last try failed; empty if it did not."""
        return self.tries[-1].error if self.tries else ""

    def requests(self) -> list[DeletionSent]:
        """Return the requests of all tries."""
        return [request for one in self.tries for request in one.requests]


class Regulation(Struct):
    """A request to delete users: `users` have `userId` and other attributes, `jobs` one entry per destination."""

    number: Annotated[int, Meta(description="Counts the regulations of a data plane.")]
    id: str
    run: str
    at: str
    users: list[dict[str, str]]
    jobs: list[DeletionJob]

    @property
    def is_done(self) -> bool:
        """Whether all jobs are complete or aborted."""
        return all(job.is_done for job in self.jobs)

    def job(self, destination: str) -> DeletionJob | None:
        """Return the job at a destination (key); None if it has no job."""
        return next((job for job in self.jobs if job.destination == destination), None)

    def __repr__(self) -> str:
        states = ", ".join(f"{job.destination} {job.status}" for job in self.jobs)
        return f"<Regulation {self.id}: {len(self.users)} users; {states or 'no destinations'}>"


def is_in_run(regulation: Regulation, run: str | None) -> bool:
    """Whether a regulation belongs to a run; None stands for all."""
    return run is None or regulation.run == run


def open_jobs(regulations: Iterable[Regulation], run: str | None) -> list[DeletionJob]:
    """Return the jobs of a run (or of all) that are not done."""
    return [job for one in regulations if is_in_run(one, run) for job in one.jobs if not job.is_done]
