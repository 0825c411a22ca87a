"""Replay for other engines, such as Ray and Spark: an Arrow batch of events in, an Arrow batch of rows out."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.replay.api import job_of, without_policies
from svctoolkit.replay.engine import work
from svctoolkit.replay.engine.sides import serialize
from svctoolkit.replay.options import Options, complete
from svctoolkit.replay.records.record import Chunk, Piece, digest_of
from svctoolkit.replay.tally.rows import COMPARISON, REPLAY, arrow_batch, arrow_schema
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

#: The options that define how an event is processed; the others define where it runs and what is kept.
_OPTIONS = (
    "destinations", "source", "stages", "columns", "batch", "sample", "mask_personal", "ignore", "tolerance", "accept",
)  # fmt: skip


class ChunkRunner:
    """Runs batches of events on any machine: `run_chunk(batch: RecordBatch) -> RecordBatch`.

    `schema` is the schema of the returned batches. A runner can be pickled, including the secrets of its workspaces:
    send it only to workers that you trust. A worker keeps the user code loaded from one batch to the next.
    """

    def __init__(self, token: str, job: bytes, *, compares: bool) -> None:
        self._token, self._job, self._compares = token, job, compares

    @property
    def schema(self) -> pa.Schema:
        """The columns of `Replayed.frame()` or `Comparison.frame()`, as strings and 64-bit integers."""
        return arrow_schema(COMPARISON if self._compares else REPLAY)

    def __call__(self, batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch | pa.Table:
        """Return the rows of a batch of events, in order; for a table, return a table.

        A record that is not an event becomes a row with the status (in a comparison: the kind) `rejected`, and the
        reason as its error. `place` identifies the batch by its content, and the row in it: the same batch gives the
        same rows on any machine at any time.
        """
        import pyarrow as pa

        if isinstance(batch, pa.Table):
            return pa.Table.from_batches([self._run(part) for part in batch.to_batches()], self.schema)
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(f"a chunk must be a pyarrow RecordBatch or Table, not {type(batch).__name__}")
        return self._run(batch)

    def _run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        chunk = Chunk(0, "", "arrow", Piece(0, batch), 0)
        chunk = replace(chunk, name=f"batch {digest_of(chunk)[:12]}")
        tally, columns = work.run(self._token, self._job, chunk)
        kinds = COMPARISON if self._compares else REPLAY
        return arrow_batch(columns, arrow_schema(kinds), tally.rejects)


def chunk_runner(workspace: Workspace, after: Workspace | None = None, **options: Unpack[Options]) -> ChunkRunner:
    """Return a function that runs batches of events through one workspace, or compares two.

    It is meant for engines such as Ray and Spark. The options are those of `replay` that define how an event is
    processed: `destinations`, `source`, `stages`, `columns`, `batch`, `sample`, `mask_personal`; with two workspaces
    also `ignore`, `tolerance` and `accept`. To get counts of outcomes, aggregate the rows.

    Raises `ConfigError` or a subclass for any problem that is found before the first event.
    """
    for name in options:
        if name not in _OPTIONS:
            raise ConfigError(
                f"{name} is not an option of chunk_runner, which only processes events.{did_you_mean(name, _OPTIONS)}"
            )
    sides = tuple(without_policies(side) for side in (workspace, after) if side is not None)
    job = replace(job_of(sides, complete(options)), rows="columns")
    return ChunkRunner(secrets.token_hex(8), serialize(job), compares=after is not None)
