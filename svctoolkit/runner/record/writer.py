"""Record received events as a suite: one scenario for each shape of event, which expects its results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from svctoolkit import yamlfile
from svctoolkit.destinations import definitions
from svctoolkit.errors import ConfigError, Problem
from svctoolkit.events import too_deep
from svctoolkit.expect.expectation import is_reserved
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.pipeline import Stages
from svctoolkit.results import NO_TRANSFORMATION
from svctoolkit.runner.attempts.attempt import attempt
from svctoolkit.runner.planes.pool import open_planes
from svctoolkit.runner.record.personal import Pseudonyms
from svctoolkit.runner.suite.fixtures import json_lines
from svctoolkit.runner.suite.format import WORKSPACE_KEYS
from svctoolkit.runner.suite.load import suite_of
from svctoolkit.runner.suite.results import STAGES
from svctoolkit.runner.suite.scenarios import slug
from svctoolkit.secrets import NamedSecrets, Secret, reveal
from svctoolkit.workspace import Workspace, config_names

_LONGEST_TITLE = 100  # characters
_MOST_LEVELS = 80  # of an event: YAML is read up to 100, and expectations are around it
_TIME = "2026-01-01T12:00:00Z"
_UNPACK = {".gz": "gzip -dk", ".zst": "zstd -dk"}
#: Fields that SDKs and the data plane add to every event: they vary, and are generated again when a scenario runs.
_GENERATED = (
    "messageId",
    "originalTimestamp",
    "sentAt",
    "receivedAt",
    "timestamp",
    "rudderId",
    "request_ip",
    "channel",
)
#: An expectation that any result meets.
_ANYTHING: Mapping[str, Any] = {"response": {"status": {"$type": "integer"}}, "failed": "any"}
_NOT_REFUSED: Mapping[str, Any] = {"expect": {"status": 200}}
_GENERATED_CONTEXT = ("sessionId", "sessionStart", "ip")


class ReceivedEvent(NamedTuple):
    """An event and the key of its source; an empty one if the source is unknown."""

    event: Mapping[str, Any]
    source: str = ""


def read_events(path: Path, bad: list[Problem]) -> list[ReceivedEvent]:
    """Return the events in an NDJSON file: one per line, or a batch, or records of `/inspect/events`.

    Other lines are skipped and listed in `bad`. Raises `ConfigError` if the file has no events, is compressed, or is
    truncated: its last line has no end and is not JSON.
    """
    events_read: list[ReceivedEvent] = []
    name = yamlfile.display_name(path)
    if path.suffix in _UNPACK:
        raise ConfigError(f"the file is compressed; unpack it first: {_UNPACK[path.suffix]} {path}", where=name)
    for number, value in json_lines(path):
        if isinstance(value, Problem):
            bad.append(value)
            continue
        where = f"{name}:{number}:1"
        events = events_in(value)
        if not events:
            message = "not an event: expected an event, {batch: [...]} or {source, event: {...}}"
            bad.append(Problem(message, where))
        events_read += recordable(events, bad, where)
    if not events_read:
        raise ConfigError(bad or [Problem("the file contains no events", name)])
    return events_read


def events_in(value: Json) -> list[ReceivedEvent]:
    """Return the events of an event, a batch, or a record of `/inspect/events`; an empty list for anything else."""
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("batch"), list):
        return [ReceivedEvent(item) for item in value["batch"] if isinstance(item, dict)]
    if isinstance(value.get("event"), dict):
        return [ReceivedEvent(value["event"], str(value.get("source") or ""))]
    return [ReceivedEvent(value)] if "type" in value else []


def recordable(events: Iterable[ReceivedEvent], bad: list[Problem], where: str) -> list[ReceivedEvent]:
    """Return the events that a suite can hold; the others are added to `bad`."""
    kept = []
    for received in events:
        if too_deep(received.event, _MOST_LEVELS):
            bad.append(Problem(f"nested too deeply; the maximum in a suite is {_MOST_LEVELS} levels", where))
        elif storable_all(received.event) == received.event:
            kept.append(received)
        else:
            bad.append(Problem("a text contains half of a surrogate pair, which YAML cannot represent", where))
    return kept


def record_suite(
    events: Iterable[ReceivedEvent], workspace: Workspace, *, source: str = "", personal: bool = False
) -> dict[str, Json]:
    """Return a suite (its data, without the workspace) with one scenario for each shape of event.

    Personal data is replaced unless `personal`. Fields that SDKs generate are left out, and the suite freezes clock and
    ids, so every run gives the same results. Each scenario expects the current results. `source` is used for events
    without a known source. Raises `UnknownName` for a source that the workspace does not have.
    """
    pseudonyms = Pseudonyms()
    scenarios: dict[str, dict[str, Any]] = {}
    ids: set[str] = set()
    for received in events:
        sender = workspace.source(received.source or source or next(iter(workspace.sources), "")).key
        event = _without_generated(received.event)
        # One scenario per shape: a thousand equal page views would test the same thing a thousand times.
        shape = f"{sender} {event.get('type')} {event.get('event') or event.get('name')} {_shape(event)}"
        if shape not in scenarios:
            title = unique_name(_title(event), ids)
            # Replaced before it runs, so that the expected results contain the replacements, too.
            sent = event if personal else pseudonyms.replace(event)
            scenarios[shape] = {"name": _escape(title), "source": sender, "send": _escape(sent)}
    head = {"version": 1, "freeze": {"time": _TIME, "ids": "sequence"}}
    return {**head, "scenarios": [_with_expectation(head, received, workspace) for received in scenarios.values()]}


def unique_name(name: str, ids: set[str]) -> str:
    """Return the name, with a number if necessary, so that its scenario gets a unique id, which is added to `ids`."""
    number, unique = 1, name
    while (id := slug(unique)) in ids:
        number += 1
        unique = f"{name} {number}"
    ids.add(id)
    return unique


def _title(event: Mapping[str, Json]) -> str:
    """Return type and name of an event, which an event may lack or have in any size."""
    title = " ".join(str(p) for p in (event.get("type"), event.get("event") or event.get("name")) if p).strip()
    return title[:_LONGEST_TITLE] or "event"


def verify_suite(
    workspace: Workspace,
    destination: str,
    event: Mapping[str, Json],
    *,
    stages: Stages | None = None,
    config: Mapping[str, Json] | None = None,
    force: bool = False,
    expected: bool = True,
) -> dict[str, Json]:
    """Return a suite (its data, without the workspace) with one scenario: a Test API event for one destination.

    Clock and ids are frozen, and the scenario expects the current results; with `expected` false, only that the request
    succeeds. A `Secret` in `config` is written as the environment variable of its `origin`. Raises `UnknownName`.
    """
    target = workspace.destination(destination)
    scenario: dict[str, Any] = {"name": _escape(f"{_title(event)} to {target.key}"), "destination": target.key}
    scenario["event"] = _escape(event)
    chosen, default = asdict(stages or Stages()), asdict(Stages())
    if chosen != default:
        scenario["stages"] = {stage: on for stage, on in chosen.items() if on != default[stage]}
    if force:
        scenario["force"] = True
    head = {"version": 1, "freeze": {"time": _TIME, "ids": "sequence"}}
    written = {"destinationConfig": _references(config)} if config else {}
    if not expected:
        return {**head, "scenarios": [{**scenario, **written, **_NOT_REFUSED}]}
    # This run needs the real secrets; what is written has references instead.
    values = {"destinationConfig": _escape(reveal(config))} if config else {}
    results = _run_alone({**head, "scenarios": [{**scenario, **values, **_NOT_REFUSED}]}, workspace)
    whole = {**target.config, **(config or {})}
    secrets = NamedSecrets([*workspace.secret_names(), *config_names(target.key, target.type, whole)])
    expect = _escape(_expected_answer(results, secrets))
    return {**head, "scenarios": [{**scenario, **written, "expect": expect}]}


def _references(value: Any) -> Any:
    """Return a configuration in the format of a suite."""
    if isinstance(value, Secret):
        return value.origin.replace("$(env:", "$(secret:")
    if isinstance(value, Mapping):
        return {key: _references(inner) for key, inner in value.items()}
    return [_references(inner) for inner in value] if isinstance(value, list) else _escape(value)


def _expected_answer(results: Mapping[str, Any], secrets: NamedSecrets) -> dict[str, Any]:
    """Return the expectation of a response like this one."""
    if results["status"] != 200:
        return {"status": results["status"], "error": _expectation(results["error"], secrets)}
    if "error" in results:
        return {"error": _expectation(results["error"], secrets)}
    without = {"error": NO_TRANSFORMATION}
    stages = {name: results[name] for name in STAGES if results.get(name, without) != without}
    return {name: _expectation(_without_empty(value), secrets) for name, value in stages.items()}


def _without_empty(value: Any) -> Any:
    """Remove members that are empty objects: objects match as subsets, so these assert nothing."""
    if isinstance(value, dict):
        members = ((key, _without_empty(inner)) for key, inner in value.items())
        return {key: inner for key, inner in members if inner != {}}
    return [_without_empty(inner) for inner in value] if isinstance(value, list) else value


def _without_generated(event: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in event.items() if key not in _GENERATED}
    if isinstance(own.get("context"), dict):
        own["context"] = {k: v for k, v in own["context"].items() if k not in _GENERATED_CONTEXT}
    return own


def _shape(value: Any) -> str:
    """Return the structure of an event without its values: events of one shape test the same things."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_shape(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + "|".join(sorted({_shape(one) for one in value})) + "]"
    return type(value).__name__


