"""What a schema cannot say about a scenario."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from svctoolkit.errors import Problem, UnknownName, did_you_mean
from svctoolkit.runner import _format, compare
from svctoolkit.runner._model import Scenario
from svctoolkit.runner.matchers import MISSING

STAGES = ("user_transform", "dest_transform", "send_to_destination")
_KINDS = ("destination", "source", "request")
#: Marks that mean something else to pytest.
_TAKEN = {"skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

Path = tuple[str | int, ...]


def checked(scenario: Scenario, place: Path) -> Iterator[Problem]:
    """Every problem of one scenario, which is written at `place`."""
    document, given = scenario.suite.document, scenario.given
    found = [*_shape(scenario), *_names(scenario), *_expectation(scenario)]
    if given.skip and given.xfail:
        found.append((("xfail",), "a scenario is skipped or expected to fail, not both"))
    found += [(("tags",), message) for message in taken(given.tags)]
    for path, message in found:
        yield document.problem([*place, *path], message, key=True)


def taken(tags: Sequence[str]) -> list[str]:
    """What is wrong with tags: those that pytest knows as something else."""
    return [f"{tag!r} means something else to pytest: use another tag" for tag in tags if tag in _TAKEN]


def _shape(scenario: Scenario) -> Iterator[tuple[Path, str]]:
    given = scenario.given
    kinds = [kind for kind in _KINDS if getattr(given, kind) is not UNSET]
    if len(kinds) != 1:
        has = f"this one has {' and '.join(kinds)}" if kinds else "this one has none of them"
        yield (), f"a scenario needs one of destination, source and request; {has}"
    elif given.request is not UNSET:
        yield from _request(given, given.request)
    elif given.event is UNSET:
        yield (), "a scenario needs the `event` that goes in"
    elif kinds == ["source"] and given.destinationConfig is not UNSET:
        yield ("destinationConfig",), "only a destination takes a `destinationConfig`"


def _request(given: _format.Scenario, request: _format.Request) -> Iterator[tuple[Path, str]]:
    for key in ("event", "stages", "destinationConfig", "force"):
        if getattr(given, key) not in (UNSET, False):
            yield (key,), f"a request is sent as it is: {key!r} belongs in its path or its `json`"
    if request.json is not UNSET and request.body is not UNSET:
        yield ("request", "body"), "a request has `json` or `body`, not both"
    if not request.path.startswith("/"):
        yield ("request", "path"), "a path starts with /"
    if not request.method.isalpha() or not request.method.isascii():
        yield ("request", "method"), f"{request.method!r} is no HTTP method"
    for name, value in request.headers.items():
        if not _TOKEN.fullmatch(name) or not _HEADER.fullmatch(value):
            yield (
                ("request", "headers", name),
                "no header can be sent like this: a name has no spaces, a value is one line",
            )


def _names(scenario: Scenario) -> Iterator[tuple[Path, str]]:
    given, workspace = scenario.given, scenario.suite.workspace
    try:
        if given.destination is not UNSET:
            workspace.destination(given.destination)
        if given.source is not UNSET:
            yield from _keyed(scenario, [d.key for d in workspace.connected(workspace.source(given.source))])
    except UnknownName as error:
        yield (error.kind,), f"{error} For an id that nobody has, use `request`."


def _keyed(scenario: Scenario, connected: list[str]) -> Iterator[tuple[Path, str]]:
    """What is expected of a source's stages stands by destination, where it has more than one."""
    for stage in STAGES:
        expected = scenario.expect.get(stage)
        if len(connected) < 2 or expected is None or (isinstance(expected, dict) and compare.is_matchers(expected)):
            continue
        if not isinstance(expected, dict):
            yield ("expect", stage), f"the source has several destinations: write {{{connected[0]}: ...}}"
            continue
        for key in expected:
            if key not in connected:
                hint = did_you_mean(key, connected) or f" It has {', '.join(connected)}."
                yield ("expect", stage, key), f"the source is not connected to a destination {key!r}.{hint}"


def _expectation(scenario: Scenario) -> Iterator[tuple[Path, str]]:
    if not scenario.expect:
        yield ("expect",), "nothing is expected: a scenario that cannot fail tests nothing"
    for path, message in compare.problems(scenario.expect):
        yield ("expect", *path), message
    for stage in STAGES if scenario.given.request is UNSET else ():
        expected = scenario.expect.get(stage)
        if expected is not None and not _is_on(scenario, stage) and not _may_be_absent(expected):
            yield ("expect", stage), f"the stage is off: switch it on with `stages: {{{stage}: true}}`"


def _is_on(scenario: Scenario, stage: str) -> bool:
    """Only `send_to_destination` is off where nothing is said."""
    stages = scenario.given.stages
    flag = UNSET if stages is UNSET else getattr(stages, stage)
    return stage != "send_to_destination" if flag is UNSET else bool(flag)


def _may_be_absent(expected: Any) -> bool:
    return not compare.differences(expected, MISSING)
