"""Checks of a suite and its scenarios that a schema cannot express."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET

from svctoolkit.delivery.recorder.condition import condition_problems
from svctoolkit.destinations import definitions
from svctoolkit.errors import Problem, UnknownName, did_you_mean
from svctoolkit.events import sample
from svctoolkit.expect import compare
from svctoolkit.expect.expectation import problems
from svctoolkit.expect.matchers import MISSING
from svctoolkit.json_types import Json
from svctoolkit.runner.steps import STEPS
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.calls import call_problems
from svctoolkit.runner.suite.claims import (
    ANY,
    claims_nothing,
    hollow_claims,
    ignored_expectations,
    invariant_problems,
    unreachable_scripts,
)
from svctoolkit.runner.suite.common import shared_answers
from svctoolkit.runner.suite.deletions import delete_problems, deleted_at
from svctoolkit.runner.suite.faults import fault_problems
from svctoolkit.runner.suite.model import Place, Scenario, Step, Suite, as_list
from svctoolkit.runner.suite.simulated import given_problems, held_problems
from svctoolkit.runner.suite.slips import event_slips, silent_scripts
from svctoolkit.runner.suite.webhooks import is_webhook, webhook_problems
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import Document

STAGES = ("user_transform", "dest_transform", "send_to_destination")
ENDS = ("dropped", "failed", "attempts")
SIMULATED = ("holds", "lost")
CODE = ("fetched", "logs", "losses")
#: The results that an expectation may name, by kind of step.
_EXPECTED: Mapping[str, tuple[str, ...]] = {
    "verify": ("status", "headers", "body", "error", *STAGES, *SIMULATED, *CODE),
    "request": ("status", "headers", "body", "error", *STAGES, "delivered", *ENDS, *SIMULATED, *CODE),
    "transformation": ("user_transform", "error", *CODE),
    "python": ("result",),
    "delete": ("deleted", *SIMULATED),
    "wait": (),
    "send": (
        *("response", "received", "user_transform", "dest_transform", "delivered", *ENDS, "warehouse", "violations"),
        *(*SIMULATED, *CODE),
    ),
}
_DOES = {
    "verify": "verifies with the Test API",
    "request": "sends a raw request",
    "transformation": "tests a transformation alone",
    "send": "sends through the data plane",
    "python": "calls a Python step",
    "delete": "deletes users",
    "wait": "only waits",
}
#: Results that are written by destination if the source has several.
BY_DESTINATION = (*STAGES, "delivered", "dropped", "failed", "attempts", *CODE)
#: What setup and teardown may expect; everything else must succeed.
_OF_HOOKS = ("response", "status", "error", "failed")
#: Tags that would clash with pytest's own marks.
_TAKEN = {"skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

Places = Iterator[tuple[Place, str]]


def suite_problems(suite: Suite) -> Iterator[Problem]:
    """Yield every problem in the suite-wide settings of a suite."""
    data, document = suite.document.data, suite.document
    for message in tag_problems(data.get("tags", [])):
        yield document.problem(["tags"], message)
    for path, message in [
        *_recorder(suite, data.get("recorder", {})),
        *given_problems(suite.workspace, data.get("given", {})),
        *_freeze(data.get("freeze", {})),
        *invariant_problems(data, suite.workspace.destinations),
    ]:
        yield document.problem(path, message, key=True)
    own = data.get("recorder", {})
    for key in shared_answers(suite.common, suite.workspace, {}):
        for _, message in _recorder(suite, {key: None}):
            yield document.problem(suite.common.place("recorder", key, own), message, key=True)
    for place, shared in suite.common.sections():
        for path, message in invariant_problems(shared):
            yield document.problem([*place, *path], message, key=True)
    for kind in ("destination", "source"):
        if name := data.get("defaults", {}).get(kind):
            try:
                getattr(suite.workspace, kind)(name)
            except UnknownName as error:
                yield document.problem(["defaults", kind], str(error))


def scenario_problems(scenario: Scenario, spec: _format.Scenario) -> Iterator[Problem]:
    """Yield every problem of one scenario."""
    document, problems_at = scenario.suite.document, list[tuple[Place, str]]()
    if spec.skip and spec.xfail:
        problems_at.append((("xfail",), "a scenario can have `skip` or `xfail`, not both"))
    problems_at += _xfail(scenario)
    problems_at += [(("tags",), message) for message in tag_problems(spec.tags)]
    problems_at += _recorder(scenario.suite, {key: scenario.recorder[key] for key in scenario.scripted})
    problems_at += fault_problems(scenario)
    problems_at += given_problems(scenario.suite.workspace, spec.given)
    if spec.freeze is not UNSET:
        problems_at += _freeze({"time": spec.freeze.time})
    problems_at += _live(scenario)
    for path, message in problems_at:
        yield document.problem([*scenario.written, *path], message, key=True)
    for when, steps in (("setup", scenario.setup), ("teardown", scenario.teardown)):
        for step in steps:
            found = [*_hook_problems(step, when), *_shape(step), *_names(scenario, step)]
            for path, message in [*found, *webhook_problems(scenario, step)]:
                yield document.problem([*step.place, *path], message, key=True)
    for step in scenario.steps:
        held = held_problems(step.expect, scenario.suite.workspace, pending=step.pending is not None)
        found = [*_shape(step), *_names(scenario, step), *_expectation(scenario, step), *held]
        found += [*event_slips(scenario, step), *webhook_problems(scenario, step)]
        for path, message in found:
            yield document.problem([*step.place, *path], message, key=True)
    raw = document.data["scenarios"][scenario.written[1]] if scenario.written[0] == "scenarios" else {}
    for path, message in invariant_problems(raw, scenario.suite.workspace.destinations):
        yield document.problem([*scenario.written, *path], message, key=True)
    with suppress(UnknownName):  # reported above, with its position
        yield from _claim_problems(scenario)
        for path, message in [
            *unreachable_scripts(scenario),
            *silent_scripts(scenario),
        ]:
            yield document.problem([*scenario.written, *path], message, key=True)


def _claim_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the expectations of a scenario that would prove nothing."""
    document = scenario.suite.document
    if any(step.expect for step in scenario.steps) and (text := claims_nothing(scenario)):
        yield document.problem([*scenario.steps[-1].place, "expect"], text, key=True)
    for step in scenario.steps:
        written = _raw_expectation(step, document)
        for path, message in [*hollow_claims(scenario, step), *ignored_expectations(scenario, written)]:
            place = path if path[:1] in _OF_STEP else ("expect", *path)
            yield document.problem([*step.place, *place], message, key=True)


