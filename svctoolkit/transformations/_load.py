"""`load`: turn user code given as text into a transformation that runs in the sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from svctoolkit.errors import TransformationError
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.transformations import standard
from svctoolkit.transformations._channel import unreadable
from svctoolkit.transformations._contract import (
    CodeLoss,
    Fetch,
    Geolocation,
    JsonEvents,
    Library,
    LibraryLike,
    Limits,
    Log,
    Metadata,
    Output,
    shorten,
)
from svctoolkit.transformations._frames import Answer, Request, Result, is_object
from svctoolkit.transformations._frames import event as decode_event
from svctoolkit.transformations._integers import ALIKE, LONG, with_rounded
from svctoolkit.transformations._pool import Pool, pool
from svctoolkit.transformations._process import LostWorkerError
from svctoolkit.transformations._program import Program
from svctoolkit.transformations._requests import Requests
from svctoolkit.transformations._worker import CallError

LANGUAGES = ("javascript", "python")
_LEVELS = {"info", "debug", "warn", "error"}
_MAYBE_LOST = {"memory", "crash"}  # failures that earlier calls may have caused
_Key = TypeVar("_Key", int, str)
_MAX_FAILURES = 3  # events of one call that may exceed a limit before the rest is skipped


def load(
    code: str,
    language: str,
    *,
    name: str = "",
    libraries: Mapping[str, LibraryLike] | None = None,
    credentials: Mapping[str, str] | None = None,
    fetch: Fetch | None = None,
    geolocation: Geolocation | None = None,
    in_order: Callable[[], bool] = lambda: False,
    limits: Limits | None = None,
    scope: str = "",
    coverage: bool = False,
    workers: Pool | None = None,
    version: str = "",
) -> SandboxedTransformation:
    """Check user code and make it ready to run. The first call per language starts a process (about 200 ms).

    `name` is the file name in errors. `libraries` are looked up by the name that code imports; RudderStack's own
    (`@rs/hash/v1`; see `standard`) are available to JavaScript. `fetch` and `geolocation` answer the code's requests,
    several at once unless `in_order()`.
    `scope` identifies the owner of the code: no process ever serves two scopes. `coverage` counts the lines that run.
    `workers` replaces the shared pool. `version` is RudderStack's `codeVersion` of JavaScript: "1" for a module that
    exports a function, "0" for a script with `transform(events)`; by default it is detected.

    Raises `TransformationError` with `file:line:col` for code that cannot be loaded, or that does not define exactly
    one of `transformEvent` and `transformBatch`.
    """
    if language not in LANGUAGES:
        raise TransformationError(f"a transformation must be written in {' or '.join(LANGUAGES)}, not {language!r}")
    ending = "js" if language == "javascript" else "py"
    known = {at: Library(text, language, at) for at, text in standard.imported(code).items()} if ending == "js" else {}
    program = Program(
        code,
        language,
        name=name or f"transformation.{ending}",
        libraries=known
        | {
            at: Library(library.code, language, library.name or f"{at}.{ending}")
            for at, library in (libraries or {}).items()
            if library.language == language
        },
        credentials=credentials or {},
        limits=limits or Limits(),
        scope=scope,
        coverage=coverage,
        version=version,
    )
    loaded = SandboxedTransformation(program, Requests(fetch, geolocation, in_order), workers or pool(language))
    with loaded.workers.worker(program) as worker:
        program.units = worker.units
    if coverage:
        loaded.add_hits([[0] * (len(unit.lines) + len(unit.branches)) for unit in program.units])
    return loaded


class SandboxedTransformation:
    """User code in the sandbox. Thread-safe."""

    wants_metadata = True

    def __init__(self, program: Program, requests: Requests, workers: Pool) -> None:
        self.program, self.workers = program, workers
        self._requests = requests
        self._hits: dict[str, dict[int, int]] = {}
        self._branches: dict[str, dict[str, int]] = {}

    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        """Return one output per event, in order. Errors of the code are returned, not raised; events are never changed.

        The events of one call share the module's state; the next call starts afresh. If a limit is exceeded, the events
        run again one by one, so that only those that exceed it fail.
        """
        if not events:
            return []
        try:
            # All events in one call first: it is faster, and the module's state is shared as in the service.
            return self._run(events, metadata)
        except TransformationError as error:
            if len(events) == 1 or error.kind == "sandbox":
                unknown = self.program.may_ask
                return [Output(error=_of_event(error, event), by_metadata=unknown) for event in events]
        return self._one_by_one(events, metadata)

    def _one_by_one(self, events: Sequence[Mapping[str, Any]], metadata: Sequence[Metadata]) -> list[Output]:
        outputs: list[Output] = []
        failures, unknown = 0, self.program.may_ask  # code that was stopped cannot report what it requested
        for event, about in zip(events, metadata, strict=True):
            if failures >= _MAX_FAILURES:
                text = f"not run: {failures} events of this call have already exceeded a limit"
                outputs.append(Output(error=_of_event(TransformationError(text, kind="time"), event)))
                continue
            try:
                outputs += self._run([event], [about])
            except TransformationError as error:
                failures += 1
                outputs.append(Output(error=_of_event(error, event)))
        return [msgspec.structs.replace(output, by_metadata=unknown) for output in outputs]

    def _run(self, events: Sequence[Mapping[str, Any]], metadata: Sequence[Metadata]) -> list[Output]:
        as_text = isinstance(events, JsonEvents)
        content = b"[" + b",".join(events.texts) + b"]" if isinstance(events, JsonEvents) else encode(list(events))
        about = list(metadata) if self.program.may_ask else [{}] * len(events)
        try:
            answer = self._answer(content + b"\n" + encode(about))
        except CallError as failure:
            raise self.program.error(failure.answer.error) from None
        if answer.results is None or len(answer.results) != len(events):
            raise unreadable()
        if answer.hits is not None:
            self.add_hits(answer.hits)
        outputs = [self._output(result, events, at, as_text=as_text) for at, result in enumerate(answer.results)]
        if answer.batch is not None:
            batch = [decode_event(item, self.program.limits) for item in answer.batch]
            outputs = _batch_outputs(batch, outputs, events, answer.losses)
        if self.program.language == "javascript":
            for at in _odd(events, content):
                outputs[at] = with_rounded(outputs[at].decoded(), events[at])
        if not answer.metadata:
            return outputs
        return [msgspec.structs.replace(output, by_metadata=True) for output in outputs]

    def _answer(self, content: bytes) -> Answer:
        """Return the answer to a call. If the call breaks a worker that ran others before, it is rerun in a new one.

        So a call does not fail because of what earlier calls left behind, such as memory that was not freed, or because
        something else ended the worker. A call that has sent requests is not rerun.
        """
        has_requested, first, waited = False, True, 0.0

        def replies(requests: Sequence[Request], deadline: float) -> list[dict[str, Any]]:
            nonlocal has_requested, waited
            has_requested = True
            answers = self._requests.replies(requests, deadline - waited)
            # The requests of a round are under way at the same time, so that the longest delay counts.
            waited += max(answer.pop("seconds") for answer in answers)
            if time.monotonic() + waited >= deadline:
                raise TimeoutError
            return answers

        try:
            with self.workers.worker(self.program) as worker:
                first = worker.has_fresh_processes or worker.calls == 0
                return worker.run(content, self.program.limits, replies)
        except TransformationError as error:
            lost = isinstance(error, LostWorkerError) or (not first and error.kind in _MAYBE_LOST)
            if has_requested or not lost:
                raise
        with self.workers.worker(self.program, fresh=True) as worker:
            return worker.run(content, self.program.limits, replies)

    def _output(self, result: Result, events: Sequence[Mapping[str, Any]], at: int, *, as_text: bool) -> Output:
        logs = _logs(result, self.program.limits) if result.logs or result.dropped else ()
        if result.events is None:
            return Output(error=_of_event(self.program.error(result.error), events[at]), logs=logs)
        if as_text and len(result.events) == 1 and not result.losses:
            text = bytes(result.events[0])
            if is_object(text, self.program.limits):
                return Output(logs=logs, text=text)
        try:
            returned = tuple([self._event(item) for item in result.events])
        except TransformationError as error:
            return Output(error=_of_event(error, events[at]), logs=logs)
        return Output(returned, logs=logs, losses=_losses(result.losses, range(len(returned))))

    def _event(self, text: msgspec.Raw) -> dict[str, Any]:
        event = decode_event(text, self.program.limits)
        if not isinstance(event, dict):
            raise unreadable()
        return event

    def add_hits(self, hits: Json) -> None:
        """Add the worker's counts of how often each line has run, and each branch was taken."""
        _add(self._hits, self.program.line_counts(hits))
        _add(self._branches, self.program.branch_counts(hits))

    def coverage(self) -> dict[str, dict[int, int]]:
        """Return how often each executable line has run, by file, over all calls; empty without `coverage=True`."""
        own = {file: lines for file, lines in self._hits.items() if not file.startswith(standard.PREFIX)}
        return {file: dict(sorted(lines.items())) for file, lines in own.items()}

    def branches(self) -> dict[str, dict[str, int]]:
        """Return how often each branch was taken, by file and `line:column outcome`; empty without `coverage=True`.

        The outcomes are `true` and `false` of an `if` or a conditional expression, and `case` and `default`.
        """
        return {file: dict(taken) for file, taken in self._branches.items() if not file.startswith(standard.PREFIX)}


