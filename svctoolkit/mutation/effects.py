"""Whether a change of settings has an effect on an event: one of the suites, or one made up for the purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, structs

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.mutation.change import Change
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.pipeline.fates import check, pass_many
from svctoolkit.project.source_suites import drafts
from svctoolkit.project.suites import sample_events
from svctoolkit.runner import Scenario
from svctoolkit.runner.planes.time import sequence
from svctoolkit.runner.suite.webhooks import is_webhook, webhooks_of
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Workspace

#: When made-up events are processed: a minute after the sample events happened.
MADE_UP_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
_STAGES = Stages(user_transform=True, dest_transform=True, send_to_destination=False)


@dataclass(frozen=True, slots=True)
class Witness:
    """An event whose result differs with a change: what was sent (from a `source`, if any) to which destination.

    `scenario` is the first scenario that sends it; an empty string for an event that is made up. `before` and `after`
    are the outcomes as plain values: fate, stage, payloads.
    """

    source: str
    destination: str
    event: Mapping[str, Json]
    scenario: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Effect:
    """The scenarios whose events a change affects, and the first event that it affects, if there is one."""

    scenarios: frozenset[str]
    witness: Witness | None


@dataclass(frozen=True, slots=True)
class Sent:
    """An event from a source, and the time at which it is processed. `scenarios` send it."""

    source: str
    event: Mapping[str, Json]
    time: datetime
    scenarios: tuple[str, ...] = ()


class Effects:
    """Compares the outcome of events with and without a change. Nothing is sent; clock and ids are frozen."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = scenarios
        self._now = datetime.now(UTC)
        self._sent: dict[tuple[int, str], list[Sent]] = {}
        self._made_up: dict[int, list[Sent]] = {}
        self._before: dict[tuple[int, str, bool], list[Json]] = {}

    def of(self, change: Change) -> Effect:
        """Return the effect of a change on the events of the scenarios; without one, on made-up events."""
        names: set[str] = set()
        witness: Witness | None = None
        workspaces = list({id(s.suite.workspace): s.suite.workspace for s in self._scenarios}.values())
        for made_up in (False, True):
            for workspace in workspaces:
                changed = change.alteration.apply(workspace)
                if changed is workspace:
                    continue
                for key in _destinations(change, workspace):
                    for found in self._differing(workspace, changed, key, made_up):
                        witness = witness or found[1]
                        names.update(found[0].scenarios)
            if witness is not None:
                break
        return Effect(frozenset(names), witness)

    def _differing(
        self, workspace: Workspace, changed: Workspace, key: str, made_up: bool
    ) -> Iterator[tuple[Sent, Witness]]:
        """Yield the events whose outcome at a destination differs."""
        sent = self._made_up_events(workspace, key) if made_up else self._events(workspace, key)
        before = self._before.get((id(workspace), key, made_up))
        if before is None:
            before = self._before[id(workspace), key, made_up] = outcomes(workspace, key, sent)
        for each, old, new in zip(sent, before, outcomes(changed, key, sent), strict=True):
            if old != new:
                first = each.scenarios[0] if each.scenarios else ""
                yield each, Witness(each.source, key, each.event, first, old, new)

    def _events(self, workspace: Workspace, key: str) -> list[Sent]:
        """Return the events that scenarios send to a destination, each once for each source."""
        if (id(workspace), key) not in self._sent:
            by_text: dict[tuple[str, str, datetime], tuple[Mapping[str, Json], list[str]]] = {}
            for scenario in self._scenarios:
                if scenario.suite.workspace is workspace:
                    frozen = scenario.freeze.time if scenario.freeze is not None else ""
                    time = datetime.fromisoformat(frozen) if frozen else self._now
                    for source, event in events_of(scenario, key):
                        text = json.dumps(event, sort_keys=True, default=str)
                        by_text.setdefault((source, text, time), (event, []))[1].append(scenario.name)
            self._sent[id(workspace), key] = [
                Sent(source, event, time, tuple(names)) for (source, _, time), (event, names) in by_text.items()
            ]
        return self._sent[id(workspace), key]

    def _made_up_events(self, workspace: Workspace, key: str) -> list[Sent]:
        """Return sample events of each type, and variations with what the code and the settings react to."""
        if id(workspace) not in self._made_up:
            samples = sample_events()
            self._made_up[id(workspace)] = [
                *(Sent("", event, MADE_UP_AT) for event in samples.values()),
                *(
                    Sent(source, _resolved(draft.send, samples), MADE_UP_AT)
                    for source, found in _drafts(workspace, samples).items()
                    for draft in found
                ),
            ]
        connected = {
            source.key
            for source in workspace.sources.values()
            if any(connection.destination == key for connection in source.connections)
        }
        return [sent for sent in self._made_up[id(workspace)] if not sent.source or sent.source in connected]


