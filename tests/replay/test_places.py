"""Locations of events: URLs, globs, and Arrow in all its forms."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from svctoolkit.errors import ConfigError
from svctoolkit.replay import Progress, replay
from tests.examples import some_by_default
from tests.replay.s3_server import KEY, s3_server
from tests.replay.shops import ndjson, orders, shop

ROWS = [{"type": "track", "event": "Order", "userId": f"u{n}", "messageId": f"m{n}", "properties": {"revenue": n}}
        for n in range(5000)]  # fmt: skip


def ids(events: Any, **options: Any) -> list[str]:
    frame = replay(events, shop(), **options).frame()
    return list(frame[frame.stage == "dest_transform"].event_id)


@pytest.fixture
def bucket() -> Any:
    """An in-memory file system, which fsspec calls `memory://`."""
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def test_urls_may_be_files_folders_and_globs(bucket: Any, tmp_path: Path) -> None:
    """Compressed, as Parquet, alone, in a folder or by a glob; positions have the URL."""
    lines = [f"{json.dumps(event)}\n".encode() for event in orders(6)]
    bucket.pipe("/events/a/1.ndjson", b"".join(lines[:2]))
    bucket.pipe("/events/a/2.ndjson.gz", gzip.compress(b"".join(lines[2:4])))
    bucket.pipe("/events/b/3.json.gz", gzip.compress(b"".join(lines[4:])))
    bucket.pipe("/events/read.me", b"no events")
    pq.write_table(pa.Table.from_pylist(ROWS[:3]), tmp_path / "x.parquet")
    bucket.pipe("/rows.parquet", (tmp_path / "x.parquet").read_bytes())

    assert ids("memory://events/a/1.ndjson") == ["m0", "m1"]
    assert ids("memory://events/a/*.ndjson*") == ["m0", "m1", "m2", "m3"]
    assert ids(["memory://events", "memory://rows.parquet"]) == ["m0", "m1", "m2", "m3", "m4", "m5", "m0", "m1", "m2"]
    assert ids("memory://events", workers=2) == [f"m{n}" for n in range(6)]
    assert replay("memory://events/a/1.ndjson", shop()).frame().place[0].startswith("memory://")
    out = tmp_path / "out"
    replay("memory://events", shop(), out=out)
    assert replay("memory://events", shop(), out=out, resume=True).events == 6
    bucket.pipe("/events/a/1.ndjson", b"".join(lines[:1]))
    assert replay("memory://events", shop(), out=out, resume=True).events == 5


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://nowhere.ndjson", "memory://nowhere.ndjson: no such file"),
        ("what://x/y.ndjson", "what://x/y.ndjson"),
        ("nowhere/*.ndjson", "no file matches"),
        ("ftp://ann:s3cr3t@127.0.0.1:1/a.ndjson", "cannot be reached"),
    ],
)
def test_missing_urls_are_reported_without_secrets(url: str, said: str) -> None:
    """Before the first event, with the URL as it may be shown."""
    with pytest.raises(ConfigError, match=said) as caught:
        replay(url, shop())
    assert "s3cr3t" not in str(caught.value)


def test_globs_of_this_machine_are_expanded(tmp_path: Path) -> None:
    """`**` is any number of folders; unknown extensions are left out."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    ndjson(tmp_path / "a" / "1.ndjson", orders(1))
    ndjson(tmp_path / "a" / "b" / "2.ndjson", orders(2))
    (tmp_path / "a" / "x.txt").write_text("x")

    assert ids(f"{tmp_path}/**/*") == ["m0", "m0", "m1"]