_OF_STEP = ((), ("expect",), ("source",))


def _raw_expectation(step: Step, document: Document) -> Any:
    """Return a step's expectation as written in the file, with references to fixtures not yet replaced."""
    value: Any = document.data
    part: Any  # a key, or the number of an element
    for part in (*step.place, "expect"):
        if isinstance(value, Mapping) and part not in value:
            return None
        value = value[part]
    return value


def tag_problems(tags: Sequence[str]) -> list[str]:
    """Return a message for each tag that pytest uses for something else."""
    return [f"{tag!r} is a built-in mark of pytest: use another tag" for tag in tags if tag in _TAKEN]


def _shape(step: Step) -> Places:
    """Check that a step does exactly one thing, and has what it needs for that."""
    spec = step.spec
    does = [
        name
        for name in ("request", "python", "delete", "send", "calls", "generate", "event")
        if getattr(spec, name) is not UNSET
    ]
    targets = [name for name in ("destination", "source", "transformation") if getattr(spec, name) is not UNSET]
    if step.kind == "request":
        yield from _request(spec)
    elif len(does) > 1:
        yield (does[1],), f"a scenario can only do one thing; this one has {' and '.join(does)}"
    elif step.kind == "python":
        yield from _python(spec, targets)
    elif spec.arguments is not UNSET:
        yield ("arguments",), "`arguments` are those of a Python step: add `python: NAME`"
    elif step.kind == "send":
        yield from _send(spec)
    elif step.kind == "delete":
        yield from delete_problems(spec)
    elif step.kind == "wait":
        if targets:
            yield (targets[0],), f"a step that only waits does not use {targets[0]!r}: remove it, or add an `event`"
    elif len(targets) != 1:
        has = f"this one has {' and '.join(targets)}" if targets else "none of them is set"
        yield (), f"a scenario needs one of destination, source, transformation, send, calls, request and python; {has}"
    elif spec.event is UNSET:
        yield (), "a scenario needs an `event` as its input"
    else:
        yield from _event(step, targets[0])