def is_opaque(scenario: Scenario) -> bool:
    """Return whether a scenario does more than to pass its events: requests, calls, webhooks, overrides."""
    steps = (*scenario.setup, *scenario.steps, *scenario.teardown)
    return any(
        step.kind == "request"
        or step.pending is not None
        or step.spec.destinationConfig is not UNSET
        or not (step.spec.calls is step.spec.generate is UNSET)
        or webhooks_of(step)
        for step in steps
    )


def events_of(scenario: Scenario, destination: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the events that a scenario sends to a destination, each after the key of its source (or "")."""
    workspace = scenario.suite.workspace
    for step in (*scenario.setup, *scenario.steps, *scenario.teardown):
        if step.kind not in ("verify", "send") or destination not in scenario.destinations_of(step):
            continue
        written = step.spec.event if step.spec.event is not UNSET else step.spec.send
        source = workspace.source(step.spec.source).key if isinstance(step.spec.source, str) else ""
        for event in written if isinstance(written, list) else [written]:
            if isinstance(event, Mapping) and not is_webhook(event):
                yield source, event


def outcomes(workspace: Workspace, key: str, sent: Sequence[Sent]) -> list[Json]:
    """Return the outcome of each event at a destination: fate, stage, the event after user code, payloads."""
    try:
        pipeline = Pipeline(workspace)
        route = pipeline.route(workspace.destination(key))
        context = pipeline.context_of(route)
    except ToolkitError as error:  # a destination that is disabled needs no valid settings
        return [str(error) if workspace.destination(key).enabled else "disabled"] * len(sent)
    if not workspace.destination(key).enabled:
        return ["disabled"] * len(sent)
    found: list[Json] = []
    for name in dict.fromkeys(each.source for each in sent):
        source = workspace.sources.get(name)
        of_source = [each for each in sent if each.source == name]
        events = [{"messageId": "m-1", **each.event} for each in of_source]
        link = workspace.plan_link(source) if source is not None else None
        verdicts = [check(event, link, "made up") for event in events]
        sender = pipeline.sender(route)
        contexts = [structs.replace(context, clock=partial(_same, each.time), new_id=sequence()) for each in of_source]
        try:
            passed = pass_many(events, route, _STAGES, sender, contexts, source, verdicts)
        except ToolkitError as error:
            found += [str(error)] * len(events)
            continue
        found += [_plain(passage) for passage in passed]
    return found


def _same(time: datetime) -> datetime:
    return time


def _plain(passage: Any) -> Json:
    results = [[result.user_transformed_payload, result.dest_transformed_payload] for result in passage.results]
    plain: Json = msgspec.to_builtins([passage.fate.status, passage.fate.by, reveal(results)], enc_hook=str)
    return plain


def _destinations(change: Change, workspace: Workspace) -> list[str]:
    """Return the destinations that a change may affect."""
    keys = set()
    for section, _, key in (item.partition(".") for item in change.items):
        if section == "destinations":
            keys.add(key)
        elif section == "sources" and key in workspace.sources:
            keys |= {connection.destination for connection in workspace.sources[key].connections}
    return sorted(keys & workspace.destinations.keys())


def _drafts(workspace: Workspace, samples: Mapping[str, Mapping[str, Json]]) -> Mapping[str, Sequence[Any]]:
    try:
        return drafts(workspace, workspace.sources.values(), samples)
    except ToolkitError:  # code that cannot be loaded
        return {}


def _resolved(send: Mapping[str, Any], samples: Mapping[str, Mapping[str, Json]]) -> Mapping[str, Json]:
    """Return the event that a draft describes with `$use`, `$set` and `$unset`."""
    if "$use" not in send:
        return send
    event: dict[str, Any] = json.loads(json.dumps(samples[send["$use"]]))
    for path, value in send.get("$set", {}).items():
        _set(event, path.split("."), value)
    for path in send.get("$unset", ()):
        *parents, last = path.split(".")
        node: Any = event
        for step in parents:
            node = node.get(step, {})
        node.pop(last, None)
    return event


def _set(node: Any, path: Sequence[str], value: Json) -> None:
    for step in path[:-1]:
        node = node[int(step)] if isinstance(node, list) else node.setdefault(step, {})
    if isinstance(node, list):
        node[int(path[-1])] = value
    else:
        node[path[-1]] = value


def difference(before: Json, after: Json) -> Json:
    """Return the smallest expectation that `before` meets and `after` does not, in the format of a suite.

    >>> difference({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    {'b': 2, 'c': {'$absent': True}}
    """
    if isinstance(before, dict) and isinstance(after, dict):
        differing = [key for key in before if key not in after or before[key] != after[key]]
        expected: dict[str, Json] = {key: difference(before[key], after.get(key)) for key in differing}
        return {**expected, **{key: {"$absent": True} for key in after if key not in before}}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [difference(b, a) if b != a or not isinstance(b, dict) else {} for b, a in pairs]
    return before
