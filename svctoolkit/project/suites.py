"""Generate starter suites: one scenario per destination and supported event type, with sample events and snapshots."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal

from svctoolkit import events, yamlfile
from svctoolkit.destinations import CATALOGUE, Context, definitions
from svctoolkit.errors import ToolkitError
from svctoolkit.events import EVENT_TYPES
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.plans.generate import NoEvent, conforming
from svctoolkit.project.accepted import accepted_types
from svctoolkit.project.source_suites import ANYTHING, Draft
from svctoolkit.project.telling import telling_events
from svctoolkit.transformations import Output
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Destination, Source, Transformation, Workspace

FOLDER = "suites"
_TIME = "2026-01-01T12:00:00Z"
_DROPPED = "event dropped by user_transformation"
_NOW = datetime.fromisoformat(_TIME)
_HAPPENED = datetime(2026, 1, 1, 11, 59, tzinfo=UTC)


def sample_events() -> dict[str, dict[str, Json]]:
    """Return the sample events that the suites send, by type."""
    return {type: events.sample(type, at=_HAPPENED) for type in EVENT_TYPES}


def samples() -> dict[str, str]:
    """Return the files of the sample events, by their names in the project."""
    return {
        f"{FOLDER}/events/{type}.json": json.dumps(event, indent=2, ensure_ascii=False) + "\n"
        for type, event in sample_events().items()
    }


def suite(workspace: Workspace, destination: Destination) -> str:
    """Return the suite of a destination as YAML, or "" if it supports none of the sample events."""
    scenarios = list(_scenarios(workspace, destination))
    if not scenarios:
        return ""
    return _text(destination.name, scenarios)


def transformation_suite(workspace: Workspace, key: str) -> str:
    """Return the suite of a transformation without a destination as YAML; "" without code, or if it has one."""
    item = workspace.transformation(key)
    if not item.code or any(d.transformation == key for d in workspace.destinations.values()):
        return ""
    return _text(item.name, [_through(item, type) for type in EVENT_TYPES])


def tests_suite(workspace: Workspace, key: str, scenarios: list[dict[str, Json]]) -> str:
    """Return the suite of the tests that a project has for a transformation, as YAML."""
    return _text(f"{workspace.transformation(key).name} tests", scenarios)


def values_suite(workspace: Workspace, key: str) -> str:
    """Return the suite of the events that show what a transformation does with the values it mentions; "" if none."""
    destinations = [d for d in workspace.destinations.values() if d.enabled and d.transformation == key]
    known = {type for destination in destinations for type in accepted_types(destination)} or EVENT_TYPES
    item = workspace.transformation(key)
    found = telling_events(workspace, key, sample_events(), known)
    scenarios = [_expecting(f"{telling.name} through {key}", item, telling.send(), telling.output) for telling in found]
    return _text(f"{item.name} values", scenarios) if scenarios else ""


def _through(item: Transformation, type: str) -> dict[str, Any]:
    """Return a scenario for what a transformation does with a sample event today, also if it fails or drops it."""
    return _expecting(f"{type} through {item.key}", item, {"$use": type}, item.run(events.sample(type, at=_HAPPENED)))


def _expecting(name: str, item: Transformation, event: Mapping[str, Json], output: Output) -> dict[str, Any]:
    expect: dict[str, Json] = {"user_transform": {"$snapshot": True}}
    if output.error is not None:
        expect = {"error": str(output.error)}
    elif not output.events:
        expect = {"user_transform": []}
    return {"name": name, "transformation": item.key, "event": event, "expect": expect}


def plan_drafts(workspace: Workspace, source: Source) -> tuple[list[Draft], list[str]]:
    """Return an event for each rule of a source's tracking plan, and the rules for which none could be generated."""
    link = workspace.plan_link(source)
    plan = link.plan if link is not None else None
    if plan is None:
        return [], []
    drafts, without = list[Draft](), list[str]()
    for rule in plan.rules:
        try:
            event = conforming(plan, rule, Random(0))
        except NoEvent as error:
            without.append(f"{rule.title}: {error}")
            continue
        drafts.append(Draft(f"{rule.title} as planned", event, planned=True))
    return drafts, without


