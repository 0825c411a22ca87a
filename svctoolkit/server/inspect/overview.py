"""The current state of a data plane as JSON: sources, destinations with their counts, transformations, runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins

from svctoolkit.delivery import Answer, Recorder
from svctoolkit.destinations import definitions
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.inspect.arrivals import totals
from svctoolkit.server.inspect.lost_values import Losses, LostState
from svctoolkit.server.store.arrivals import runs, transformation_errors
from svctoolkit.server.store.record import time_of
from svctoolkit.server.store.records import fate_counts
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Destination, Source, Workspace, forward_key

_RUNS, _NAMED = 200, 12


class Reload(Struct, frozen=True):
    """The workspace file, when it was last reloaded, and why its current content is not in use (empty if it is)."""

    file: str = ""
    at: str = ""
    problem: str = ""


class ForwardState(Struct, frozen=True):
    """What forwards a source: its key among destinations, and its events since the start.

    `failed` includes dead ones. `problem` is why events are still `waiting` after an attempt; empty without any.
    """

    destination: str
    answer: str
    enabled: bool
    sent: int
    waiting: int
    failed: int
    problem: str


class SourceState(Struct, frozen=True):
    """A source and its write key, which is public; `forward` is null if its events are not forwarded."""

    key: str
    name: str
    write_key: str
    enabled: bool
    forward: ForwardState | None
    destinations: list[str]


class WorkspaceState(Struct, frozen=True):
    """The current workspace. `reload` says when its file was reloaded, or why that failed; `totals` are counts since
    the start."""

    workspace: str
    mode: str
    delivery: str
    now: str
    reload: Reload
    totals: dict[str, int]
    sources: list[SourceState]


class NextAnswer(Struct, frozen=True):
    """The recorder's next answer, and how many `times` it is used; null: from then on."""

    status: int
    delay: float
    close: bool | Literal["after"]
    truncate: bool
    times: int | None
    failed: list[int]
    headers: dict[str, str]
    when: dict[str, Any] | None


class SettingState(Struct, frozen=True):
    """A setting of a destination's configuration: its label in the form, and whether it has a value."""

    name: str
    label: str
    is_set: bool


class DestinationState(Struct, frozen=True):
    """A destination, the sources that send to it, the fates of its events, and the recorder's next answers.

    The type `FORWARD` is another data plane that gets the events of one source.
    """

    key: str
    id: str
    name: str
    type: str
    enabled: bool
    transformation: str | None
    sources: list[str]
    fates: dict[str, int]
    answers: list[NextAnswer] | None
    settings: list[SettingState]


class LastError(Struct, frozen=True):
    """The last event that a transformation failed for."""

    seq: int
    destination: str
    at: str
    reason: str


class TransformationState(Struct, frozen=True):
    """A transformation, the destinations that use it, how often it failed there, and what delivered events lost."""

    key: str
    name: str
    language: str | None
    file: str
    destinations: list[str]
    errors: int
    last: LastError | None
    losses: list[LostState]


class RunState(Struct, frozen=True):
    """A run: how many events it received, and when the first and the last of them arrived."""

    run: str
    received: int
    first: str
    last: str


def workspace_state(engine: Engine, reload: Reload) -> Json:
    """Return the workspace, its sources, and the result of the last reload of its file."""
    workspace, counts = engine.workspace, totals(engine)
    sources = [
        SourceState(
            source.key,
            source.name,
            source.write_key,
            source.enabled,
            _forward(engine, source, counts.fates),
            [connection.destination for connection in source.connections if connection.enabled],
        )
        for source in workspace.sources.values()
    ]
    state = WorkspaceState(
        workspace.name,
        workspace.delivery.mode,
        delivery_text(workspace),
        iso(engine.clock()),
        reload,
        {"received": counts.received, "rejected": counts.rejected, "repeated": counts.repeated},
        sources,
    )
    return _masked(engine, state)


def delivery_text(workspace: Workspace) -> str:
    """Describe where requests go: by the delivery mode, and those of sources with `forward` whatever it is."""
    text = workspace.delivery_mode.describe(workspace.delivery_setting())
    keys = [source.key for source in workspace.sources.values() if source.forward]
    names = ", ".join(keys[:_NAMED]) + (", ..." if len(keys) > _NAMED else "")
    return f"{text}; a real data plane also gets the events of {names}" if keys else text


