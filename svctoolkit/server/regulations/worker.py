"""Carries out regulations: one job at a time, with retries on the clock of the data plane."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from svctoolkit.errors import StoreError, ToolkitError
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.pipeline import HeldChanges, Pipeline
from svctoolkit.server.regulations.model import DeletionJob, Regulation, is_in_run, open_jobs
from svctoolkit.server.regulations.parse import destinations_of, users_of
from svctoolkit.server.regulations.send import JobSender, job_status
from svctoolkit.server.store.held import save_held
from svctoolkit.server.store.regulations import (
    MAX_REGULATIONS,
    forget_regulation,
    load_regulations,
    save_regulation,
)
from svctoolkit.server.worker import Engine

_LOG = logging.getLogger("svctoolkit.delivery")


class Regulations:
    """The regulations of a data plane, and the thread that carries them out, which starts with the first one.

    Jobs that were not done when an earlier data plane stopped continue with their next try.
    """

    def __init__(self, engine: Engine, pipeline: Pipeline, new_id: Callable[[], str]) -> None:
        self._engine, self._new_id = engine, new_id
        self._sender = JobSender(pipeline, engine.clock, masked=engine.store.path is not None)
        self._changed = threading.Condition()
        self._due: deque[tuple[Regulation, DeletionJob]] = deque()
        self._busy = self._stopped = False
        self._thread: threading.Thread | None = None
        stored = [msgspec.json.decode(data, type=Regulation) for data in load_regulations(engine.store)]
        self._all = {regulation.number: regulation for regulation in stored}
        self._next = max(self._all, default=0) + 1
        engine.join(self)
        for regulation in stored:
            self._start([(regulation, job) for job in regulation.jobs if not job.is_done])

    def add(self, users: Json, destinations: Sequence[str] | None = None, run: str = "") -> Regulation:
        """Accept a regulation and return it; its jobs are done later. It is on disk when this returns.

        Raises `InvalidDeletion` for bad users, `UnknownName` for an unknown destination.
        """
        checked = users_of(users)
        targets = destinations_of(self._engine.workspace, destinations)
        jobs = [DeletionJob(target.key, target.type) for target in targets]
        with self._changed:
            if self._stopped:
                raise ToolkitError("this data plane is stopped")
            regulation = Regulation(self._next, self._new_id(), run, iso(self._engine.clock()), checked, jobs)
            self._next += 1
        self._save(regulation, ())
        with self._changed:
            self._all[regulation.number] = regulation
            self._all.pop(regulation.number - MAX_REGULATIONS, None)
        self._start([(regulation, job) for job in jobs])
        return regulation

    def of_run(self, run: str | None = None) -> list[Regulation]:
        """Return the regulations of a run, or all, oldest first."""
        with self._changed:
            return [regulation for regulation in self._all.values() if is_in_run(regulation, run)]

    def find(self, id: str) -> Regulation | None:
        """Return the regulation with this id; None if it is unknown."""
        return next((regulation for regulation in self.of_run() if regulation.id == id), None)

    def is_idle(self, run: str | None) -> bool:
        """Whether no job of a run (or of all) will be tried any more."""
        return not self._all or not open_jobs(self.of_run(), run)

    def is_quiet(self) -> bool:
        """Whether nothing will happen before the next retry or regulation."""
        return not self._due and not self._busy

    def describe(self, run: str | None) -> str:
        """Describe what is under way, as readable text."""
        jobs = open_jobs(self.of_run(), run)
        return ", ".join(f"a deletion at {job.destination}" + (f" ({job.error})" if job.error else "") for job in jobs)

    def forget(self, run: str | None) -> None:
        """Delete the regulations that are done, of one run and those within it, or all."""
        with self._changed:
            done = [
                one.number
                for one in self._all.values()
                if one.is_done and (run is None or one.run == run or one.run.startswith(f"{run}/"))
            ]
            for number in done:
                del self._all[number]
        for number in done:
            self._engine.store.write(partial(forget_regulation, number=number)).result()

    def stop(self, timeout: float) -> None:
        """End the thread. A try under way gets `timeout` seconds; open jobs continue at the next start."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)

    def _start(self, jobs: Sequence[tuple[Regulation, DeletionJob]]) -> None:
        with self._changed:
            self._due.extend(jobs)
            if jobs and self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._work, name="svctoolkit regulations", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._stopped)
                if self._stopped:
                    return
                self._busy = True
                regulation, job = self._due.popleft()
            try:
                self._try(regulation, job)
            except ToolkitError as error:  # the store fails, or the data plane is being stopped
                _LOG.error("cannot store the deletion at %s: %s", job.destination, error)
            finally:
                self._busy = False
                self._engine.notifier.notify()

    def _try(self, regulation: Regulation, job: DeletionJob) -> None:
        held: list[HeldChanges] = []
        users: Sequence[Mapping[str, Json]] = regulation.users
        status, tries = self._sender.attempt(job.destination, users, regulation.run, held.append)
        job.tries = [*job.tries, *tries]
        job.status = job_status(status, len(job.tries))
        if not job.is_done:
            # Scheduled before it is stored: a thread that waits for quiet must see either this try or the next one.
            pause = self._engine.knobs.backoff.pause(len(job.tries), None)
            self._engine.later(pause, lambda: self._start([(regulation, job)]))
        with suppress(StoreError):  # in memory all the same; after a restart the try is repeated
            self._save(regulation, held)

    def _save(self, regulation: Regulation, held: Sequence[HeldChanges]) -> None:
        data = msgspec.json.encode(regulation)

        def save(to: sqlite3.Connection) -> None:
            save_regulation(to, regulation.number, regulation.run, data)
            save_held(to, held)

        self._engine.store.write(save).result()