class Frame:
    """The interface of a Polars DataFrame that is used: columns, iteration over columns, and the Arrow stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.columns = table, table.column_names

    def __iter__(self) -> Any:
        return iter(self._table.columns)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def rechunk(self) -> Frame:
        return self


def duckdb_relation(table: pa.Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("events", table)
    return connection.sql("select * from events")


@pytest.mark.parametrize(
    "form",
    [
        lambda table: table,
        lambda table: table.to_batches()[0],
        lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700)),
        lambda table: ds.dataset(table),
        Frame,
        duckdb_relation,
        lambda table: table.to_pandas(),
    ],
    ids=["table", "batch", "reader", "dataset", "polars", "duckdb", "pandas"],
)
def test_every_form_of_arrow_is_an_input(form: Callable[[pa.Table], Any]) -> None:
    """Every row is an event, in order, with its types."""
    result = replay(form(pa.Table.from_pylist(ROWS)), shop())
    frame = result.frame()
    outputs = frame[frame.stage == "dest_transform"].output

    assert (result.events, result.rejected) == (5000, 0)
    assert list(frame.event_id.drop_duplicates()) == [f"m{n}" for n in range(5000)]
    assert json.loads(outputs.iloc[7])["body"]["JSON"]["properties"] == {"revenue": 7}
    assert isinstance(frame, pd.DataFrame)


class LazyFrame:
    """The interface of a Polars LazyFrame that is used, for machines without Polars."""

    def __init__(self, source: Callable[[], Iterator[pa.Table]]) -> None:
        self._source = source

    def collect(self) -> Any:
        raise AssertionError("everything at once")

    def collect_batches(self, *, chunk_size: int, maintain_order: bool) -> Iterator[Any]:
        assert maintain_order
        return (Frame(table) for table in self._source())


def lazy_frame(seen: Callable[[], None]) -> Any:
    def tables() -> Iterator[pa.Table]:
        for part in range(200):
            seen()
            yield pa.table({"type": ["track"] * 2000, "messageId": [f"m{2000 * part + n}" for n in range(2000)]})

    if find_spec("polars") is None:
        return LazyFrame(tables)
    polars, plugins = import_module("polars"), import_module("polars.io.plugins")

    def frames(*_: Any) -> Iterator[Any]:
        return map(polars.from_arrow, tables())

    return plugins.register_io_source(frames, schema={"type": polars.String, "messageId": polars.String})


def lazy_relation(seen: Callable[[], None]) -> Any:
    import duckdb

    def id_of(number: int) -> str:
        if number % 2000 == 0:
            seen()
        return f"m{number}"

    connection = duckdb.connect()
    connection.create_function("id_of", id_of, ["BIGINT"], "VARCHAR", side_effects=True)
    columns = "'track' as type, id_of(n) as \"messageId\", repeat('x', 1000) as \"properties.x\""
    return connection.sql(f"select {columns} from range(400000) t(n)")


TABLE = pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize("form", some_by_default([lazy_relation, lazy_frame], 1), ids=["duckdb", "polars"])
def test_lazy_inputs_are_read_while_they_run(form: Callable[[Any], Any]) -> None:
    """After the first events only a few of 200 parts were computed; events come once and in order."""
    parts: list[None] = []
    ahead: list[int] = []

    def stop(progress: Progress) -> None:
        ahead.append(len(parts) - progress.events // 2000)
        if not progress.done and progress.events > 20_000:  # more than a whole part, which is kept
            raise KeyboardInterrupt

    result = replay(form(lambda: parts.append(None)), shop(), progress=stop)
    frame = result.frame()

    assert 0 < result.events < 400_000
    assert not result.complete
    assert max(ahead) < 40
    assert list(frame[frame.stage == "dest_transform"].event_id) == [f"m{n}" for n in range(result.events)]


class CountingFiles(LocalFileSystem):
    """Files of this machine that count the bytes read."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.read = 0
        self.files: list[io.FileIO] = []

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        files = self

        class File(io.FileIO):
            def read(self, size: int | None = -1) -> bytes:
                data = super().read(size) or b""
                files.read += len(data)
                return data

        self.files.append(File(path))
        return self.files[-1]


def test_a_dataset_is_read_while_it_runs(tmp_path: Path) -> None:
    """Of a file with 200 row groups, most was not read when the run stops after the first events."""
    file = tmp_path / "events.parquet"
    with pq.ParquetWriter(file, TABLE.schema, use_dictionary=False, compression="none") as writer:
        for _ in range(200):
            writer.write_table(TABLE.slice(0, 2000))
    files = CountingFiles()

    def stop(progress: Progress) -> None:
        if not progress.done and progress.events > 20_000:  # more than a whole part, which is kept
            raise KeyboardInterrupt

    dataset = ds.dataset(str(file), filesystem=files, format="parquet")
    result = replay(dataset, shop(), rows=False, progress=stop)

    assert 0 < result.events < 400_000
    assert 0 < files.read < file.stat().st_size / 2
    for opened in files.files:
        opened.close()


def test_a_query_that_fails_during_the_run_is_a_reject() -> None:
    """Events before it are run; the reject has the reason, without a traceback."""

    def source() -> Iterator[pa.Table]:
        yield TABLE.slice(0, 2000)
        raise OSError("the disk is gone")

    batches = (batch for table in source() for batch in table.to_batches())
    result = replay(pa.RecordBatchReader.from_batches(TABLE.schema, batches), shop())

    assert result.events == 2000
    assert [(reject.place, "the disk is gone" in reject.reason) for reject in result.rejects] == [("[2000]", True)]


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A bucket with RudderStack's archives (gzipped NDJSON) of two days, and a table in Parquet."""
    lines = [f"{json.dumps(event)}\n".encode() for event in orders(6)]
    pq.write_table(pa.Table.from_pylist(ROWS[:3]), tmp_path / "x.parquet")
    objects = {
        "logs/day=01/a.json.gz": gzip.compress(b"".join(lines[:2])),
        "logs/day=01/b.json.gz": gzip.compress(b"".join(lines[2:4])),
        "logs/day=02/a.json.gz": gzip.compress(b"".join(lines[4:])),
        "logs/tables/tracks.parquet": (tmp_path / "x.parquet").read_bytes(),
    }
    with s3_server(objects) as address:
        names = {"ENDPOINT_URL": address, "ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": "s3cr3t", "REGION": "eu-west-1"}
        for name, value in {**names, "EC2_METADATA_DISABLED": "true"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        yield objects


def test_s3_is_read_with_credentials_from_the_environment(archive: Any) -> None:
    """A file, a folder and a glob of a bucket, from a server that requires signatures; Parquet by ranges."""
    assert ids("s3://logs/day=01/b.json.gz") == ["m2", "m3"]
    assert ids("s3://logs/day=01") == ["m0", "m1", "m2", "m3"]
    assert ids("s3://logs/day=*/a.json.gz") == ["m0", "m1", "m4", "m5"]
    assert ids("s3://logs/tables/tracks.parquet") == ["m0", "m1", "m2"]
    assert replay("s3://logs/day=02/a.json.gz", shop()).frame().place[0] == "s3://logs/day=02/a.json.gz:1"


def test_s3_errors_are_clear(archive: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """For missing objects and rejected credentials; no secret is shown."""
    with pytest.raises(ConfigError, match=r"s3://logs/day=09/a.json.gz: no such file"):
        replay("s3://logs/day=09/a.json.gz", shop())
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
    with pytest.raises(ConfigError, match="cannot be reached") as caught:
        replay("s3://logs/day=01/a.json.gz", shop())
    assert "s3cr3t" not in str(caught.value)
