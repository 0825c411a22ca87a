"""A suite file and its scenarios, as pytest collects and runs them."""

from __future__ import annotations

import builtins
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import state

if TYPE_CHECKING:
    from svctoolkit.destinations import DestinationType, Example
    from svctoolkit.runner import Scenario

ANNOTATION = "svctoolkit annotation"


class SuiteFile(pytest.File):
    """A suite file. Mistakes in it are reported at collection, with their position."""

    def collect(self) -> Iterator[ScenarioItem]:
        from svctoolkit import runner
        from svctoolkit.errors import ConfigError

        workspaces = self.config.stash.setdefault(state.WORKSPACES, {})
        try:
            suite = runner.load(self.path, workspaces=workspaces, variables=variables(self.config))
        except ConfigError as error:
            raise self.CollectError(str(error)) from error
        self.config.stash.setdefault(state.SUITES, []).append(suite)
        if self.config.getoption("--suite-coverage"):
            self.config.stash.setdefault(state.COVERAGE, runner.Collector([])).include(suite)
        for scenario in suite.scenarios:
            yield ScenarioItem.from_parent(self, name=scenario.id, scenario=scenario)


def variables(config: pytest.Config) -> dict[str, Json]:
    """Return the variables given with `--suite-var NAME=VALUE` or `NAME:=JSON`. Raises `pytest.UsageError`."""
    values: dict[str, Json] = {}
    for text in config.getoption("--suite-var"):
        name, equals, value = text.partition("=")
        if not name.rstrip(":") or not equals:
            raise pytest.UsageError(f"--suite-var {text}: expected NAME=VALUE")
        try:
            values[name.removesuffix(":")] = json.loads(value) if name.endswith(":") else value
        except (ValueError, RecursionError) as error:
            raise pytest.UsageError(f"--suite-var {text}: invalid JSON: {error}") from None
    return values


class ScenarioItem(pytest.Item):
    """One scenario, or one row of its `cases` or `matrix`."""

    # Any: the arguments that pytest passes to every item
    def __init__(self, *, scenario: Scenario, **given: Any) -> None:
        super().__init__(**given)
        self.scenario = scenario
        for tag in scenario.tags:
            self._declare(tag)
            self.add_marker(tag)
        if scenario.serial and (hasattr(self.config, "workerinput") or self.config.pluginmanager.hasplugin("xdist")):
            self.add_marker(pytest.mark.xdist_group(scenario.serial))
        if scenario.skip:
            self.add_marker(pytest.mark.skip(reason=scenario.skip))
        if scenario.xfail:
            self.add_marker(pytest.mark.xfail(reason=scenario.xfail, strict=True, raises=AssertionError))
        self.user_properties += [("suite", scenario.suite.title), ("title", scenario.title)]

    def _declare(self, tag: str) -> None:
        """Register the marker: pytest warns about undeclared markers, and rejects them in strict mode."""
        declared = self.config.stash.setdefault(state.TAGS, set())
        if tag not in declared:
            declared.add(tag)
            self.config.addinivalue_line("markers", f"{tag}: scenarios with this tag")

    def runtest(self) -> None:
        from svctoolkit import runner
        from svctoolkit.errors import ToolkitError
        from svctoolkit.inputs import recording

        planes = state.planes(self.config)
        reason = runner.skip_reason(self.scenario, planes)
        if reason:
            pytest.skip(reason)
        with recording() as read:
            outcome = runner.attempt(self.scenario, planes, snapshots=state.snapshots(self.config))
        self.config.stash.setdefault(state.IDLE, runner.IdleParts()).add(outcome)
        if state.COVERAGE in self.config.stash:
            self.config.stash[state.COVERAGE].add(outcome)
        judged = runner.judge(outcome)
        self.config.stash.setdefault(state.RAN, {})[self.scenario.name] = judged.ok, self.scenario, read
        if judged.deviates and os.environ.get("GITHUB_ACTIONS") == "true" and judged.steps:
            self.user_properties.append((ANNOTATION, runner.caused_command(judged)))
        if judged.status == "error":
            raise ToolkitError(judged.reason)
        if judged.status == "xfailed":
            raise AssertionError(runner.explanation(outcome))
        if judged.status == "warned":
            warnings.warn(ScenarioWarning(runner.explanation(judged)), stacklevel=1)
        elif not outcome.ok:
            # The marker xfail covers only an AssertionError.
            raise (ToolkitError if self.scenario.xfail else AssertionError)(runner.explanation(judged))

    # Any: pytest's signature
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Json:
        from svctoolkit.errors import ToolkitError

        if isinstance(excinfo.value, (AssertionError, ToolkitError)):  # a traceback would only show this plugin
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.scenario.line - 1, self.scenario.title


class ScenarioWarning(pytest.PytestWarning):
    """A scenario with `severity: warn` differs."""


class ExamplesFile(pytest.File):
    """`destinations/NAME/examples.yaml` next to a workspace: the examples of the team's own destination type."""

    def collect(self) -> Iterator[ExampleItem]:
        from svctoolkit.destinations import CATALOGUE, examples
        from svctoolkit.errors import ConfigError
        from svctoolkit.transformations import code_is_trusted
        from svctoolkit.workspace import own_types

        if not code_is_trusted():
            return
        try:
            own_types.register(self.path.parent.parent.parent)
            name = self.path.parent.name.upper()
            for example in examples(name):
                yield ExampleItem.from_parent(self, name=example.name, kind=CATALOGUE[name], example=example)
        except ConfigError as error:
            raise self.CollectError(str(error)) from error


class ExampleItem(pytest.Item):
    """One example: its event must produce its payloads, or its refusal."""

    # Any: the arguments that pytest passes to every item
    def __init__(self, *, kind: DestinationType, example: Example, **given: Any) -> None:
        super().__init__(**given)
        self._kind, self._example = kind, example

    def runtest(self) -> None:
        from svctoolkit.destinations import difference

        problem = difference(self._kind, self._example)
        if problem:
            raise AssertionError(problem)

    # Any: pytest's signature
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Json:
        return str(excinfo.value) if isinstance(excinfo.value, AssertionError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class AssertionError(builtins.AssertionError):  # editors distinguish failures from errors by this name
    """A scenario or helper failed; the text says why."""

    __module__ = "builtins"  # pytest prefixes the qualified name and truncates the text to one line
