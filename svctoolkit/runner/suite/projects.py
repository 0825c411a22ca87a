"""Tests of rudder/v1 transformations as scenarios.

Each JSON file in a test's input folder is one scenario. Its input is an event or a list of events, and its output must
be exactly the file of the same name in the output folder. Without such a file, the transformation must not fail. An
empty list means that everything is dropped. A transformation without tests gets one sample event of each type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError, InvalidSuite, Problem
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.model import Place, Scenario, Step, Suite

if TYPE_CHECKING:
    from svctoolkit.workspace import rudder_v1

DEFAULTS = ("track", "identify", "page", "screen", "group", "alias")


def project(path: Path) -> list[Suite]:
    """Return the suite of the transformation in a file. Raises `ConfigError` with every problem."""
    from svctoolkit.workspace import rudder_v1

    with inputs.recording() as read:
        suite = _suite(rudder_v1.load(path), path)
    suite.inputs = read
    return [suite]


def _suite(loaded: rudder_v1.Project, path: Path) -> Suite:
    suite = Suite(path, loaded.transformation.name, loaded.document, loaded.workspace)
    key, problems = loaded.transformation.key, list[Problem]()
    for number, test in enumerate(loaded.tests):
        place: Place = ("spec", "tests", number)
        cases = list(_cases(path.parent / test.input, place, suite, problems))
        for case in cases:
            output = path.parent / test.output / case.name
            name = f"{_slug(test.name)}[{_slug(case.stem)}]"
            try:
                suite.scenarios.append(_scenario(suite, key, name, f"{test.name}: {case.stem}", place, case, output))
            except ConfigError as error:
                problems += error.problems
    if not loaded.tests:
        suite.scenarios += [_default(suite, key, type) for type in DEFAULTS]
    if problems:
        raise InvalidSuite(problems)
    return suite


def _cases(folder: Path, place: Place, suite: Suite, problems: list[Problem]) -> Iterator[Path]:
    files = inputs.listing(folder, "*.json")
    if not files:
        message = f"no .json files in {yamlfile.display_name(folder)}"
        problems.append(suite.document.problem([*place, "input"], message))
    yield from files


def _scenario(suite: Suite, key: str, id: str, title: str, place: Place, case: Path, output: Path) -> Scenario:
    event = _json(case)
    if not isinstance(event, dict) and not (isinstance(event, list) and all(isinstance(e, dict) for e in event)):
        raise ConfigError("expected an event, or a list of events", where=yamlfile.display_name(case))
    expect: dict[str, Any] = {"error": {"$absent": True}}
    if inputs.is_file(output):
        expected = _json(output)
        # The output must be equal: these files are not written with matchers in mind.
        literal = {"$literal": expected if isinstance(expected, list) else [expected]}
        expect = {"user_transform": {"$exact": literal}}
    return _build(suite, key, id, title, place, event, expect)


def _default(suite: Suite, key: str, type: str) -> Scenario:
    from svctoolkit import events

    expect = {"error": {"$absent": True}}
    return _build(
        suite, key, f"default-events[{type}]", f"a {type} event does not fail", ("spec",), events.sample(type), expect
    )


def _build(suite: Suite, key: str, id: str, title: str, place: Place, event: Any, expect: dict[str, Any]) -> Scenario:
    step = Step(_format.Step(transformation=key, event=event), expect, place)
    return Scenario(suite, id, title, (), (step,), place, place, suite.document.position(place)[0])


def _json(path: Path) -> Any:
    try:
        return json.loads(yamlfile.load_text(path))
    except json.JSONDecodeError as error:
        where = f"{yamlfile.display_name(path)}:{error.lineno}:{error.colno}"
        raise ConfigError(f"invalid JSON: {error.msg}", where=where) from error


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.") or "test"