#: Headers of requests that differ between versions of svctoolkit, or with the lengths of secrets.
_TRANSPORT = ["headers.user-agent", "headers.content-length"]


def source_suite(
    workspace: Workspace, source: Source, drafts: Sequence[Draft], expectations: Sequence[dict[str, Json]] = ()
) -> str:
    """Return the suite of a source as YAML; without expectations, any result meets it. `drafts` may be of its plan."""
    wanted = expectations or [dict(ANYTHING)] * len(drafts)
    scenarios = [draft.scenario(source, expect) for draft, expect in zip(drafts, wanted, strict=True)]
    reached = {key for draft, expect in zip(drafts, expectations, strict=False) for key in draft.snapshots(expect)}
    requests = any(not is_warehouse(workspace.destinations[key].type) for key in reached)
    ignored: dict[str, Json] = {"ignore": _TRANSPORT} if requests else {}
    if any(draft.planned for draft in drafts):
        return _text(f"{source.name} as planned", scenarios, ignored)
    return _text(source.name, [*scenarios, _source_config(source)], ignored)


def _source_config(source: Source) -> dict[str, Any]:
    """Return a scenario for what SDKs of the source get: destinations in device mode and the settings for these."""
    request = {"method": "GET", "path": "/sourceConfig", "auth": {"source": source.key}}
    expect = {"status": 200, "body": {"source": {"destinations": {"$snapshot": "destinations"}}}}
    return {"name": "the configuration that SDKs get", "request": request, "expect": expect}


def _text(name: str, scenarios: list[dict[str, Any]], more: Mapping[str, Json] | None = None) -> str:
    events = [scenario.get("event") or scenario.get("send") or {} for scenario in scenarios]
    used = sorted({event["$use"] for event in events if isinstance(event, dict) and "$use" in event})
    fixtures = {"fixtures": {type: f"events/{type}.json" for type in used}} if used else {}
    head = {"version": 1, "suite": name, "workspace": "../workspace.yaml"}
    return yamlfile.dump(
        {**head, "freeze": {"time": _TIME, "ids": "sequence"}, **fixtures, **(more or {}), "scenarios": scenarios}
    )


def _scenarios(workspace: Workspace, destination: Destination) -> Iterator[dict[str, Any]]:
    mapped = destination.type in CATALOGUE and not definitions.is_recorded_only(destination.type)
    stages = ["user_transform"] if destination.transformation else []
    stages += ["dest_transform"] if mapped else []
    for type in accepted_types(destination) if stages else ():
        expect: dict[str, Json] = {stage: {"$snapshot": True} for stage in stages}
        if mapped:
            gives = _gives(workspace, destination, type)
            if not gives:
                continue
            if gives == "nothing":
                expect = {"user_transform": {"error": _DROPPED}}
        # the Test API refuses warehouses, streams and types without a mapping; their code can still be tested
        through = {"destination": destination.key} if mapped else {"transformation": destination.transformation}
        yield {"name": f"{type} to {destination.key}", **through, "event": {"$use": type}, "expect": expect}


def _gives(workspace: Workspace, destination: Destination, type: str) -> Literal["payloads", "nothing", ""]:
    """Return the sample's result: nothing if the user's code drops it; "" if it fails."""
    try:
        pipeline = Pipeline(workspace, context=Context(clock=lambda: _NOW))
        result = pipeline.test_destination(destination.key, events.sample(type, at=_HAPPENED), force=True)
    except ToolkitError:
        return ""
    if any(entry.payloads for entry in result.data):
        return "payloads"
    return "nothing" if any(entry.dropped for entry in result.data) else ""
