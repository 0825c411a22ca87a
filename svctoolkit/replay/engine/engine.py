"""The engine that runs a chunk in any process: events through one pipeline, or through two to compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from time import perf_counter
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit import personal
from svctoolkit.delivery import Transport
from svctoolkit.destinations import Context
from svctoolkit.events import Event
from svctoolkit.events.clock import time_of
from svctoolkit.history import Collector
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.pipeline import Passage, Route, Stages
from svctoolkit.pipeline.decisions import decision
from svctoolkit.pipeline.fates import NO_SOURCE
from svctoolkit.pipeline.texts import STAGES as TEXT_STAGES
from svctoolkit.policies import Policies
from svctoolkit.replay.engine.clock import context_of
from svctoolkit.replay.engine.naming import Naming
from svctoolkit.replay.engine.policing import Police
from svctoolkit.replay.engine.sides import Side, offline_transport
from svctoolkit.replay.inputs import records
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.json_text import decode
from svctoolkit.replay.records.record import Chunk, Record, Reject
from svctoolkit.replay.records.sample import sample_of
from svctoolkit.replay.review.accepted import Accepted
from svctoolkit.replay.review.review import Review
from svctoolkit.replay.tally.losses import marks_of
from svctoolkit.replay.tally.rows import COMPARISON, REPLAY, empty, parquet
from svctoolkit.replay.tally.tally import Sum, Tally
from svctoolkit.secrets import MASK, Masker
from svctoolkit.simulations import Loss
from svctoolkit.transformations import JsonEvents
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import without_collector

#: Returns, for an engine, a function that runs a batch to a destination (by key) and stores the results in the engine.
Runner: TypeAlias = "Callable[[Engine], Callable[[str, Batch], None]]"
_MOST_REJECTS = 100_000  # per chunk


@dataclass(frozen=True, slots=True)
class Job:
    """What to do with each event. One workspace is a replay, two are a comparison.

    `source` is the source of every event, `only_source` that of events which do not have one, and do not name one in
    the way of `naming`.
    `rows` says what is kept of each event: nothing, columns of plain values, or a Parquet file. `now` is the current
    time for events without a timestamp. `only_simulated`: only simulated destinations have the stage
    `send_to_destination`. `ignore`, `tolerance`, `accepted` and `expired` are those of `Review`.
    `policies` are checked on the later side. `history`: count the events for a history.
    """

    sides: tuple[Workspace, ...]
    destinations: tuple[str, ...]
    stages: Stages
    source: str = ""
    only_source: str = ""
    naming: Naming = field(default_factory=Naming)
    columns: Mapping[str, str] = field(default_factory=dict)
    batch: int = 200
    sample: float = 1.0
    personal: bool = False
    rows: Literal["", "columns", "parquet"] = "columns"
    now: str = "2024-01-01T00:00:00+00:00"
    transport: Transport | None = None
    ignore: tuple[str, ...] = ()
    tolerance: Mapping[str, float] = field(default_factory=dict)
    accepted: tuple[Accepted, ...] = ()
    expired: tuple[Accepted, ...] = ()
    policies: tuple[Mapping[str, Json], ...] = ()
    history: bool = False
    only_simulated: bool = False

    def source_of(self, record: Record) -> str:
        """Return the source of an event; empty if nothing says it."""
        return self.source or record.source or self.named_by(record) or self.only_source

    def named_by(self, record: Record) -> str:
        """Return the source that the event itself names, if no source is given; empty if it names none."""
        if self.source or record.source or (record.text and not self.naming.may_name(record.text)):
            return ""
        return self.naming.source_of(record.event)

    @property
    def only_counts(self) -> bool:
        """Whether it keeps nothing of an event that arrives: everything else needs all events decoded."""
        reads = len(self.sides) > 1 or self.rows or self.sample != 1
        return not reads and self.stages == TEXT_STAGES

    @property
    def counts_losses(self) -> bool:
        """Whether an enabled destination is simulated on the later side, so that events can be lost there."""
        destinations = self.sides[-1].destinations
        return any(self.simulates(key) and destinations[key].enabled for key in self.destinations)

    def simulates(self, destination: str) -> bool:
        """Return whether what a destination (by key) loses is known on the later side."""
        side = self.sides[-1]
        of = side.destinations.get(destination)
        return self.stages.send_to_destination and of is not None and side.simulation_level(of) != "answers"


@dataclass(frozen=True)
class Batch:
    """Events that go through together. `source` is the key or id of their source, or empty."""

    records: Sequence[Record]
    source: str

    @cached_property
    def events(self) -> list[Mapping[str, Json]]:
        """The same list each time, so that results can be cached by its identity."""
        return [record.event for record in self.records]

    @cached_property
    def names(self) -> list[str]:
        """The name of each event, or its type."""
        return [event.name or event.type for event in map(Event, self.heads)]

    @cached_property
    def heads(self) -> list[Mapping[str, Json]]:
        """The events, or the members of them that every replay reads."""
        return [record.head for record in self.records]

    @cached_property
    def json_events(self) -> JsonEvents:
        """The events as JSON text."""
        texts = [record.text or encode(record.event) for record in self.records]
        odd = [at for at, record in enumerate(self.records) if not record.text]
        return JsonEvents(texts, lambda at: self.records[at].event, odd)

    @property
    def repeats(self) -> list[int]:
        """The positions of events that are repeats of earlier ones."""
        return [place for place, record in enumerate(self.records) if record.repeats]


class Engine:
    """Runs the chunks of one job, and keeps the user code loaded between them."""

    def __init__(self, job: Job, runner: Runner) -> None:
        self.job = job
        self.sides = [
            Side(workspace, offline_transport(workspace, job.transport, job.stages), compared=len(job.sides) > 1)
            for workspace in job.sides
        ]
        #: whether events stay JSON text, which takes less time
        self.as_text = job.only_counts and self.sides[0].can_stay_text(job.destinations)
        self._columns = Columns(job.columns, keeps_text=self.as_text)
        self._now = datetime.fromisoformat(job.now)
        self.review = Review(job.ignore, job.tolerance, job.accepted)
        self.sum = Sum()
        self.rows = empty({})
        #: key of a group of losses -> the line of user code that writes the value
        self.lines: dict[tuple[str, ...], str] = {}
        self._heads: dict[int, dict[str, str]] = {}  # of the current batch, by id of the record
        self._maskers: list[Masker] = []
        self.police = Police(self, Policies.of(job.policies)) if job.policies else None
        self.history = Collector(self.sides[-1].workspace.masker.text) if job.history else None
        self._run_batch = runner(self)
        self.on_batch: Callable[[Tally], None] = lambda _: None  # gets the tally of the chunk after each batch

    def run(self, chunk: Chunk) -> tuple[Tally, Json]:
        """Return the tally of a chunk, and its rows in the form that the job requires."""
        with without_collector():  # the garbage collector would traverse all events of the chunk repeatedly
            return self._run(chunk)

    def _run(self, chunk: Chunk) -> tuple[Tally, Any]:
        kinds = REPLAY if len(self.sides) == 1 else COMPARISON
        self.sum, self.rows = Sum(_MOST_REJECTS, mask=self._mask_name), empty(kinds)
        self._run_all(self._sample(chunk), self.job.destinations)
        rows: Any = self.rows if self.job.rows == "columns" else None
        if self.job.rows == "parquet":
            with self.timer("write"):
                rows = parquet(self.rows, kinds)
        tally = self.sum.finish()
        tally.number = chunk.number
        if self.police is not None:
            tally.sent = self.police.finish()
        if self.history is not None:
            with self.timer("history"):
                tally.history = [self.history.finish(chunk.name)]
        tally.records += tally.rejected
        return tally, rows

    def run_records(self, records: Sequence[Record], destinations: Sequence[str]) -> Tally:
        """Return the tally of some events at some of the destinations, independent of earlier ones.

        All of them are examples of their groups.
        """
        self.sum, self.rows = Sum(examples=len(records)), empty(REPLAY if len(self.sides) == 1 else COMPARISON)
        self.forget_held()
        self._run_all(iter(records), destinations)
        tally = self.sum.finish()
        if self.police is not None:
            tally.sent = self.police.finish()
        return tally

    def _run_all(self, records: Iterable[Record], destinations: Sequence[str]) -> None:
        batches = self._batches(records)
        while self._run_next(batches, destinations):  # one at a time: events just read are still in the CPU cache
            for side in self.sides:
                side.release()
            self.on_batch(self.sum.tally)

    def _run_next(self, batches: Iterator[Batch], destinations: Sequence[str]) -> bool:
        """Run the next batch, if there is one. The previous batch is released, so only one is in memory."""
        self._heads.clear()
        self._maskers = [side.workspace.masker for side in self.sides]
        with self.timer("read"):
            batch = next(batches, None)
        if batch is None:
            return False
        self.sum.tally.events += len(batch.records)
        for record in batch.records:
            self.sum.flows.release(record)
        if self.history is not None:
            with self.timer("history"):
                self.history.add(*batch.heads, whole=lambda at: batch.records[at].event)
        for destination in destinations:
            self._run_batch(destination, batch)
        if self.police is not None:
            with self.timer("policies"):
                self.police.check(batch.records)
        return True

    def _sample(self, chunk: Chunk) -> Iterator[Record]:
        whole = self._records(chunk)
        if self.job.sample == 1:
            return whole
        return self._count_run(sample_of(whole, self.job.sample, self._count_record))

    def _count_record(self, stratum: str) -> None:
        self.sum.stratum(stratum).records += 1

    def _count_run(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.sum.stratum(record.stratum).run += 1
            yield record

    def _records(self, chunk: Chunk) -> Iterator[Record]:
        begin = self.history.begin if self.history is not None else None
        for record in records(chunk, self._columns):
            if isinstance(record, Reject):
                self.sum.reject(self._shown(record))
            else:
                self.sum.tally.records += 1
                if begin is not None:
                    begin(record.event)
                    begin = None
                yield record

    def _shown(self, reject: Reject) -> Reject:
        reason, text = storable(reject.reason), storable(reject.text)
        if self.job.personal:
            reason, text = personal.replace_in_text(reason, personal.mask), ""
        return msgspec.structs.replace(reject, reason=reason, text=text)

    def _batches(self, records: Iterable[Record]) -> Iterator[Batch]:
        # By source, because rules and tracking plans belong to a source: a batch never mixes two.
        waiting: dict[str, list[Record]] = {}
        for record in records:
            named = self.job.named_by(record)
            source = named or self.job.source or record.source or self.job.only_source
            self.sum.tally.sourceless += not source
            if named:
                self.sum.tally.assumed[named] = self.sum.tally.assumed.get(named, 0) + 1
            waiting.setdefault(source, []).append(record)
            if len(waiting[source]) == self.job.batch:
                yield Batch(waiting.pop(source), source)
        for source in list(waiting):
            yield Batch(waiting.pop(source), source)

    def run_side(
        self, side: Side, destination: str, batch: Batch, events: Sequence[Mapping[str, Json]], *, again: bool = False
    ) -> list[Passage] | None:
        """Return the passage of each event to one destination; None if these events do not go there.

        `again`: do not reuse the cached output of the user code.
        Mappings get a clock and ids that are the same in each replay: the event's own time, and ids derived from its
        place.
        """
        contexts = [context_of(record, self._now, side.lookup) for record in batch.records]
        sends = not self.job.only_simulated or side.simulates(destination)
        stages = self.job.stages if sends else TEXT_STAGES
        passages = side.run(destination, events, stages, contexts, batch.source, batch.repeats, again=again)
        if passages is not None:
            self._spent(passages)
        return passages

    def run_texts(self, side: Side, destination: str, batch: Batch) -> list[Passage] | None:
        """The same for events that stay text. Only if `as_text`.

        Passages of delivered events have no results; policies about this destination get the payloads.
        """
        keep = self.police.expect(destination, len(batch.records)) if self.police is not None else None

        def own(at: int) -> Context:
            return context_of(batch.records[at], self._now, side.lookup)

        source, repeats = batch.source, batch.repeats
        return side.run_texts(destination, batch.json_events, batch.heads, own, source, repeats, self.timer, keep)

    def count_lost(self, destination: str, side: str, record: Record, losses: Sequence[Loss]) -> None:
        """Count an event that a simulated destination received, and by which rules it was lost there."""
        head = self.head(record)
        day = time_of(record.head, self._now).astimezone(UTC).date().isoformat()
        self.sum.losses.count(destination, side, head["event_name"] or head["event_type"], day, losses)
        if not side:  # a comparison has conditions about what is lost newly, see the ledger
            for what in marks_of(losses):
                self.sum.mark(destination, what, record.stratum)

    def forget_held(self) -> None:
        """Forget what simulated destinations hold, so that a chunk does not depend on the earlier ones."""
        for side in self.sides:
            side.forget_held()

    def decision(self, side: Side, source: str, record: Record, passage: Passage, route: Route) -> str:
        """Return a description of what decides that an event did not arrive; no look-ups are made to find out."""
        context, origin = context_of(record, self._now), side.source(source) or NO_SOURCE
        return self.words(", ".join(decision(passage, record.event, route, context, origin)), route.masker)

    def timer(self, step: str) -> _Timer:
        return _Timer(self.sum.tally.seconds, step)

    def _spent(self, passages: Sequence[Passage]) -> None:
        """Add the time of each stage."""
        seconds = self.sum.tally.seconds
        for passage in passages:
            for result in passage.results:
                for stage, milliseconds in result.milliseconds.items():
                    seconds[stage] = seconds.get(stage, 0.0) + milliseconds / 1000

    def text(self, value: Json, *maskers: Masker) -> str:
        """Return a value as JSON text, with secrets masked, and personal data if the job says so."""
        if self.job.personal:
            value = personal.replace(value, personal.mask)
        # Masking JSON text is much faster than masking the value, but only works without escapes of characters.
        text = encode(value)
        for masker in maskers:
            text = encode(masker.mask(decode(text))) if b"\\u" in text else masker.mask_json(text)
        return text.decode()

    def words(self, text: str, *maskers: Masker) -> str:
        """Return an error message, masked for display."""
        for masker in maskers:
            text = masker.mask(text)
        return storable(personal.replace_in_text(text, personal.mask) if self.job.personal else text)

    def _mask_name(self, name: str) -> str:
        """Return the name of an event as in `head`."""
        name = personal.replace_in_text(name, personal.mask) if self.job.personal else name
        for masker in self._maskers:
            name = masker.text(name)
        return storable(name)

    def head(self, record: Record) -> dict[str, str]:
        """Return the columns that identify the event of a row, the same for all destinations."""
        # By identity: the same record goes to every destination, and masking its columns takes time.
        columns = self._heads.get(id(record))
        if columns is None:
            columns = self._heads[id(record)] = self._head(record)
        return columns

    def _head(self, record: Record) -> dict[str, str]:
        event = Event(record.event)
        user = str(record.event.get("userId") or record.event.get("anonymousId") or "")
        columns = {
            "place": record.place,
            "event_id": event.id,
            "event_type": event.type,
            "user_id": MASK if self.job.personal and user else user,
        }
        for masker in self._maskers:
            columns = {name: masker.text(text) for name, text in columns.items()}
        columns = {name: storable(text) for name, text in columns.items()}
        return {**columns, "event_name": self._mask_name(event.name)}


class _Timer:
    """Adds the duration of a `with` block to the seconds of a step."""

    __slots__ = ("_into", "_started", "_step")

    def __init__(self, into: dict[str, float], step: str) -> None:
        self._into, self._step = into, step

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._into[self._step] = self._into.get(self._step, 0.0) + perf_counter() - self._started