def _event(step: Step, target: str) -> Places:
    spec = step.spec
    events = spec.event if target == "transformation" and isinstance(spec.event, list) else [spec.event]
    if not events:
        yield ("event",), "'event' must not be empty"
    if not all(isinstance(event, dict) for event in events):
        yield ("event",), "must be an object" + (", or a list of them" if target == "transformation" else "")
    if target != "destination" and spec.destinationConfig is not UNSET:
        yield ("destinationConfig",), "`destinationConfig` requires a `destination`"
    if target == "transformation":
        for key in ("stages", "force"):
            if getattr(spec, key) not in (UNSET, False):
                yield (key,), f"{key!r} cannot be combined with `transformation`"


def _send(spec: _format.Step) -> Places:
    key = next(name for name in ("calls", "generate", "send") if getattr(spec, name) is not UNSET)
    if spec.generate is not UNSET and isinstance(spec.generate.like, str):
        try:
            sample(spec.generate.like)
        except UnknownName as error:
            yield ("generate", "like"), str(error)
    if spec.source is UNSET:
        yield (), "`source` is missing: add it, or set one for all scenarios with `defaults: {source: ...}`"
    if spec.transformation is not UNSET:
        yield ("transformation",), f"a transformation is tested with an `event`, not with {key!r}"
    if spec.destinationConfig is not UNSET and spec.destination is UNSET:
        yield ("destinationConfig",), "`destinationConfig` requires a `destination`: add it"
    for other in ("stages", "force"):
        if getattr(spec, other) not in (UNSET, False):
            yield (other,), f"{other!r} only applies to the Test API; events that are sent go through all stages"
    if getattr(spec, key) == []:
        yield (key,), f"{key!r} must not be empty"
    if key == "send":
        events = spec.send if isinstance(spec.send, list) else [spec.send]
        if not all(isinstance(event, dict) for event in events):
            yield ("send",), "must be an event (an object), or a list of events"
        elif any(map(is_webhook, events)) and not all(map(is_webhook, events)):
            yield ("send",), "must be events or webhooks, not both: send them in two steps"
    if spec.calls is UNSET:
        return
    for index, call in enumerate(spec.calls):
        for path, text in call_problems(call):
            yield ("calls", index, *path), text


def _request(spec: _format.Step) -> Places:
    request = spec.request
    assert request is not UNSET  # noqa: S101 - the caller has checked
    for key in ("event", "send", "calls", "generate", "stages", "destinationConfig", "force"):
        if getattr(spec, key) not in (UNSET, False):
            yield (key,), f"a request is sent unchanged: put {key!r} in its path or its `json`"
    if request.json is not UNSET and request.body is not UNSET:
        yield ("request", "body"), "a request can have `json` or `body`, not both"
    if not request.path.startswith("/"):
        yield ("request", "path"), "a path must start with /"
    if not request.method.isalpha() or not request.method.isascii():
        yield ("request", "method"), f"{request.method!r} is not a valid HTTP method"
    if isinstance(request.auth, dict) and set(request.auth) not in ({"email", "token"}, {"source"}):
        yield ("request", "auth"), "must be true, false, {email, token} or {source}"
    for name, value in request.headers.items():
        if not _TOKEN.fullmatch(name) or not _HEADER.fullmatch(value):
            yield (
                ("request", "headers", name),
                "invalid header: the name must not contain spaces, and the value must be one line",
            )


def _python(spec: _format.Step, targets: Sequence[str]) -> Places:
    if targets:
        yield (targets[0],), f"a Python step has no {targets[0]!r}: pass it in `arguments`"
    name = str(spec.python)
    if name not in STEPS:
        hint = did_you_mean(name, STEPS.names()) or " Register it with an entry point in the group `svctoolkit.steps`."
        yield ("python",), f"unknown Python step {name!r}.{hint}"


