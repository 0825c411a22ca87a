"""`replay` and `compare`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from svctoolkit import __version__
from svctoolkit.delivery import Transport
from svctoolkit.errors import ConfigError
from svctoolkit.pipeline import Stages
from svctoolkit.replay import _run
from svctoolkit.replay._columns import Columns
from svctoolkit.replay._engine import Job
from svctoolkit.replay._folder import Folder
from svctoolkit.replay._inputs import Events, input_of
from svctoolkit.replay._progress import Listener, Meter, listener
from svctoolkit.replay._results import Comparison, Replayed
from svctoolkit.replay._rows import check_parquet
from svctoolkit.replay._ways import Selection, answering, fingerprint, select
from svctoolkit.replay.cluster import is_collection
from svctoolkit.replay.cluster import pool as cluster_pool
from svctoolkit.replay.cluster import run as run_collection
from svctoolkit.workspace import Workspace


def replay(
    events: Events,
    workspace: Workspace,
    *,
    destinations: Sequence[str] | None = None,
    source: str | None = None,
    stages: Stages | None = None,
    columns: Mapping[str, str] | None = None,
    batch: int = 200,
    sample: float = 1.0,
    mask_personal: bool = False,
    rows: bool = True,
    out: Path | str | None = None,
    resume: bool = False,
    workers: int = 1,
    scheduler: str | Any | None = None,
    transport: Transport | None = None,
    progress: bool | Listener | None = None,
) -> Replayed:
    """Run many events through a workspace. Nothing is ever sent.

    - `events`: files or folders (NDJSON, JSON, CSV, also with `.gz` or `.zst`; Parquet; the `.db` that a data plane
      stores), a list, a DataFrame, a `DataPlane`, a Dask DataFrame or Bag, or anything that gives events one by one.
      They are never all in memory. What is no event is in `rejects`, and the run goes on
    - `destinations`: keys or ids; all enabled ones by default, or those connected to `source`. Events of a data plane
      go where their source is connected, unless the workspace has no sources at all
    - `stages`: user and destination transformation by default. `send_to_destination` needs a workspace in delivery mode
      `record`, one in mode `cassette` with a file, or a `transport` that answers. What answers there also answers the
      requests of user code and the look-ups of mappings
    - `columns`: for rows of CSV, Parquet and DataFrames: path in the event -> column; see `Columns`
    - `batch`: how many events the user's code gets in one call. Its module keeps its state within a call
    - `sample`: the share of events to run, with the first of each shape in each chunk on top
    - `mask_personal`: hides names, addresses, e-mail addresses and the like in everything that comes out
    - `rows`: false keeps the numbers only
    - `out`: a folder for the rows as Parquet, instead of memory. With `resume` a replay in it goes on where it ended
    - `workers`: processes of this machine. `scheduler`: the address of a Dask scheduler, or its client, instead. For a
      Dask collection the rows stay on its cluster: see `Replayed.dask`
    - `progress`: a function that gets `Progress`; true or false for a line in the terminal or notebook, or none. By
      default there is one if somebody watches

    Mappings see the time at which an event was received as now, and ids that are the same in each replay. Ctrl-C ends
    the run, and gives what is done by then (`complete` is false).

    Raises `ConfigError` or one of its kinds for what is wrong before the first event.
    """
    options: dict[str, Any] = {
        "destinations": destinations, "source": source, "stages": stages, "columns": columns, "batch": batch,
        "sample": sample, "mask_personal": mask_personal, "rows": rows, "out": out, "resume": resume,
        "workers": workers, "scheduler": scheduler, "transport": transport, "progress": progress,
    }  # fmt: skip
    return Replayed(**_executed(events, (workspace,), **options))


def compare(
    events: Events,
    before: Workspace,
    after: Workspace,
    *,
    destinations: Sequence[str] | None = None,
    source: str | None = None,
    stages: Stages | None = None,
    columns: Mapping[str, str] | None = None,
    batch: int = 200,
    sample: float = 1.0,
    mask_personal: bool = False,
    rows: bool = True,
    out: Path | str | None = None,
    resume: bool = False,
    workers: int = 1,
    scheduler: str | Any | None = None,
    transport: Transport | None = None,
    progress: bool | Listener | None = None,
) -> Comparison:
    """Run many events through two workspaces, and tell what comes out differently.

    Destinations are paired by key. Events with changes go through `before` once more: what differs there, too (a clock,
    a random number in user code) is no change, and is counted in `unstable`. Everything else is as in `replay`.
    """
    options: dict[str, Any] = {
        "destinations": destinations, "source": source, "stages": stages, "columns": columns, "batch": batch,
        "sample": sample, "mask_personal": mask_personal, "rows": rows, "out": out, "resume": resume,
        "workers": workers, "scheduler": scheduler, "transport": transport, "progress": progress,
    }  # fmt: skip
    return Comparison(**_executed(events, (before, after), **options))


def _executed(
    events: Events,
    sides: tuple[Workspace, ...],
    *,
    out: Path | str | None,
    rows: bool,
    resume: bool,
    workers: int,
    scheduler: Any,
    progress: bool | Listener | None,
    **options: Any,
) -> dict[str, Any]:
    started = time.perf_counter()
    if out is not None:
        check_parquet()
    kept: Literal["", "columns", "parquet"] = "parquet" if out is not None else "columns" if rows else ""
    if resume and out is None:
        raise ConfigError("resume needs `out`, the folder of the replay that is to go on")
    job, selection = job_of(sides, rows=kept, **options)
    if is_collection(events):
        return _of_collection(job, selection, events, scheduler, out, started)
    pool, width = _pool(job, workers, scheduler)
    given = input_of(events)
    folder = (
        _folder(Path(out), job, given.identity() if resume else _identity(given), resume) if out is not None else None
    )
    if folder is not None:
        job = _at(job, folder.told["now"])
    meter = Meter(listener(progress), given.total)
    done = _run.run(job, given, meter, folder=folder, pool=pool, width=width)
    return {
        "part": done.part,
        "complete": done.complete,
        "elapsed": time.perf_counter() - started,
        "sample": job.sample,
        "left_out": selection.left_out,
        "out": Path(out) if out is not None else None,
        "_rows": done.rows,
        "_folder": folder,
    }


def _of_collection(
    job: Job, selection: Selection, events: Any, scheduler: Any, out: Path | str | None, started: float
) -> dict[str, Any]:
    part, rows = run_collection(job, events, scheduler)
    if out is not None:
        rows.to_parquet(str(out))
    return {
        "part": part,
        "complete": True,
        "elapsed": time.perf_counter() - started,
        "sample": job.sample,
        "left_out": selection.left_out,
        "out": Path(out) if out is not None else None,
        "_dask": rows,
    }


def job_of(
    sides: tuple[Workspace, ...],
    *,
    rows: Literal["", "columns", "parquet"],
    destinations: Sequence[str] | None,
    source: str | None,
    stages: Stages | None,
    columns: Mapping[str, str] | None,
    batch: int,
    sample: float,
    mask_personal: bool,
    transport: Transport | None,
) -> tuple[Job, Selection]:
    """The job that options describe, checked. Raises `ConfigError`."""
    if not 0 < sample <= 1:
        raise ConfigError(f"sample must be more than 0 and at most 1, not {sample}")
    if batch < 1:
        raise ConfigError(f"batch must be at least 1, not {batch}")
    if isinstance(destinations, str):
        destinations = [destinations]
    chosen = stages or Stages()
    sides = tuple(dataclasses.replace(side) for side in sides)  # without the cassettes that they have open
    for side in sides:
        answering(side, transport, chosen)
    Columns(columns)
    selection = select(sides, destinations, source)
    job = Job(
        sides=sides,
        destinations=selection.destinations,
        stages=chosen,
        source=source or "",
        columns=dict(columns or {}),
        batch=batch,
        sample=sample,
        personal=mask_personal,
        rows=rows,
        now=datetime.now(UTC).isoformat(),
        transport=transport,
    )
    return job, selection


def _pool(job: Job, workers: int, scheduler: Any) -> tuple[_run.Pool | None, int]:
    """Where the work is done, and how many chunks are under way at a time."""
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, not {workers}")
    if job.transport is not None and (workers > 1 or scheduler is not None):
        raise ConfigError("a transport stays in this process: use workers=1 with it")
    if scheduler is not None:
        return cluster_pool(scheduler)
    return (None, 1) if workers == 1 else (lambda: _run.processes(workers), 2 * workers)


def _folder(out: Path, job: Job, identity: Any, resume: bool) -> Folder:
    told = {
        "version": __version__,
        "now": job.now,
        "input": identity,
        "sides": [fingerprint(side) for side in job.sides],
        "options": [
            list(job.destinations), repr(job.stages), job.source, dict(job.columns), job.batch, job.sample, job.personal
        ],
        "rows": "replay" if len(job.sides) == 1 else "comparison",
    }  # fmt: skip
    return Folder(out, told, resume=resume)


def _identity(given: Any) -> Any:
    try:
        return given.identity()
    except ConfigError:
        return None  # it can be written, and cannot be resumed


def _at(job: Job, now: str) -> Job:
    return dataclasses.replace(job, now=now)