def _forward(engine: Engine, source: Source, fates: Mapping[str, Mapping[str, int]]) -> ForwardState | None:
    if source.forward is None:
        return None
    key = forward_key(source.key)
    counts = fates.get(key, {})
    sent, waiting, failed, dead = (counts.get(status, 0) for status in ("delivered", "pending", "failed", "dead"))
    problem = engine.pending.reason(key) if waiting else ""
    return ForwardState(key, source.forward.answer, source.forward.enabled, sent, waiting, failed + dead, problem)


def destination_states(engine: Engine, pipeline: Pipeline, run: str | None) -> Json:
    """Return every destination, with the fates of its events in a run, or of all events since the start."""
    counts, transport = _fates(engine, run), pipeline.transport()
    recorder = transport if isinstance(transport, Recorder) else None
    states = [
        DestinationState(
            item.key,
            item.id,
            item.name,
            item.type,
            item.enabled,
            item.transformation,
            _senders(item, engine.workspace),
            dict(counts.get(item.key, {})),
            [_answer(answer) for answer in recorder.script_of(item.key, run or "")] if recorder else None,
            _settings(item),
        )
        for item in engine.workspace.destinations.values()
    ]
    for source in engine.workspace.sources.values():
        if source.forward is not None:
            key = forward_key(source.key)
            fates, answers = dict(counts.get(key, {})), pipeline.recorder.script_of(key, run or "")
            states.append(
                DestinationState(
                    key, key, f"forward of {source.name}", "FORWARD", source.forward.enabled, None, [source.key], fates,
                    [_answer(answer) for answer in answers], [],
                )
            )  # fmt: skip
    return _masked(engine, states)


def _settings(item: Destination) -> list[SettingState]:
    """Return the settings of its type, and additional ones that it has. Their values are never shown."""
    known = definitions.get(item.type).variables if item.type in definitions.names() else {}
    names = dict.fromkeys([*(definitions.variables(item.type) if known else ()), *item.config])
    labels = {name: variable.label for name, variable in known.items()}
    return [SettingState(name, labels.get(name, ""), name in item.config) for name in names]


def _senders(item: Destination, workspace: Workspace) -> list[str]:
    sources = workspace.sources.values()
    return [s.key for s in sources if any(c.destination == item.key and c.enabled for c in s.connections)]


def _fates(engine: Engine, run: str | None) -> dict[str, Counter[str]]:
    """Return the fates by destination. For all runs, use the running counts: a page asks every few seconds."""
    if run is None:
        settled = engine.journal.counts("fates")
    else:
        settled = {key: n for key, n in fate_counts(engine.store, run).items() if key[1] != "pending"}
    fates: dict[str, Counter[str]] = {}
    for (destination, status), number in settled.items():
        fates.setdefault(destination, Counter())[status] = number
    for destination, number in engine.pending.by_destination(run).items():
        fates.setdefault(destination, Counter())["pending"] = number
    return fates


def _answer(answer: Answer) -> NextAnswer:
    retry = {name: value for name, value in answer.headers.items() if name.lower() == "retry-after"}
    return NextAnswer(
        answer.status,
        answer.delay,
        answer.close,
        answer.truncate,
        answer.times,
        list(answer.failed),
        retry,
        None if answer.when is None else dict(answer.when),
    )


def transformation_states(engine: Engine, losses: Losses) -> Json:
    """Return every transformation, with its last error and the values that it has lost."""
    errors = transformation_errors(engine.store)
    states = []
    for item in engine.workspace.transformations.values():
        used = [d.key for d in engine.workspace.destinations.values() if d.transformation == item.key]
        failures = sorted((errors[key] for key in used if key in errors), key=lambda error: error.seq)
        last = failures[-1] if failures else None
        states.append(
            TransformationState(
                item.key,
                item.name,
                item.language,
                str(item.file or ""),
                used,
                sum(error.errors for error in failures),
                last and LastError(last.seq, last.destination, iso(time_of(last.at)), last.reason),
                losses.of(used),
            )
        )
    return _masked(engine, states)


def run_states(engine: Engine) -> Json:
    """Return the runs that received events, the newest first. Events without a run are those of the run ''."""
    states = [
        RunState(item.run, item.received, iso(time_of(item.first)), iso(time_of(item.last)))
        for item in runs(engine.store, _RUNS)
    ]
    return _masked(engine, states)


def _masked(engine: Engine, state: Struct | Sequence[Struct]) -> Json:
    return engine.masker().mask(to_builtins(state))