def _names(scenario: Scenario, step: Step) -> Places:
    spec, workspace = step.spec, scenario.suite.workspace
    try:
        if spec.destination is not UNSET:
            workspace.destination(spec.destination)
        if spec.transformation is not UNSET:
            workspace.transformation(spec.transformation)
        for name in deleted_at(spec) or () if step.kind == "delete" else ():
            workspace.destination(name)
        if spec.source is not UNSET:
            connected = [d.key for d in workspace.destinations_of(workspace.source(spec.source))]
            if spec.destination is not UNSET and workspace.destination(spec.destination).key not in connected:
                hint = f" It has {', '.join(connected)}." if connected else ""
                yield ("destination",), f"the source is not connected to {spec.destination!r}.{hint}"
            elif spec.only is not UNSET:
                yield from _only_problems(scenario, step, connected)
            elif spec.destination is not UNSET:
                yield from _setting_problems(spec, workspace.destination(spec.destination).type)
            else:
                yield from _key_problems(step, connected, workspace)
    except UnknownName as error:
        yield (error.kind,), f"{error} To test an unknown id, use `request`."


def _only_problems(scenario: Scenario, step: Step, connected: list[str]) -> Places:
    """Check `only`, then the expectations as if the source had no other destinations."""
    if step.kind != "send" or step.spec.destination is not UNSET:
        text = "goes with events that are sent" if step.kind != "send" else "and `destination` exclude each other"
        yield ("only",), f"`only` {text}: remove it"
        return
    reached = scenario.only(step) or frozenset()
    for key in sorted(reached - {*connected}):
        yield ("only",), f"the source is not connected to {key!r}. It has {', '.join(connected)}."
    yield from _key_problems(step, [key for key in connected if key in reached], scenario.suite.workspace)


def _setting_problems(spec: _format.Step, kind: str) -> Places:
    """Yield settings that the type does not have; the Test API rejects them when an event is verified."""
    config = {} if spec.destinationConfig is UNSET else spec.destinationConfig
    for key in definitions.unknown_variables(kind, config) if config and kind in definitions.names() else ():
        near = did_you_mean(key, definitions.variables(kind))
        yield ("destinationConfig", key), f"{kind} has no configuration variable {key!r}.{near}"


def _key_problems(step: Step, connected: list[str], workspace: Workspace) -> Places:
    """Check that expectations are written by destination if the source has more than one."""
    for name in BY_DESTINATION:
        expected = step.expect.get(name)
        if len(connected) == 1 and isinstance(expected, dict) and _is_keyed(expected, workspace.destinations):
            yield from _unconnected(name, expected, connected)
        if len(connected) < 2 or expected is None or (isinstance(expected, dict) and compare.is_matchers(expected)):
            continue
        if (isinstance(expected, list) and step.kind == "send") or (name == "failed" and expected == ANY):
            continue  # the records of all destinations, in their order
        if not isinstance(expected, dict):
            yield ("expect", name), f"the source has several destinations: write {{{connected[0]}: ...}}"
            continue
        if name in ("dropped", "failed") and not any(key in connected for key in expected):
            continue  # a single record, at whichever destination
        yield from _unconnected(name, expected, connected)


def _is_keyed(expected: Mapping[str, Json], keys: Collection[str]) -> bool:
    return bool(expected) and all(key in keys for key in expected)


def _unconnected(name: str, expected: Mapping[str, Any], connected: list[str]) -> Places:
    for key in expected:
        if key not in connected:
            hint = did_you_mean(key, connected) or f" It has {', '.join(connected)}."
            yield ("expect", name, key), f"the source is not connected to a destination {key!r}.{hint}"


def _expectation(scenario: Scenario, step: Step) -> Places:
    if step.kind == "wait" and step.place != scenario.written:
        if step.expect:
            yield ("expect",), "a step that only waits has no results: expect them in the step that sends"
        return
    generates = step.spec.generate is not UNSET or step.kind in (
        "delete",
        "python",
    )  # the implied expectation, that nothing fails, is enough
    if not step.expect and not generates and not (scenario.live and scenario.live.verify):
        missing = step.spec.expect is UNSET
        yield (
            (() if missing else ("expect",)),
            "the expectation is missing or empty: a scenario that cannot fail tests nothing",
        )
    allowed = (*_EXPECTED[step.kind], "capture")
    for name in step.expect:
        if name not in allowed:
            names = ", ".join(_EXPECTED[step.kind])
            yield ("expect", name), f"unknown result {name!r} for a scenario that {_DOES[step.kind]}; it has {names}"
    without_capture = {k: v for k, v in step.expect.items() if k != "capture"}
    for path, message in problems(without_capture, pending=step.pending is not None):
        yield ("expect", *path), message
    if step.pending is not None:
        return
    for stage in STAGES if step.kind == "verify" else ():
        expected = step.expect.get(stage)
        if expected is not None and not _is_on(step, stage) and not _may_be_absent(expected):
            yield ("expect", stage), f"the stage is off: enable it with `stages: {{{stage}: true}}`"


