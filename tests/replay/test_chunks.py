"""Batches of Arrow in, batches of rows out: the interface for other engines."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from svctoolkit import Secret, Workspace
from svctoolkit.errors import ConfigError
from svctoolkit.replay import chunk_runner, compare, replay
from tests.replay.shops import killing_once, order, orders, revenue_as_text, shop


def batch_of(events: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(events)


@pytest.mark.parametrize("sides", [1, 2])
def test_batches_give_the_rows_of_a_replay(sides: int) -> None:
    """In the order of the events, with the announced schema; for two workspaces, the rows of a comparison."""
    workspaces = [shop(), shop(revenue_as_text)][:sides]
    run_chunk = chunk_runner(*workspaces)
    table = pa.Table.from_pylist(orders(10))
    rows = pa.Table.from_batches([run_chunk(batch) for batch in table.to_batches(max_chunksize=3)])
    whole = replay(table, *workspaces) if sides == 1 else compare(table, *workspaces)

    assert rows.schema == run_chunk.schema
    assert rows.drop_columns("place").to_pylist() == [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in whole.frame().drop(columns="place").astype(object).to_dict("records")
    ]
    assert run_chunk(table).to_pylist()[0]["place"].startswith("batch ")
    assert run_chunk(table.slice(0, 0)).num_rows == 0


def test_a_pickled_runner_gives_the_same_rows() -> None:
    """With its secrets; a batch that is run again has the same places and ids, another batch has others."""
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://x.example", "headers": [
        {"from": "key", "to": Secret("s3cr3t")}]})  # fmt: skip
    run_chunk = chunk_runner(workspace)
    copy = pickle.loads(pickle.dumps(run_chunk))
    batch = batch_of(orders(4))
    first, other = run_chunk(batch.slice(0, 2)), run_chunk(batch.slice(2, 2))

    assert first.equals(copy(batch.slice(0, 2)))
    assert not {row["place"] for row in first.to_pylist()} & {row["place"] for row in other.to_pylist()}
    assert "s3cr3t" not in str(first.to_pylist())
    assert "s3cr3t" not in repr(run_chunk)


def test_an_invalid_event_becomes_a_row() -> None:
    """Nothing is lost silently."""
    events = [*orders(1), {"type": "purchase", "messageId": "x", "userId": "u"}]
    last = chunk_runner(shop())(batch_of(events)).to_pylist()[-1]

    assert (last["status"], last["place"][-2:]) == ("rejected", ":1")
    assert last["error"]
    assert chunk_runner(shop(), shop())(batch_of(events)).to_pylist()[-1]["kind"] == "rejected"


def test_options_of_a_whole_run_are_rejected_for_chunks() -> None:
    """The error names them."""
    with pytest.raises(ConfigError, match="workers is not an option of chunk_runner"):
        chunk_runner(shop(), workers=2)
    with pytest.raises(TypeError, match="a chunk must be a pyarrow RecordBatch"):
        chunk_runner(shop())(orders(1))


@pytest.fixture
def client() -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_dask_runs_chunks_even_if_a_worker_is_killed(client: Any, tmp_path: Path) -> None:
    """Each event once and in order, from two processes, one of them killed."""
    marker = tmp_path / "kill"
    marker.touch()
    run_chunk = chunk_runner(shop(killing_once))
    events = [order(n, kill=str(marker) if n == 7 else "") for n in range(20)]
    parts = [batch_of(events[first : first + 4]) for first in range(0, 20, 4)]
    rows = client.gather(client.map(run_chunk, parts))

    assert not marker.exists()
    table = pa.Table.from_batches(rows)
    sent = [row["event_id"] for row in table.to_pylist() if row["stage"] == "dest_transform"]
    assert sent == [f"m{n}" for n in range(20)]
