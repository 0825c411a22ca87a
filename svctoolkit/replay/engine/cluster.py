"""A replay on a Dask cluster: its chunks, or the partitions of a Dask DataFrame or Bag.

Dask schedules the work, and repeats work elsewhere when a worker is lost.
"""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.replay.engine import work
from svctoolkit.replay.engine.engine import Job
from svctoolkit.replay.engine.progress import Listener, Meter
from svctoolkit.replay.engine.sides import serialize
from svctoolkit.replay.records.files import needs
from svctoolkit.replay.records.record import Chunk, Reject
from svctoolkit.replay.tally.rows import COMPARISON, REPLAY, Columns, empty, frame
from svctoolkit.replay.tally.tally import Sum, Tally


# Any: dask's scheduler
def pool(scheduler: Any) -> tuple[Callable[[], AbstractContextManager[Executor]], int]:
    """Return the cluster as a pool, and how many chunks to keep in progress: two for each of its threads.

    Raises `ConfigError` if Dask is not installed, no cluster answers at the address, or the cluster has no workers.
    """
    with _client(scheduler) as client:
        width = 2 * _threads(client)
        _protect(client)

    @contextmanager
    def opened() -> Iterator[Executor]:
        with _client(scheduler) as client, _translate_losses():
            executor: Executor = client.get_executor(pure=False)
            yield executor

    return opened, width


def _protect(client: Any) -> None:
    """Make workers ignore Ctrl-C; see `svctoolkit.replay.engine.workers`."""
    from svctoolkit.replay.engine.workers import protect

    protect(client)


def _threads(client: Any) -> int:
    """Return the number of threads of a cluster, i.e. how many chunks it runs at a time."""
    threads = sum(client.nthreads().values())
    if not threads:
        raise ConfigError("the cluster has no workers: start some (cluster.scale(2))", where=str(client))
    return int(threads)


_WITH_OUT = "A run with `out` can be continued with `resume`"


@contextmanager
def _translate_losses(advice: str = _WITH_OUT) -> Iterator[None]:
    """Raise `ToolkitError` when Dask gives up: a task that keeps killing its workers, or a lost scheduler."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ToolkitError(
            f"the same task has killed {error.allowed_failures + 1} workers (out of memory?). Use workers with more "
            f"memory or fewer threads. {advice}"
        ) from None
    except CancelledError:
        raise ToolkitError(f"lost the cluster: its scheduler has stopped or cannot be reached. {advice}") from None


@contextmanager
def _client(scheduler: Any) -> Iterator[Any]:
    """Yield a client for a cluster (an address, a `LocalCluster` or similar). A client of the caller stays open."""
    try:
        from distributed import Client
        from distributed.comm import resolve_address
    except ImportError:
        raise needs("distributed", "a scheduler", "dask") from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    with _without_tracebacks():
        try:
            if isinstance(scheduler, str):
                resolve_address(scheduler)  # a client with a bad address would log errors when collected
            client = Client(scheduler, set_as_default=False, timeout=5)
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"cannot connect to a Dask scheduler: {error}", where=str(scheduler)) from error
        try:
            yield client
        finally:
            client.close()


@contextmanager
def _without_tracebacks() -> Iterator[None]:
    """Suppress Dask's logged tracebacks about an unreachable scheduler; the `ConfigError` reports the same problem."""
    log = logging.getLogger("distributed.client")
    log.addFilter(_has_no_traceback)
    try:
        yield
    finally:
        log.removeFilter(_has_no_traceback)


def _has_no_traceback(record: logging.LogRecord) -> bool:
    return not record.exc_info


def is_collection(events: Json) -> bool:
    """Return whether these events are a Dask collection."""
    return hasattr(events, "__dask_graph__") and hasattr(events, "to_delayed")


