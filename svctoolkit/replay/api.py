"""The functions `replay` and `compare`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from svctoolkit import __version__
from svctoolkit.accepted import is_over
from svctoolkit.errors import ConfigError
from svctoolkit.history import History
from svctoolkit.pipeline import Stages
from svctoolkit.policies import Policies
from svctoolkit.policies.tables import Tables
from svctoolkit.releases import check_releases
from svctoolkit.replay.edits import Edit, attribute, edits_between, explain_missing, other_edits, trace_breaches
from svctoolkit.replay.engine import pool
from svctoolkit.replay.engine.cluster import is_collection
from svctoolkit.replay.engine.cluster import pool as cluster_pool
from svctoolkit.replay.engine.cluster import run as run_collection
from svctoolkit.replay.engine.engine import Job
from svctoolkit.replay.engine.naming import Naming
from svctoolkit.replay.engine.outputs import compare_outputs
from svctoolkit.replay.engine.policing import check_whole
from svctoolkit.replay.engine.processes import processes
from svctoolkit.replay.engine.progress import Meter, listener
from svctoolkit.replay.engine.sides import (
    fingerprint,
    offline_transport,
    only_source,
    select,
    simulates,
    sources_with_rules,
)
from svctoolkit.replay.inputs import Events, Input, input_of
from svctoolkit.replay.options import Options, complete, show_options
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Chunk, digest_of
from svctoolkit.replay.requests import count_requests
from svctoolkit.replay.results.again import Again
from svctoolkit.replay.results.base import Unreached
from svctoolkit.replay.results.contrasts import contrast_groups, contrast_places
from svctoolkit.replay.results.members import Reader
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.warehouses import warehouse_of
from svctoolkit.replay.review.accepted import load_accepted
from svctoolkit.replay.review.review import Review
from svctoolkit.replay.review.terms import Conditions
from svctoolkit.replay.tally.folder import Folder
from svctoolkit.replay.tally.rows import Columns as RowColumns
from svctoolkit.replay.tally.rows import check_parquet, load_parquet
from svctoolkit.replay.tally.spill import Rows
from svctoolkit.replay.tally.tally import plain
from svctoolkit.warehouse import Diff, diff
from svctoolkit.workspace import Workspace


@show_options
def replay(events: Events, workspace: Workspace, **options: Unpack[Options]) -> Replayed:
    """Run many events through a workspace. Nothing is ever sent.

    `events` accepts:

    - files, folders, globs and URLs of these (anything fsspec can open): NDJSON, JSON and CSV, also compressed as `.gz`
      or `.zst`; Parquet; the `.db` store of a data plane; exported warehouse tables
    - a list, a DataFrame, or any object that supports the Arrow stream protocol (tables, datasets, DuckDB relations,
      Polars)
    - a `DataPlane`, a Dask DataFrame or Bag, or any iterable of events

    The input is never loaded into memory as a whole. Records that are not events are listed in `rejects`, and the run
    continues. The options are those of `Options`.

    Mappings use the time at which an event was received as the current time, and generate the same ids in each replay.
    Ctrl-C stops the run and returns the results so far (`complete` is false).

    Raises `ConfigError` or a subclass for any problem that is found before the first event.
    """
    chosen = complete(options)
    members = _run(events, (workspace,), chosen)
    again = (
        Again(partial(count_requests, events, workspace, destinations=chosen["destinations"], source=chosen["source"]))
        if not isinstance(events, Iterator)
        else None
    )
    return Replayed(
        **members,
        _warehouses=partial(warehouse_of, workspace),
        _requests=again,
        **_contrasts(events, workspace, chosen),
    )


def replay_all(events: Events, workspace: Workspace, **options: Unpack[Options]) -> Replayed:
    """Like `replay`, for callers that cannot use a partial result, and that report no breaches of policies.

    Ctrl-C raises `KeyboardInterrupt` here. Raises `ConfigError` or a subclass like `replay`.
    """
    result = replay(events, without_policies(workspace), **options)
    if not result.complete:
        raise KeyboardInterrupt
    return result


def without_policies(workspace: Workspace) -> Workspace:
    """Return the workspace without its policies: some need a history, and all take time."""
    return dataclasses.replace(workspace, policies=[])


# Any: a frame, when two outputs are compared
@show_options
def compare(
    events: Events, before: Workspace | Any, after: Workspace | None = None, **options: Unpack[Options]
) -> Comparison:
    """Run many events through two workspaces, and report the differences in their output.

    Destinations are paired by key. Events with changes go through `before` a second time: values that differ between
    these two runs (a clock, a random number in user code) are not changes, and are counted in `unstable`. Everything
    else works as in `replay`.

    `compare(out1, out2)` reports the differences between two existing outputs: results of `replay`, folders that it
    wrote (perhaps with another version of the toolkit or on another machine), or frames with `event_id`,
    `destination_id` and `output`, such as payloads recorded in production. Events are paired by id. Nothing runs, so
    values that vary from run to run count as differences.
    """
    if after is None:
        return _compare_outputs(events, before, options)
    # An iterator is used up after the first run, so nothing can be run again.
    again = None if isinstance(events, Iterator) else Again(partial(_diff, events, before, after, options))
    chosen = complete(options)
    return Comparison(**_run(events, (before, after), chosen), _warehouses=again, **_contrasts(events, after, chosen))


# Any: members of a result
def _contrasts(events: Events, workspace: Workspace, options: Options) -> dict[str, Any]:
    if isinstance(events, Iterator):
        return {}
    given = events, workspace, options["columns"], options["mask_personal"]
    return {
        "_contrast_groups": Again(partial(contrast_groups, *given)),
        "_contrast_places": Again(partial(contrast_places, *given)),
    }


# Any: what `compare` accepts as an output
def _compare_outputs(before: Any, after: Any, options: Options) -> Comparison:
    for name in set(options) - {"ignore", "tolerance", "accept", "releases"}:
        raise ConfigError(
            f"{name} is not supported when two outputs are compared. Use only ignore, tolerance, accept and releases"
        )
    started = time.perf_counter()
    chosen = complete(options)
    review, releases = _review(chosen), check_releases(chosen["releases"] or {})
    tally, columns = compare_outputs(_columns(before), _columns(after), review)
    rows = Rows()
    rows.add(columns)
    return Comparison(
        tally,
        True,
        time.perf_counter() - started,
        1.0,
        None,
        _rows=rows,
        expired=review.expired,
        accepted=review.accepted,
        _releases=releases,
    )


def _columns(output: Any) -> Iterable[RowColumns]:
    """Yield the rows of an output, block by block."""
    if isinstance(output, Replayed):
        return output.blocks()
    if isinstance(output, (str, Path)):
        files = sorted(Path(output).glob("rows/part-*.parquet"))
        if not files:
            raise ConfigError("this folder contains no replay rows (rows/part-*.parquet)", where=str(output))
        return load_parquet(files)
    if hasattr(output, "columns") and hasattr(output, "to_dict"):
        return [{str(name): list(values) for name, values in output.to_dict("list").items()}]
    raise ConfigError(
        f"cannot compare {type(output).__name__}: an output is the result of a replay, its folder, or a frame. "
        "To compare two workspaces, give events, before and after"
    )


def _review(options: Options) -> Review:
    """Return the ignored paths, tolerances and accepted differences. Raises `ConfigError`."""
    entries = load_accepted(options["accept"]) if options["accept"] is not None else []
    ignore = options["ignore"]
    paths = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    today = datetime.now(UTC).date()
    return Review(paths, options["tolerance"], entries, lambda entry: is_over(entry, today))


def _diff(events: Events, before: Workspace, after: Workspace, options: Options, destination: str) -> Diff:
    """Return the differences in the tables of one warehouse, by running the events through each side again."""
    chosen: Options = {**options, "destinations": [destination], "out": None, "rows": True, "resume": False}
    chosen |= {"policies": None, "history": None}
    old, new = (replay_all(events, side, **chosen).warehouse(destination) for side in (before, after))
    return diff(old, new)


def _run(events: Events, sides: tuple[Workspace, ...], options: Options) -> dict[str, Any]:
    """Return the fields of a result."""
    started = time.perf_counter()
    releases = check_releases(sides[-1].releases if options["releases"] is None else options["releases"])
    out, resume, scheduler = options["out"], options["resume"], options["scheduler"]
    if out is not None:
        check_parquet()
    if resume and out is None:
        raise ConfigError("resume requires `out`, the folder of the replay to continue")
    job = job_of(sides, options)
    policies = _policies(options, sides[-1])
    if options["history"] is not None:
        History.check(options["history"])  # a file that cannot be used is an error before the first event
    if is_collection(events):
        tally, rows, whole = run_collection(job, events, scheduler, listener(options["progress"]))
        if out is not None:
            rows.to_parquet(str(out))
        members: dict[str, Any] = {"tally": tally, "complete": whole, "_dask": rows}
        tables = Tables(policies.reads)
        for sent in tally.sent:
            tables.add(sent)
    else:
        members, tables, job = _run_input(events, job, options)
    is_complete = bool(members["complete"]) and job.sample == 1
    simulated = {key: job.simulates(key) for key in job.destinations}
    unchecked = check_whole(policies, members["tally"], tables, options["history"], simulated, is_complete=is_complete)
    if not is_collection(events) and not isinstance(events, Iterator) and members["complete"]:
        reader = Reader(events, options["columns"])
        trace_breaches(job, reader, members["tally"].groups, policies)
        if len(job.sides) == 2:
            attribute(job, reader, members["tally"].groups)
    explain_missing(members["tally"].groups)
    if options["history"] is not None and members["complete"]:
        History(members["tally"].history).write(options["history"])
    return {
        **members,
        "elapsed": time.perf_counter() - started,
        "sample": job.sample,
        "expired": job.expired,
        "accepted": job.accepted,
        "policies": policies,
        **_edited(job),
        "unchecked": unchecked,
        "simulates": job.counts_losses,
        "source_rules": () if job.source else sources_with_rules(sides),
        "out": Path(out) if out is not None else None,
        "_releases": releases,
    }


# Any: members of a result
def _edited(job: Job) -> dict[str, Any]:
    """Return the edits between the sides of a comparison, and those of destinations to which no event goes."""
    if len(job.sides) < 2:
        return {"edited": None}
    edits = edits_between(*job.sides)
    reached = [edit.what for edit in edits if any(map(edit.concerns, job.destinations))]
    beyond = [edit for edit in edits if not any(map(edit.concerns, job.destinations))]
    return {
        "edited": [*reached, *other_edits(*job.sides)],
        "unreached": Unreached([_where(edit) for edit in beyond], job.source, _sources_of(beyond, job.sides[-1])),
    }


def _where(edit: Edit) -> str:
    """Return an edit with its destinations: `setting webhookMethod of slack`."""
    names = [key for key in sorted(edit.destinations) if key not in edit.what.split()]
    return f"{edit.what} of {', '.join(names)}" if names else edit.what


def _sources_of(edits: Iterable[Edit], workspace: Workspace) -> list[str]:
    """Return the sources that are connected to a destination that one of the edits can concern."""
    keys = {key for edit in edits for key in edit.destinations}
    return [
        source.key
        for source in workspace.sources.values()
        if any(destination.key in keys for destination in workspace.destinations_of(source))
    ]


# Any: members of a result
def _run_input(events: Events, job: Job, options: Options) -> tuple[dict[str, Any], Tables, Job]:
    out, resume = options["out"], options["resume"]
    workers, width = _pool(job, options["workers"], options["scheduler"])
    source = input_of(events)
    folder = None
    if out is not None:
        folder = _folder(Path(out), job, source.identity() if resume else _identity(source), resume)
        if not folder.is_current:
            folder.adopt([digest_of(chunk) for chunk in source.chunks() if isinstance(chunk, Chunk)])
        # A resumed run uses the time of the first one, or its rows would differ from the earlier ones.
        job = dataclasses.replace(job, now=folder.header["now"])
    meter = Meter(listener(options["progress"]), source.total)
    run = pool.run(job, source, meter, folder=folder, pool=workers, width=width)
    members = {"tally": run.tally, "_new": run.new, "complete": run.complete, "_rows": run.rows, "_folder": folder}
    return members, run.tables, job


def job_of(sides: tuple[Workspace, ...], options: Options) -> Job:
    """Return the job that the options describe, after validating them. Raises `ConfigError`."""
    sample, batch, destinations = options["sample"], options["batch"], options["destinations"]
    if not 0 < sample <= 1:
        raise ConfigError(f"sample must be more than 0 and at most 1, not {sample}")
    if options["history"] is not None and sample < 1:
        raise ConfigError("a history counts all events: remove the sample")
    if batch < 1:
        raise ConfigError(f"batch must be at least 1, not {batch}")
    if isinstance(destinations, str):
        destinations = [destinations]
    stages = options["stages"] or Stages()
    if not isinstance(stages, Stages):
        raise ConfigError(f"stages must be svctoolkit.Stages(...), not {type(stages).__name__}")
    sides = tuple(dataclasses.replace(side) for side in sides)  # without their open cassettes
    for side in sides:
        offline_transport(side, options["transport"], stages)
    Columns(options["columns"])
    if len(sides) == 1 and (options["ignore"] or options["tolerance"] or options["accept"]):
        raise ConfigError("ignore, tolerance and accept apply to differences only: use them with compare")
    review = _review(options)
    policies = _policies(options, sides[-1])
    policies.require({key for side in sides for key in side.destinations})
    if policies.needs_history and options["history"] is None:
        raise ConfigError(
            "a policy of kind `volume` compares with a history: name its file with `history` (--history FILE)"
        )
    chosen = select(sides, destinations, options["source"])
    by_default = options["stages"] is None and options["transport"] is None
    if only_simulated := by_default and any(simulates(side, chosen) for side in sides):
        stages = Stages(send_to_destination=True)
    return Job(
        sides=sides,
        destinations=chosen,
        stages=stages,
        source=options["source"] or "",
        only_source="" if options["source"] else only_source(sides, chosen),
        naming=Naming() if options["source"] else Naming.of(sides),
        columns=dict(options["columns"] or {}),
        batch=batch,
        sample=sample,
        personal=options["mask_personal"],
        rows="parquet" if options["out"] is not None else "columns" if options["rows"] else "",
        now=datetime.now(UTC).isoformat(),
        transport=options["transport"],
        ignore=review.ignore,
        tolerance=review.tolerance,
        accepted=review.accepted,
        expired=review.expired,
        policies=tuple(policies.items),
        history=options["history"] is not None,
        only_simulated=only_simulated,
    )


def check_conditions(conditions: str, workspace: Workspace, **options: Unpack[Options]) -> None:
    """Raise `ConfigError` for conditions that a replay with these options can never meet."""
    job = job_of((workspace,), complete(options))
    Conditions(conditions, priced=True, simulates=job.counts_losses)


def _policies(options: Options, workspace: Workspace) -> Policies:
    """Return the policies to check: the workspace's, and those of the option. Raises `ConfigError`."""
    given = options["policies"]
    own = Policies.of_workspace(workspace)
    return own if given is None else own + (given if isinstance(given, Policies) else Policies.load(given))


