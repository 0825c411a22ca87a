"""The class `DestinationType`. Authors import from `svctoolkit.destinations` and `svctoolkit.mapping`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec

from svctoolkit.causes import Need, Refusal
from svctoolkit.destinations._answers import Answer, BatchAnswer
from svctoolkit.destinations._batches import Batch, Batching, Job, MappedJob, MayRefuse, Merge, merge
from svctoolkit.destinations._context import Lookup, make_context
from svctoolkit.destinations._deletions.deletion import Deletion
from svctoolkit.destinations._deletions.outcome import DeletionOutcome
from svctoolkit.destinations._mapping import DestinationMapping, Handler, Sends
from svctoolkit.destinations._outcomes import Delivery, Judge, Outcome, Reply, outcome_of_status
from svctoolkit.destinations._settings import Settings, configure
from svctoolkit.displayed import Displayed
from svctoolkit.errors import CannotDelete, InvalidConfig, Problem, ToolkitError, UnknownName
from svctoolkit.events import EVENT_TYPES, RECORD, Event, EventType
from svctoolkit.json_codec import encode_sorted
from svctoolkit.json_types import Json

Function = TypeVar("Function", bound=Callable[..., Sends])


#: Prepared configurations that a type keeps; one takes a few kilobytes.
_MAX_MAPPINGS = 256
_KEY = msgspec.msgpack.Encoder()


class DestinationType(Displayed):
    """A destination type of the catalogue: its settings, and what it sends for each event type.

    `title` is the display name. `docs` is the page of the destination's public API that the mapping follows. `answers`
    are documented responses of its server. `names` are additional keys of an event's `integrations` that carry options
    for this type. `earlier` lists variables of `settings` that the destination's form no longer has, but that stored
    configurations may still contain. `quirks` are sentences about places where RudderStack deviates from the
    destination's own documentation: the mapping does what RudderStack does, and the catalogue shows these sentences to
    users. `differences` are sentences about places where the mapping deviates from RudderStack, and why. `needs` names
    what its refusals may depend on besides event and settings: the connected `account`, a `lookup` at the destination,
    the `clock`. `merges` say which jobs share a request; without them, and without a function registered by `batch`,
    each job gets its own requests. `takes` names what a type accepts instead of events (such as "audience lists"): it
    has no handlers and refuses every event. `decided_by` is for types that send every event that has none of these
    members; if it has some, they and its type decide, of `integrations` only objects with options.
    """

    def __init__(
        self,
        title: str,
        settings: type[Settings],
        *,
        docs: str = "",
        answers: Sequence[Answer] = (),
        names: Sequence[str] = (),
        earlier: Sequence[str] = (),
        quirks: Sequence[str] = (),
        differences: Sequence[str] = (),
        needs: Sequence[Need] = (),
        merges: Sequence[Merge] = (),
        takes: str = "",
        decided_by: Collection[str] = (),
    ) -> None:
        self.title, self.settings, self.docs, self.takes = title, settings, docs, takes
        self.answers, self.earlier, self.quirks = tuple(answers), tuple(earlier), tuple(quirks)
        self.differences = tuple(differences)
        self.needs = tuple(needs)
        self._names = frozenset(name.lower() for name in (title, *names))
        self.handlers: dict[str, Handler] = {}
        self._merges = tuple(merges)
        self._decided_by = tuple(decided_by)
        self._batching: Batching | None = None
        self._batching_may_refuse: MayRefuse | bool = False  # merging never refuses
        self._mappings: dict[bytes, DestinationMapping | tuple[Problem, ...]] = {}
        self._judge: Judge | None = None
        self._batch_answer: BatchAnswer | None = None
        self._deletion: Deletion[Any] | None = None

    def __repr__(self) -> str:
        return f"<DestinationType {self.title}: {', '.join(self.handlers)}>"

    def on(self, *types: EventType | Literal["record"]) -> Callable[[Function], Function]:
        """Register `handler(event, settings)` or `handler(event, settings, context)` for event types.

        Without types it gets all six; `record` are warehouse records.

        The handler returns one `Payload` or several, or raises `MappingError`. It must not change the event.
        """

        def register(function: Function) -> Function:
            handler = Handler(function, len(inspect.signature(function).parameters) > 2)
            for event_type in types or EVENT_TYPES:
                if event_type not in (*EVENT_TYPES, RECORD) or event_type in self.handlers:
                    raise ValueError(f"{self.title}: cannot register {event_type!r}")
                self.handlers[event_type] = handler
            return function

        return register

    def prepare(self, config: Mapping[str, Json], environ: Mapping[str, str] | None = None) -> DestinationMapping:
        """Return the mapping of a configured destination. What depends only on the configuration is done here.

        A variable that is null or an empty string counts as not set. Values such as
        `{{ event.properties.key || "default" }}` are filled in from each event. `env.NAME` is replaced by that variable
        of `environ`. Without `environ` it is left unchanged: otherwise anyone who can write a configuration could read
        this process's environment.

        Raises `InvalidConfig`, which names the variable. Variables that the mapping does not read (consent, device mode
        filters) are accepted: `svctoolkit.destinations.definitions` lists all variables and checks the names.
        """
        settings = configure(self.title, self.settings, config, environ or {})
        return DestinationMapping(
            self.title,
            self.handlers,
            settings,
            self._batching or self._merge,
            self._batching_may_refuse,
            self.takes,
            self._decided_by,
        )

    def payloads(
        self,
        event: Mapping[str, Json],
        config: Mapping[str, Json],
        clock: str | datetime | None = None,
        lookup: Lookup | None = None,
        metadata: Mapping[str, Json] | None = None,
    ) -> list[dict[str, Json]]:
        """Return the payloads of one event as objects: `prepare(config).payloads(event, clock, lookup, metadata)`.

        A configuration that was used before is not read again, unless it has changed.

        Raises `InvalidConfig`, `UnsupportedEvent` or `MappingError`.
        """
        return self._prepared(config).payloads(event, clock, lookup, metadata)

    def _prepared(self, config: Mapping[str, Json]) -> DestinationMapping:
        """Return the mapping of a configuration, from a cache if it was prepared before. Raises `InvalidConfig`.

        The key is the content: callers may change a configuration between two calls. MessagePack is the fastest
        encoding that distinguishes all values, also `1` and `true`.
        """
        try:
            key = _KEY.encode(config)
        except (TypeError, ValueError, OverflowError, RecursionError):  # a secret, a lone surrogate, or too deep
            return self.prepare(config)
        mapping = self._mappings.get(key)
        if mapping is None:
            if len(self._mappings) >= _MAX_MAPPINGS:
                self._mappings.clear()
            try:
                mapping = self.prepare(config)
            except InvalidConfig as error:
                self._mappings[key] = error.problems
                raise
            self._mappings[key] = mapping
        elif isinstance(mapping, tuple):
            raise InvalidConfig(mapping)
        return mapping

    def batch(self, function: Batching, *, may_refuse: MayRefuse | bool = True) -> Batching:
        """Register the function that groups the jobs of one configuration into requests, for rules beyond `Merge`.

        `may_refuse`, or `may_refuse(settings)`: whether it may refuse, or not send, a job that its mapping has accepted
        and that is alone. If not, a replay that only counts asks the mapping, which takes less time.
        """
        self._batching, self._batching_may_refuse = function, may_refuse
        self._mappings.clear()
        return function

    def judge(self, function: Judge) -> Judge:
        """Register the function that interprets responses; it returns None where the status alone decides."""
        self._judge = function
        return function

    @property
    def judges(self) -> bool:
        """Whether the type interprets response bodies; otherwise the status alone decides the outcome."""
        return self._judge is not None

    @property
    def shares(self) -> bool:
        """Whether several events may share a request, by `merges` or by a function registered with `batch`."""
        return self._batching is not None or bool(self._merges)

    @property
    def sharing(self) -> str:
        """A short text on which events share a request; empty if each event has its own."""
        if self._batching is not None:
            return "by its own rules"
        return ", ".join(f"up to {rule.limit:,}" if rule.limit else "by size" for rule in self._merges)

    def batches(
        self,
        jobs: Iterable[Job],
        clock: str | datetime | None = None,
        lookup: Lookup | None = None,
    ) -> list[Batch]:
        """Return the requests of several jobs, grouped as RudderStack's router does: each job is in exactly one batch.

        `jobs` are `(id, event, config)` in order of arrival, each with an attribute `metadata`. Jobs with different
        configurations never share a request. A refused event gets its own batch with `error`.
        """
        groups: dict[bytes, list[Job]] = {}
        for job in jobs:
            _, _, config = job
            groups.setdefault(encode_sorted(config), []).append(job)
        return [batch for members in groups.values() for batch in self._batches(members, clock, lookup)]

    def _batches(self, jobs: Sequence[Job], clock: str | datetime | None, lookup: Lookup | None) -> Iterable[Batch]:
        _, _, config = jobs[0]
        try:
            mapping = self._prepared(config)
        except ToolkitError as error:
            return [
                Batch((id,), refusal=Refusal("misconfigured", setting="config", why=str(error))) for id, _, _ in jobs
            ]
        events = [(id, event) for id, event, _ in jobs]
        return mapping.batches(events, [make_context(clock, lookup, job.metadata) for job in jobs])

    def _merge(self, jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
        return merge(jobs, self._merges)

    def outcome(
        self,
        payload: Mapping[str, Json],
        answers: Sequence[tuple[int, Mapping[str, str], Json]],
        jobs: Sequence[Json] = (),
        metadata: Sequence[Mapping[str, Json]] = (),
    ) -> Outcome:
        """Return the outcome of a payload's jobs, given its `answers`, each as `(status, headers, parsed body)`."""
        replies = [Reply(*answer) for answer in answers]
        return self.judgement(payload, replies, jobs, metadata) or outcome_of_status(replies[-1])

    def judgement(
        self,
        payload: Mapping[str, Json],
        replies: Sequence[Reply],
        jobs: Sequence[Json],
        metadata: Sequence[Mapping[str, Json]] = (),
    ) -> Outcome | None:
        """Return the outcome that the type's judge reads in the responses; None if the status alone decides."""
        if self._judge is None:
            return None
        return self._judge(Delivery(payload, replies, jobs, metadata or [{} for _ in jobs]))

    # Any: each type has its own settings class
    def deletes_with(self, deletion: Deletion[Any]) -> None:
        """Register how the type deletes users. Its quirks are listed with those of the mapping."""
        self._deletion = deletion
        self.quirks += deletion.quirks

    @property
    # Any: as above
    def deletion(self) -> Deletion[Any]:
        """How the type deletes users. Raises `CannotDelete` if it has no way to."""
        if self._deletion is None:
            raise CannotDelete(f"{self.title} cannot delete users: RudderStack does not pass deletions on to this type")
        return self._deletion

    @property
    def deletions(self) -> Callable[..., DeletionOutcome]:
        """Delete users: `deletions(users, config, lookup=None, secret=None, clock=None)`, as `Deletion.run`.

        Raises `CannotDelete`, which is an `AttributeError`, for a type that has no way to delete users.
        """
        return self.deletion.run

    @property
    def can_delete(self) -> bool:
        """Whether the type has a way to delete users."""
        return self._deletion is not None

    def options(self, event: Event) -> Mapping[str, Json]:
        """Return the event's options for this type, `integrations["Mixpanel"]`. Empty if missing or not an object.

        Keys are compared with the title and `names` case-insensitively, because clients spell them in several ways. If
        an event has several spellings, the last one counts, as observed at RudderStack.
        """
        chosen = event.raw.get("integrations")
        if isinstance(chosen, dict):
            for name, value in reversed(chosen.items()):
                if isinstance(value, dict) and name.lower() in self._names:
                    return value
        return {}

    def answer_batch(self, function: BatchAnswer) -> BatchAnswer:
        """Register the function that answers a batch as the destination would, with a result for each item."""
        self._batch_answer = function
        return function

    @property
    def answers_items(self) -> bool:
        """Whether the destination's server reports a result for each item of a batch."""
        return self._batch_answer is not None

    def batch_answer(self, url: str, body: Json, failed: Collection[int] = ()) -> Answer | None:
        """Return the server's answer to a batch if it refuses the items at the positions `failed` of the JSON body.

        None if the server does not report single items, either for this request or in general.
        """
        return self._batch_answer(url, body, failed) if self._batch_answer else None

    def answer(self, name: str, url: str = "") -> Answer:
        """Return the answer with this name for a request to `url`. Raises `UnknownName`."""
        for answer in self.answers:
            if answer.name == name and answer.at in url:
                return answer
        raise UnknownName(f"answer of {self.title}", name, {answer.name for answer in self.answers})