# Any: dask's collection and scheduler
def run(job: Job, collection: Any, scheduler: Any, listener: Listener | None) -> tuple[Tally, Any, bool]:
    """Return the sum of all partitions, their rows as a Dask DataFrame on the cluster, and whether all finished.

    Ctrl-C stops a run on a distributed cluster and returns the partitions that have finished so far.
    """
    import dask
    import dask.dataframe as dd

    token, payload = secrets.token_hex(8), serialize(replace(job, rows="columns" if job.rows else ""))
    kinds = REPLAY if len(job.sides) == 1 else COMPARISON
    partition = dask.delayed(_run_partition, nout=2)
    with _current(scheduler):
        _check_cluster()
        partitions = collection.to_delayed()
        pairs = dask.persist(*(partition(token, payload, events, number) for number, events in enumerate(partitions)))
        translation = _translate_losses("Run it again") if "distributed" in sys.modules else nullcontext()
        with translation:
            tallies = _gather(pairs, Meter(listener, len(pairs)))
        # `from_delayed` needs at least one partition, even if the run was interrupted at once.
        parts = [pairs[number][1] for number in sorted(tallies)] or [dask.delayed(frame)([], kinds)]
        rows = dd.from_delayed(parts, meta=frame([], kinds), verify_meta=False)
    total = Sum()
    for number in sorted(tallies):
        total.add(tallies[number])
    return total.finish(), rows, len(tallies) == len(pairs)


# Any: dask's delayed
def _gather(pairs: Sequence[Any], meter: Meter) -> dict[int, Tally]:
    """Return the tally of each finished partition: all of them, unless the user interrupts the run."""
    import dask

    futures = _futures(pairs)
    tallies: dict[int, Tally] = {}
    interrupted = False
    try:
        if not futures:  # no cluster: Dask has computed them in this process
            tallies = dict(enumerate(dask.compute(*(pair[0] for pair in pairs))))
            for number, tally in tallies.items():
                meter.add(tally.events, tally.rejected, number + 1)
            meter.report()
        for future in _as_completed(futures):
            number = futures[future]
            tallies[number] = pairs[number][0].compute()
            meter.add(tallies[number].events, tallies[number].rejected, len(tallies))
            meter.report()
    except KeyboardInterrupt:
        interrupted = True
        for future, number in futures.items():
            if number not in tallies:
                future.cancel()
    finally:
        meter.finish(interrupted=interrupted)
    return tallies


# Any: dask's delayed and futures
def _futures(pairs: Sequence[Any]) -> dict[Any, int]:
    """Return the futures of partitions on a cluster; an empty dict without a cluster."""
    try:
        from distributed import futures_of
    except ImportError:
        return {}
    return {future: number for number, pair in enumerate(pairs) for future in futures_of(pair)}


def _as_completed(futures: dict[Any, int]) -> Iterator[Any]:
    if futures:
        from distributed import as_completed

        yield from as_completed(list(futures))


def _current(scheduler: Any) -> AbstractContextManager[Any]:
    if scheduler is None:
        return nullcontext()
    if not hasattr(scheduler, "as_current"):
        raise ConfigError(
            "`scheduler` must be the client of the Dask collection's cluster: give that client, or leave it out"
        )
    current: AbstractContextManager[Any] = scheduler.as_current()
    return current


def _check_cluster() -> None:
    """Check that the cluster of a collection, if it has one, has workers; let these ignore Ctrl-C."""
    if "distributed" not in sys.modules:  # not imported, so no client exists
        return
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return
    _threads(client)
    _protect(client)


def _run_partition(token: str, job: bytes, events: Any, number: int) -> tuple[Tally, Any]:
    """Run one partition, in a worker."""
    total = Sum()
    rows: list[Columns] = []
    kinds = REPLAY
    for chunk in _chunks(events, f"partition {number}"):
        tally, columns = work.run(token, job, chunk)
        total.add(tally)
        if columns is not None:
            rows.append(columns)
            kinds = COMPARISON if "kind" in columns else REPLAY
    return total.finish(), frame(rows or [empty(kinds)], kinds)


def _chunks(events: Any, name: str) -> Iterator[Chunk]:
    from svctoolkit.replay.inputs import input_of

    for chunk in input_of(events if hasattr(events, "iloc") else list(events)).chunks():
        if not isinstance(chunk, Reject):
            yield replace(chunk, name=name)