def _is_on(step: Step, stage: str) -> bool:
    """Return whether a stage runs; by default only `send_to_destination` is off."""
    stages = step.spec.stages
    flag = UNSET if stages is UNSET else getattr(stages, stage)
    return stage != "send_to_destination" if flag is UNSET else bool(flag)


def _may_be_absent(expected: Any) -> bool:
    return not compare.differences(expected, MISSING)


def _hook_problems(step: Step, when: str) -> Places:
    for name in step.expect:
        if name not in _OF_HOOKS:
            yield ("expect", name), f"`{when}` must succeed; it can only expect {', '.join(_OF_HOOKS)}"


def _recorder(suite: Suite, scripts: Mapping[str, Any]) -> Places:
    for key in scripts:
        if "://" in key:
            if not suite.workspace.transformations:
                yield ("recorder", key), "the workspace has no transformation that could request this"
            elif not _is_url(key):
                yield ("recorder", key), f"{key!r} is not a valid URL: write https://host/path"
        elif key not in suite.workspace.destinations:
            near = did_you_mean(key, suite.workspace.destinations)
            yield ("recorder", key), f"unknown destination {key!r}.{near}"
    for key, script in scripts.items():
        yield from _conditions(("recorder", key), script)


def _conditions(place: Place, script: Any) -> Places:
    """Yield the mistakes in conditions: of a scenario's answers, or of a suite's as written, with variables."""
    for index, answer in enumerate(as_list(list(script) if isinstance(script, tuple) else script)):
        is_written = isinstance(answer, Mapping)
        when = answer.get("when", UNSET) if is_written else getattr(answer, "when", UNSET)
        if when is not UNSET:
            for path, message in condition_problems(when, pending=is_written):
                yield (*place, index, "when", *path), message


def _is_url(text: str) -> bool:
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname)


def _freeze(freeze: Mapping[str, Any]) -> Places:
    time = freeze.get("time")
    try:
        moment = datetime.fromisoformat(time) if time else None
        if moment is not None and moment.tzinfo is None:
            yield ("freeze", "time"), f"the time zone is missing: write {time}Z"
        elif moment is not None and not 1000 <= moment.year <= 9000:  # leaves room for delays on both sides
            yield ("freeze", "time"), f"{time!r} is not between the years 1000 and 9000"
    except ValueError:
        yield ("freeze", "time"), f"{time!r} is not a valid time: write 2026-01-01T12:00:00Z"


def _xfail(scenario: Scenario) -> Places:
    """Check the paths of `xfail: {differs: ...}`: each must begin with a result that a step can have."""
    if scenario.xfail and scenario.only_warns:
        yield ("xfail",), "a scenario that only warns cannot be expected to fail: remove `xfail` or `severity`"
    if not scenario.differs:
        return
    results = dict.fromkeys(name for step in scenario.steps for name in (*_EXPECTED[step.kind], "failed"))
    for path in scenario.differs:
        if path[0] not in results:
            near = did_you_mean(path[0], results) or f" It has {', '.join(results)}."
            yield ("xfail", "differs"), f"unknown result {path[0]!r}: a path begins with one.{near}"


def _live(scenario: Scenario) -> Places:
    if scenario.live is None:
        return
    if scenario.live.destination:
        try:
            scenario.suite.workspace.destination(scenario.live.destination)
        except UnknownName as error:
            yield ("live", "destination"), str(error)
    verify = scenario.live.verify or {}
    for path, message in problems({k: verify[k] for k in ("status", "body", "fail_when") if k in verify}, pending=True):
        yield ("live", "verify", *path), message
    if scenario.live.every <= 0 or scenario.live.within < scenario.live.every:
        yield ("live",), "`every` must be greater than 0, and `within` at least `every`"
