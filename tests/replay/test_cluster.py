"""Replays on a Dask cluster of two worker processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from svctoolkit import Workspace
from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.replay import Progress, compare, replay
from svctoolkit.transformations import Limits
from tests.replay.shops import killing_once, ndjson, order, orders, revenue_as_text, shop

pytestmark = pytest.mark.slow

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@contextmanager
def two_workers() -> Iterator[Any]:
    """A scheduler with two worker processes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as made:
            yield made


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_workers() as made:
        yield made


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as made:
        yield made


def killing(event: dict[str, Any]) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return event


def slow_shop() -> Workspace:
    """A workspace whose code takes a third of a second per event."""
    slow = "import time\ndef transformEvent(event, metadata):\n  time.sleep(0.3)\n  return event"
    workspace = Workspace("shop", limits=Limits(time=60))
    workspace.transformation("clean", code=slow, language="python")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://x.example"}, transformation="clean")
    return workspace


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A scheduler with an expendable worker: its address, and the id of its process."""
    file, module = tmp_path / "scheduler.json", [sys.executable, "-m"]
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    processes = [
        subprocess.Popen([*module, "distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", *common]),
        subprocess.Popen([*module, "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *common]),
    ]
    try:
        with distributed.Client(scheduler_file=str(file), set_as_default=False, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            address = client.scheduler.address
        yield address, processes[0].pid
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def files(folder: Path, kill: str = "") -> list[Path]:
    """Ten files of two events, one of which may kill its worker."""
    return [
        ndjson(folder / f"{n}.ndjson", [order(2 * n, kill=kill if n == 4 else ""), order(2 * n + 1)]) for n in range(10)
    ]


@pytest.mark.filterwarnings("default")
def test_a_cluster_gives_the_same_result(cluster: Any, tmp_path: Path) -> None:
    """With a scheduler's address the same call gives the same rows, order and numbers as one process."""
    given = files(tmp_path)
    here = replay(given, shop(revenue_as_text))
    there = replay(given, shop(revenue_as_text), scheduler=cluster.scheduler_address, out=tmp_path / "out")

    pd.testing.assert_frame_equal(there.frame(), here.frame())
    assert there.counts == here.counts
    assert replay(given, shop(revenue_as_text), scheduler=cluster).counts == here.counts  # the cluster itself


@pytest.mark.filterwarnings("default")
def test_a_killed_worker_loses_nothing(cluster: Any, client: Any, tmp_path: Path) -> None:
    """When a worker process is killed, the result is complete and correct, each event once."""
    marker = tmp_path / "kill"
    marker.touch()
    result = replay(files(tmp_path, str(marker)), shop(killing_once), scheduler=client)

    assert not marker.exists()
    assert list(result.frame().event_id[::2]) == [f"m{n}" for n in range(20)]
    assert dict(result.counts["hook"]) == {"delivered": 20}


