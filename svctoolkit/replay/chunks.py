"""The same work for engines of others: a batch of Arrow with events in, a batch of rows out."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.replay.api import job_of
from svctoolkit.replay.engine import work
from svctoolkit.replay.engine.sides import serialize
from svctoolkit.replay.options import Options, complete
from svctoolkit.replay.records.record import Chunk, Piece, digest_of
from svctoolkit.replay.tally.rows import COMPARISON, REPLAY, arrow_batch, arrow_schema
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

#: The options that say what is done with an event; the others say where, and what is kept.
_OPTIONS = (
    "destinations", "source", "stages", "columns", "batch", "sample", "mask_personal", "ignore", "tolerance", "accept",
)  # fmt: skip


class ChunkRunner:
    """Runs batches of events, wherever it is sent: `run_chunk(batch: RecordBatch) -> RecordBatch`.

    `schema` is that of what it gives. It can be pickled, with the secrets of its workspaces in it: give it to workers
    that you trust. A worker keeps the user's code loaded from one batch to the next.
    """

    def __init__(self, token: str, job: bytes, *, compares: bool) -> None:
        self._token, self._job, self._compares = token, job, compares

    @property
    def schema(self) -> pa.Schema:
        """The columns: those of `Replayed.frame()` or `Comparison.frame()`, as texts and 64-bit numbers."""
        return arrow_schema(COMPARISON if self._compares else REPLAY)

    def __call__(self, batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch | pa.Table:
        """The rows of a batch of events, in their order; of a table they are a table.

        A record that is no event is a row with the status (of a comparison: the kind) `rejected`, and the reason as its
        error. `place` says which batch it is, by its content, and which row: the same batch gives the same rows
        wherever and whenever it is run.
        """
        import pyarrow as pa

        if isinstance(batch, pa.Table):
            return pa.Table.from_batches([self._run(part) for part in batch.to_batches()], self.schema)
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(f"a chunk is a RecordBatch or a Table of pyarrow, not {type(batch).__name__}")
        return self._run(batch)

    def _run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        chunk = Chunk(0, "", "arrow", Piece(0, batch), 0)
        chunk = replace(chunk, name=f"batch {digest_of(chunk)[:12]}")
        tally, columns = work.run(self._token, self._job, chunk)
        kinds = COMPARISON if self._compares else REPLAY
        return arrow_batch(columns, arrow_schema(kinds), tally.rejects)


def chunk_runner(workspace: Workspace, after: Workspace | None = None, **options: Unpack[Options]) -> ChunkRunner:
    """What runs batches of events through a workspace, or through two side by side, for engines such as Ray and Spark.

    Options are those of `replay` that say what is done with an event: `destinations`, `source`, `stages`, `columns`,
    `batch`, `sample`, `mask_personal`; with two workspaces `ignore`, `tolerance` and `accept`. How many ran, and what
    became of them, can be counted in the rows.

    Raises `ConfigError` or one of its kinds for what is wrong before the first event.
    """
    for name in options:
        if name not in _OPTIONS:
            raise ConfigError(
                f"{name} is not for a chunk, which runs where somebody else wants it.{did_you_mean(name, _OPTIONS)}"
            )
    sides = (workspace,) if after is None else (workspace, after)
    job = replace(job_of(sides, complete(options)), rows="columns")
    return ChunkRunner(secrets.token_hex(8), serialize(job), compares=after is not None)