def _odd(events: Sequence[Mapping[str, Any]], content: bytes) -> Sequence[int]:
    """Return the indexes of events that may have integers beyond 2^53; `content` is their JSON."""
    if isinstance(events, JsonEvents):
        return events.odd
    return range(len(events)) if LONG in content.translate(ALIKE) else ()


def _add(totals: dict[str, dict[_Key, int]], counts: Mapping[str, Mapping[_Key, int]]) -> None:
    for file, of_file in counts.items():
        total = totals.setdefault(file, {})
        for key, count in of_file.items():
            total[key] = total.get(key, 0) + count


def _of_event(error: TransformationError, event: Mapping[str, Any]) -> TransformationError:
    return TransformationError(
        error.message,
        name=error.name,
        at=error.at,
        function=error.function,
        source_line=error.source_line,
        kind=error.kind,
        event_id=str(event.get("messageId") or ""),
    )


def _logs(result: Result, limits: Limits) -> tuple[Log, ...]:
    """Return an event's log lines, within the limits even if the worker sends more."""
    lines: list[Log] = []
    size, left_out = 0, result.dropped
    for level, text in result.logs:
        if size >= limits.log_bytes:
            left_out += 1
            continue
        lines.append(Log(text[: limits.log_line + 1], level if level in _LEVELS else "info"))
        size += len(text) + 1
    if left_out:
        lines.append(Log(f"{left_out} more lines omitted: the limit for one event is reached", "warn"))
    return tuple(lines)


