"""Checks that a step does exactly one thing, and has what it needs for that."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from svctoolkit.errors import UnknownName, did_you_mean
from svctoolkit.events import sample
from svctoolkit.runner.steps import STEPS
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.calls import call_problems
from svctoolkit.runner.suite.deletions import delete_problems
from svctoolkit.runner.suite.model import Places, Step, within
from svctoolkit.runner.suite.webhooks import header_problem, is_webhook


def shape_problems(step: Step) -> Places:
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
        yield from within(("calls", index), call_problems(call))


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
        if problem := header_problem(name, value):
            yield ("request", "headers", name), problem


def _python(spec: _format.Step, targets: Sequence[str]) -> Places:
    if targets:
        yield (targets[0],), f"a Python step has no {targets[0]!r}: pass it in `arguments`"
    name = str(spec.python)
    if name not in STEPS:
        hint = did_you_mean(name, STEPS.names()) or " Register it with an entry point in the group `svctoolkit.steps`."
        yield ("python",), f"unknown Python step {name!r}.{hint}"
