"""Run a chunk of a job in this process, in another one, or on a cluster."""

from __future__ import annotations

import pickle
from threading import local

from svctoolkit.json_types import Json
from svctoolkit.replay.engine import pair, single
from svctoolkit.replay.engine.engine import Engine, Job
from svctoolkit.replay.records.record import Chunk
from svctoolkit.replay.tally.tally import Tally

_thread = local()  # caches the engine and the token of the latest job


def engine_of(job: Job) -> Engine:
    """Return the engine that runs the chunks of a job."""
    return Engine(job, pair.runner if len(job.sides) == 2 else single.runner)


def run(token: str, job: bytes, chunk: Chunk) -> tuple[Tally, Json]:
    """Run a chunk of a job in this thread, which keeps the engine of the latest job (by `token`)."""
    if getattr(_thread, "token", "") != token:
        _thread.engine, _thread.token = engine_of(pickle.loads(job)), token
    engine: Engine = _thread.engine
    # Which chunks a worker gets varies from run to run; the results must not.
    engine.forget_held()
    return engine.run(chunk)