def _losses(found: Sequence[tuple[int, str, str, str]], events: Sequence[int]) -> tuple[tuple[CodeLoss, ...], ...]:
    """Return the losses of each of these events, which are given by their indexes; nothing if there are none at all."""
    if not found:
        return ()
    by_event = tuple(tuple(CodeLoss(*loss) for index, *loss in found if index == event) for event in events)
    return by_event if any(by_event) else ()


def _batch_outputs(
    returned: list[Any],
    outputs: list[Output],
    events: Sequence[Mapping[str, Any]],
    losses: Sequence[tuple[int, str, str, str]] = (),
) -> list[Output]:
    """Assign each event that a batch function returned to the input with its messageId.

    Without a match, it goes to the input at its index if that one has no messageId, else to the first.
    """
    place = {event.get("messageId"): index for index, event in reversed(list(enumerate(events)))}
    owners = [
        place.get(item.get("messageId")) if isinstance(item, dict) and _is_key(item.get("messageId")) else None
        for item in returned
    ]
    owned = set(owners)
    events_of: list[list[tuple[int, dict[str, Any]]]] = [[] for _ in events]
    errors: list[TransformationError | None] = [None] * len(events)
    for at, (item, owner) in enumerate(zip(returned, owners, strict=True)):
        if owner is None:
            owner = at if at < len(events) and at not in owned else 0
        if isinstance(item, dict):
            events_of[owner].append((at, item))
        else:
            errors[owner] = _of_event(TransformationError(shorten(str(item), 200), name="TypeError"), events[owner])
    return [
        Output(
            tuple(e for _, e in mine),
            error,
            output.logs,
            tuple(at for at, _ in mine),
            losses=_losses(losses, [at for at, _ in mine]),
        )
        for mine, error, output in zip(events_of, errors, outputs, strict=True)
    ]


def _is_key(value: Any) -> bool:
    return value is not None and not isinstance(value, (dict, list))