def _with_expectation(head: dict[str, Any], scenario: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    """Return the scenario with its current results as the expectation."""
    suite = {**head, "scenarios": [{**scenario, "expect": _ANYTHING}]}
    results = _escape(_run_alone(suite, workspace))
    secrets = NamedSecrets(workspace.secret_names())
    if results["response"]["status"] != 200:
        return {**scenario, "expect": {"response": {k: results["response"][k] for k in ("status", "body")}}}
    delivered = results["delivered"]
    if isinstance(delivered, dict):
        requests_by_key = {key: [_request(r, secrets) for r in requests] for key, requests in delivered.items()}
        noisy = any(not requests and _gets_none(workspace, key) for key, requests in delivered.items())
        reached = {key: requests for key, requests in requests_by_key.items() if requests}
        expect: dict[str, Any] = {"delivered": {"$only": reached} if noisy and reached else requests_by_key}
    else:
        expect = {"delivered": [_request(r, secrets) for r in delivered]}
    for name, members in (("dropped", ("destination", "by", "reason")), ("failed", ("destination", "by", "error"))):
        records = [r for r in _records(results[name]) if name == "failed" or not _is_noise(r, workspace)]
        if len(records) < len(_records(results[name])):
            by_key = {r["destination"]: [x for x in records if x["destination"] == r["destination"]] for r in records}
            if by_key:
                expect[name] = {
                    key: [{member: _expectation(r[member], secrets) for member in members} for r in of_key]
                    for key, of_key in by_key.items()
                }
        elif records:  # a recorded failure must fail again, until it is fixed and removed here
            expect[name] = [{member: _expectation(record[member], secrets) for member in members} for record in records]
    return {**scenario, "expect": expect}


def _gets_none(workspace: Workspace, key: str) -> bool:
    """Return whether a destination gets no event at all: it is disabled, or only a client's SDK sends to it."""
    destination = workspace.destinations[key]
    definition = definitions.known(destination.type)
    modes = definition.modes if definition else []
    return not destination.enabled or (bool(modes) and not {"cloud", "hybrid"} & set(modes))


def _is_noise(record: Mapping[str, Any], workspace: Workspace) -> bool:
    """Return whether a dropped event says nothing about the event: its destination gets none."""
    return record["by"] == "routing" and _gets_none(workspace, record["destination"])


def _records(results: Any) -> list[dict[str, Any]]:
    """Return the records of all destinations, if the source has several."""
    return [r for records in results.values() for r in records] if isinstance(results, dict) else results


def _run_alone(suite: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    """Run the only scenario of a suite and return its results."""
    with open_planes() as planes:
        scenario = suite_of(suite, workspace).scenarios[0]
        outcome = attempt(scenario, planes)
    if outcome.status == "error":
        raise ConfigError(f"{scenario.title}: {outcome.reason}")
    return outcome.steps[0].results


def _request(request: Mapping[str, Any], secrets: NamedSecrets) -> dict[str, Any]:
    """Return the expectation of a request. Values that contain a secret are only expected to exist."""
    return {name: _expectation(request[name], secrets, name) for name in ("method", "url", "body")}


def _expectation(value: Any, secrets: NamedSecrets, name: str = "") -> Any:
    """Return the expectation of a value, which is that of the member `name`; without members whose names are secret."""
    if isinstance(value, dict):
        value = {key: inner for key, inner in value.items() if secrets.text(key) == key}
        # A payload with a key such as `$set` would be read as a matcher.
        if any(key[:1] == "$" and is_reserved(key[1:]) for key in value):
            return {
                "$literal": {key: inner for key, inner in value.items() if secrets.mask({key: inner}) == {key: inner}}
            }
        return {key: _expectation(inner, secrets, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expectation(inner, secrets) for inner in value]
    # A recorded suite must not contain a secret, and must pass on a machine with another value.
    return {"$type": "string"} if secrets.mask({name: value}) != {name: value} else value


def _escape(value: Any) -> Any:
    """Escape `$(name)`, which a suite would read as a variable."""
    if isinstance(value, dict):
        return {key: _escape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_escape(inner) for inner in value]
    return value.replace("$(", "$$(") if isinstance(value, str) else value


def inline(workspace: Workspace) -> dict[str, Json]:
    """Return the workspace part of a suite without a workspace file.

    Raises `InvalidWorkspace` like `Workspace.dumps`.
    """
    data = yamlfile.load(workspace.dumps()).data
    return {key: data[key] for key in WORKSPACE_KEYS if key in data}


def dump(suite: Mapping[str, Json], workspace_file: str = "") -> str:
    """Return the suite as YAML.

    `workspace_file` is relative to the future suite; without it, the suite contains its workspace.
    """
    head = {"version": 1, **({"workspace": workspace_file} if workspace_file else {})}
    return yamlfile.dump({**head, **suite})
