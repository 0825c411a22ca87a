"""One request of the Test API: run it, or copy it as Python or as a suite."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svctoolkit.destinations import definitions
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.results import DestinationResult, SharedDeliveries
from svctoolkit.runner.record import writer as record
from svctoolkit.runner.record.suite_file import add_scenarios
from svctoolkit.secrets import Secret
from svctoolkit.workspace import Destination

_WIDTH = 100


@dataclass(frozen=True)
class TestRequest:
    """A snapshot of a request that can be run, or written as code or as a suite."""

    pipeline: Pipeline
    destination: Destination
    own: bool  # a destination of the user's workspace
    event: Mapping[str, Any]
    stages: Stages = field(default_factory=Stages)
    config: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False

    def result(self) -> DestinationResult:
        """Run it. Raises the errors of `Pipeline.test_destination`."""
        return self.pipeline.test_destination(
            self.destination.key, self.event, stages=self.stages, config=self.config, force=self.force
        )

    def result_at_vendor(self, pipeline: Pipeline) -> DestinationResult:
        """The result of all stages in `pipeline`, with the losses of a simulated server that holds nothing.

        Raises the errors of `Pipeline.test_destination`.
        """
        pipeline.simulated.reset()
        level = pipeline.workspace.simulation_level(self.destination, "simulated")
        return pipeline.test_destination(
            self.destination.key, self.event, config=self.config, force=self.force, simulate=level
        )

    def deliveries(self, events: Sequence[Mapping[str, Json]], jobs: int) -> SharedDeliveries:
        """The requests of many events batched together. Raises the errors of `Pipeline.deliveries`."""
        return self.pipeline.deliveries(self.destination.key, events, jobs=jobs, config=self.config)

    def code(self) -> str:
        """Equivalent Python code. Secrets are read from the environment.

        For a destination of the user's workspace, it uses that workspace in the variable `workspace`.
        """
        body = "\n".join(self._lines())
        imports = ["import os\n"] if "os.environ[" in body else []
        imports.append("import svctoolkit")
        if "Stages.of(" in body:
            imports.append("from svctoolkit.pipeline import Stages")
        return "\n".join([*imports, "", body, ""])

    def _lines(self) -> Iterator[str]:
        if self.own:
            yield "# workspace: the workspace of this destination"
        else:
            yield 'workspace = svctoolkit.Workspace("explorer")'
            arguments = [_text(self.destination.key), _text(self.destination.type)]
            yield _call("workspace.destination", [*arguments, f"config={_python(self.destination.config, 4)}"])
        yield f"event = {_python(self.event, 0)}"
        arguments = [_text(self.destination.key), "event", *self._arguments()]
        # what the Test API does not test, the explorer shows nevertheless
        type = self.destination.type
        exploring = definitions.is_recorded_only(type) or definitions.reason_unmapped(type)
        pipeline = f"svctoolkit.Pipeline(workspace{', exploring=True' if exploring else ''})"
        yield "result = " + _call(f"{pipeline}.test_destination", arguments)
        yield "result"

    def _arguments(self) -> Iterator[str]:
        if self.stages != Stages():
            on = [stage for stage in Stages.__slots__ if getattr(self.stages, stage)]
            yield f"stages=Stages.of({', '.join(map(_text, on))})"
        if self.config:
            yield f"config={_python(self.config, 4)}"
        if self.force:
            yield "force=True"

    def suite(self, *, expected: bool) -> str:
        """An equivalent suite file; with `expected`, it expects the current results.

        For a destination of the user's workspace, it refers to `workspace.yaml`, which must be that workspace's file.
        """
        suite = self._suite(expected=expected)
        if self.own:
            return record.dump(suite, "workspace.yaml")
        return record.dump({**record.inline(self.pipeline.workspace), **suite})

    def add_to(self, file: str) -> str:
        """Append the scenario to a new or existing suite file; returns a message with what was done.

        Raises `ConfigError` if it cannot be added.
        """
        if not file.strip():
            raise ConfigError("a file name is required, such as orders.suite.yaml")
        path = Path(file.strip()).expanduser()
        suite, workspace = self._suite(expected=True), self.pipeline.workspace
        typed = _secrets([self.config, *(destination.config for destination in workspace.destinations.values())])
        variables = {secret.origin.removeprefix("$(env:").removesuffix(")"): secret.reveal() for secret in typed}
        added = add_scenarios(path, suite, workspace, environ=variables)
        return f"added to {file}" if added else f"{file} already has this scenario"

    def _suite(self, *, expected: bool) -> dict[str, Json]:
        return record.verify_suite(
            self.pipeline.workspace,
            self.destination.key,
            self.event,
            stages=self.stages,
            config=self.config,
            force=self.force,
            expected=expected,
        )


def _secrets(value: Any) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, (Mapping, list)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _secrets(inner)


def _call(name: str, arguments: list[str]) -> str:
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= _WIDTH - 10 and "\n" not in line:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def _python(value: Any, indent: int) -> str:
    """A JSON value as Python, on several lines if it does not fit on one."""
    if isinstance(value, Mapping):
        items = [f"{_text(str(key))}: {_python(inner, indent + 4)}" for key, inner in value.items()]
        return _broken("{", items, "}", indent)
    if isinstance(value, (list, tuple)):
        return _broken("[", [_python(inner, indent + 4) for inner in value], "]", indent)
    if isinstance(value, Secret):
        name = value.origin.removeprefix("$(env:").removesuffix(")")
        return f"svctoolkit.Secret(os.environ[{_text(name)}])"
    return _text(value) if isinstance(value, str) else repr(value)


def _broken(first: str, items: list[str], last: str, indent: int) -> str:
    line = f"{first}{', '.join(items)}{last}"
    if indent + len(line) <= _WIDTH - 20 and "\n" not in line:
        return line
    space = " " * (indent + 4)
    return f"{first}\n" + "".join(f"{space}{item},\n" for item in items) + " " * indent + last


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)
