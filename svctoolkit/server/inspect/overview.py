"""What a data plane is made of right now, as JSON: sources, destinations with their counts, transformations, runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from svctoolkit.delivery import Answer, Recorder
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.inspect.arrivals import totals
from svctoolkit.server.inspect.exchange import time_of
from svctoolkit.server.store.arrivals import runs, transformation_errors
from svctoolkit.server.store.enrich import iso
from svctoolkit.server.store.records import fate_counts
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Destination, Workspace

_RUNS = 200


class Reload(NamedTuple):
    """The workspace file, when it was last read again, and why what it says now is not in use; empty where it is."""

    file: str = ""
    at: str = ""
    problem: str = ""


def workspace_state(engine: Engine, reload: Reload, forwards: Mapping[str, Json]) -> dict[str, Json]:
    """The workspace, its sources, and what came of the last change of its file."""
    workspace, counts = engine.workspace, totals(engine)
    state: dict[str, Json] = {
        "workspace": workspace.name,
        "mode": workspace.delivery.mode,
        "delivery": workspace.delivery_mode.describe(workspace.delivery_setting()),
        "now": iso(engine.clock()),
        "reload": reload._asdict(),
        "totals": {"received": counts.received, "rejected": counts.rejected, "repeated": counts.repeated},
        "sources": [
            {
                "key": source.key,
                "name": source.name,
                "enabled": source.enabled,
                "forward": forwards.get(source.key),
                "destinations": [connection.destination for connection in source.connections if connection.enabled],
            }
            for source in workspace.sources.values()
        ],
    }
    masked: dict[str, Json] = engine.masker().mask(state)
    return masked


def destination_states(engine: Engine, pipeline: Pipeline, run: str | None) -> list[dict[str, Json]]:
    """Every destination: who sends to it, what became of its events (of a run, or since the start), and what the
    recorder answers next, where that was said.
    """
    workspace, counts = engine.workspace, _fates(engine, run)
    transport = pipeline.transport()
    recorder = transport if isinstance(transport, Recorder) else None
    states = [
        {
            **_about(item, workspace),
            "fates": dict(counts.get(item.key, {})),
            "answers": [_answer(answer) for answer in recorder.script_of(item.key, run or "")] if recorder else None,
        }
        for item in workspace.destinations.values()
    ]
    masked: list[dict[str, Json]] = engine.masker().mask(states)
    return masked


def _about(item: Destination, workspace: Workspace) -> dict[str, Any]:
    sources = workspace.sources.values()
    connected = [s.key for s in sources if any(c.destination == item.key and c.enabled for c in s.connections)]
    members = {name: getattr(item, name) for name in ("key", "id", "name", "type", "enabled", "transformation")}
    return {**members, "sources": connected}


def _fates(engine: Engine, run: str | None) -> dict[str, Counter[str]]:
    """Counted along the way where all runs are meant: a page asks every few seconds."""
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


def _answer(answer: Answer) -> dict[str, Json]:
    members: dict[str, Json] = {name: getattr(answer, name) for name in ("status", "delay", "close", "truncate")}
    retry = {name: value for name, value in answer.headers.items() if name.lower() == "retry-after"}
    return {**members, "times": answer.times, "failed": list(answer.failed), "headers": retry}


def transformation_states(engine: Engine) -> list[dict[str, Json]]:
    """Every transformation, the destinations that use it, how often it failed there, and the last time that it did."""
    errors = transformation_errors(engine.store)
    states = []
    for item in engine.workspace.transformations.values():
        used = [d.key for d in engine.workspace.destinations.values() if d.transformation == item.key]
        failures = sorted((errors[key] for key in used if key in errors), key=lambda error: error.seq)
        last = failures[-1] if failures else None
        states.append(
            {
                "key": item.key,
                "name": item.name,
                "language": item.language,
                "file": str(item.file or ""),
                "destinations": used,
                "errors": sum(error.errors for error in failures),
                "last": last
                and {"seq": last.seq, "destination": last.destination, "at": _time(last.at), "reason": last.reason},
            }
        )
    masked: list[dict[str, Json]] = engine.masker().mask(states)
    return masked


def run_states(engine: Engine) -> list[dict[str, Json]]:
    """The runs that events came for, the newest first. Events without a run are those of the run with an empty name."""
    return [
        {"run": engine.masker().mask(item.run), "received": item.received, "first": _time(item.first),
         "last": _time(item.last)}
        for item in runs(engine.store, _RUNS)
    ]  # fmt: skip


def _time(seconds: float) -> str:
    return iso(time_of(seconds))