def _pool(job: Job, workers: int, scheduler: Any) -> tuple[pool.Pool | None, int]:
    """Return the pool that does the work (None: this process), and how many chunks may be in progress at a time."""
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, not {workers}")
    if job.transport is not None and (workers > 1 or scheduler is not None):
        raise ConfigError("a transport only works in this process: use workers=1 and no scheduler with it")
    if scheduler is not None:
        return cluster_pool(scheduler)
    # Two chunks per worker: one runs while the next one is on its way.
    return (None, 1) if workers == 1 else (lambda: processes(workers), 2 * workers)


def _folder(out: Path, job: Job, identity: Any, resume: bool) -> Folder:
    header = {
        "version": __version__,
        "now": job.now,
        "input": identity,
        "sides": [fingerprint(side) for side in job.sides],
        "options": [
            list(job.destinations), repr(job.stages), job.source, dict(job.columns), job.batch, job.sample,
            job.personal, list(job.ignore), dict(job.tolerance), plain(job.accepted),
            list(job.policies), *(["history"] if job.history else []), *(["simulated"] if job.only_simulated else []),
        ],
        "rows": "replay" if len(job.sides) == 1 else "comparison",
    }  # fmt: skip
    return Folder(out, header, resume=resume)


def _identity(source: Input) -> Any:
    try:
        return source.identity()
    except ConfigError:
        return None  # such an input can be replayed to a folder, but not resumed