@pytest.mark.filterwarnings("default")
def test_work_that_kills_every_worker_is_an_error() -> None:
    """Dask gives up after several workers; the error is readable, not Dask's own. It may not replace them all."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),  # not three, to start fewer workers
        two_workers() as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ToolkitError, match=r"the same task has killed \d+ workers"),
    ):
        replay(orders(4), shop(killing), scheduler=client)


@pytest.mark.filterwarnings("default")
def test_a_dask_frame_is_run_by_partition(client: Any, tmp_path: Path) -> None:
    """The rows of a Dask DataFrame stay on the cluster; the numbers come back."""
    frame = pd.DataFrame({"payload": [json.dumps(event) for event in orders(10)]})
    result = replay(dd.from_pandas(frame, npartitions=3), shop(revenue_as_text), scheduler=client)

    assert dict(result.counts["hook"]) == {"delivered": 10}
    assert result.dask().npartitions == 3
    assert list(result.frame().event_id[::2]) == [f"m{n}" for n in range(10)]
    assert result.frame().place[0] == "partition 0:0"


@pytest.mark.filterwarnings("default")
def test_a_killed_worker_loses_no_partition(client: Any, tmp_path: Path) -> None:
    """The same for a Dask DataFrame: numbers, rows and partitioned Parquet have every event once."""
    marker = tmp_path / "kill"
    marker.touch()
    events = [order(n, kill=str(marker) if n == 4 else "") for n in range(12)]
    frame = pd.DataFrame({"payload": [json.dumps(event) for event in events]})
    given = dd.from_pandas(frame, npartitions=4)
    result = replay(given, shop(killing_once), scheduler=client, out=tmp_path / "out")

    assert not marker.exists()
    assert dict(result.counts["hook"]) == {"delivered": 12}
    assert list(result.frame().event_id[::2]) == [f"m{n}" for n in range(12)]
    assert sorted(pd.read_parquet(tmp_path / "out").event_id[::2]) == sorted(f"m{n}" for n in range(12))


@pytest.mark.filterwarnings("default")
def test_a_dask_frame_reports_progress_and_can_be_interrupted(client: Any) -> None:
    """Progress by partition; after Ctrl-C the result has exactly the finished partitions."""
    frame = pd.DataFrame({"payload": [json.dumps(event) for event in orders(12)]})
    given = dd.from_pandas(frame, npartitions=6)
    lines: list[Progress] = []
    whole = replay(given, shop(), scheduler=client, progress=lines.append)

    assert (whole.complete, lines[-1].done, lines[-1].events, lines[-1].share) == (True, True, 12, 1.0)

    def interrupt(progress: Progress) -> None:
        if not progress.done:
            raise KeyboardInterrupt

    result = replay(given, slow_shop(), scheduler=client, progress=interrupt)

    assert not result.complete
    assert 0 < result.events < 12
    assert dict(result.counts["hook"]) == {"delivered": result.events}
    assert result.frame().event_id.nunique() == result.events


@pytest.mark.filterwarnings("default")
def test_a_bag_can_be_compared(client: Any, tmp_path: Path) -> None:
    """A Dask Bag of events through two workspaces gives partitioned Parquet."""
    import dask.bag

    bag = dask.bag.from_sequence(orders(10), npartitions=4)
    result = compare(bag, shop(), shop(revenue_as_text), scheduler=client, out=tmp_path / "out")

    assert result.kinds["changed"] == 10
    assert [(group.path, group.count) for group in result.groups] == [("body.JSON.properties.revenue", 10)]
    assert sorted(pd.read_parquet(tmp_path / "out").event_id) == sorted(f"m{n}" for n in range(10))


@pytest.mark.filterwarnings("default")
def test_an_unreachable_scheduler_is_an_error() -> None:
    """The error names the address."""
    with pytest.raises(ConfigError, match=r"tcp://127\.0\.0\.1:9: cannot connect to a Dask scheduler"):
        replay(orders(1), shop(), scheduler="tcp://127.0.0.1:9")


def test_an_invalid_scheduler_address_is_one_line(tmp_path: Path) -> None:
    """On the command line; a half-created client would make Dask print a traceback at exit."""
    shop().save(tmp_path / "shop.yaml")
    given = [str(files(tmp_path)[0]), "--workspace", str(tmp_path / "shop.yaml"), "--scheduler", "nonsense"]
    done = subprocess.run([sys.executable, "-m", "svctoolkit", "replay", *given], capture_output=True, text=True)

    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert done.stderr.startswith("svctoolkit: nonsense: cannot connect to a Dask scheduler")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", ["files", "bag", "frame"])
def test_a_lost_cluster_is_an_error(
    kind: str, scheduler: tuple[str, int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """When the scheduler is killed, the replay ends with an error that says what to do instead."""
    address, process = scheduler
    given, seen = files(tmp_path), list[int]()

    def kill(progress: Progress) -> None:
        if not seen and progress.events:
            seen.append(progress.events)
            os.kill(process, signal.SIGKILL)

    def run() -> None:
        if kind == "files":
            replay(given, slow_shop(), scheduler=address, progress=kill, out=tmp_path / "out")
            return
        with distributed.Client(address, set_as_default=False) as client:
            replay(collection(kind), slow_shop(), scheduler=client, progress=kill)

    advice = "A run with `out` can be continued with `resume`" if kind == "files" else "Run it again"
    with pytest.raises(ToolkitError, match=f"lost the cluster: its scheduler has stopped.* {advice}"):
        run()
    assert 0 < seen[0] < 20
    if kind == "files":
        assert not [record for record in caplog.records if record.exc_info and record.levelname in ("WARNING", "ERROR")]
        result = replay(given, slow_shop(), out=tmp_path / "out", resume=True)
        assert dict(result.counts["hook"]) == {"delivered": 20}


def collection(kind: str) -> Any:
    """Twenty events in ten partitions."""
    import dask.bag

    if kind == "bag":
        return dask.bag.from_sequence(orders(20), npartitions=10)
    return dd.from_pandas(pd.DataFrame({"payload": [json.dumps(event) for event in orders(20)]}), npartitions=10)
