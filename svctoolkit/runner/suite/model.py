"""A suite that is loaded and checked, ready to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.variables import Environment, Variables
from svctoolkit.secrets import Masker
from svctoolkit.url_secrets import header_secrets
from svctoolkit.workspace import Calls, Workspace, config_secrets, file_secrets
from svctoolkit.yamlfile import Document, display_name

Place: TypeAlias = tuple[str | int, ...]
#: What a step does: the Test API for a destination or source, one transformation, a request as it is, the data plane.
Kind: TypeAlias = Literal["verify", "transformation", "request", "send"]


@dataclass(eq=False)
class Suite(Displayed):
    """One suite file. `name` is the file as errors show it, `title` what reports call it.

    `files` are the other files that it reads: workspace, code, fixtures, rows. `environment` knows the secrets that it
    asked for.
    """

    path: Path
    title: str
    document: Document = field(repr=False)
    workspace: Workspace = field(repr=False)
    scenarios: list[Scenario] = field(default_factory=list, repr=False)
    files: list[Path] = field(default_factory=list, repr=False)
    environment: Environment = field(default_factory=Environment, repr=False)
    fixtures: Mapping[str, bool] = field(default_factory=dict, repr=False)  # by name, whether a scenario uses it

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def workspace_name(self) -> str:
        """The workspace file as errors show it; the suite's where the workspace stands in it."""
        file = self.document.data.get("workspace")
        return self.name if file is None else display_name(self.path.parent / file)

    @property
    def snapshot_folder(self) -> Path:
        """Where the snapshots of its scenarios are."""
        return self.path.parent / "__snapshots__" / self.path.name.partition(".suite.")[0]

    def __repr__(self) -> str:
        return f"<Suite {self.name}: {len(self.scenarios)} scenarios>"

    @cached_property
    def masker(self) -> Masker:
        """Hides the secrets of the workspace, of the environment where the suite takes them, and of the file itself."""
        written = [*file_secrets(self.document.data), *header_secrets(self.document.data)]
        return Masker.of([*self.workspace.secrets(), *self.environment.secrets, *written, *self._overrides()])

    def _overrides(self) -> Iterator[str]:
        """The secrets in what steps set for a destination."""
        for step in (step for scenario in self.scenarios for step in scenario.steps):
            if isinstance(step.spec.destinationConfig, dict):
                yield from config_secrets(self._type_of(step.spec.destination), step.spec.destinationConfig)

    def _type_of(self, key: object) -> str:
        types = (d.type for d in self.workspace.destinations.values() if key in (d.key, d.id))
        return next(types, "")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One thing that a scenario does. `given` is what the file says, `expect` its expectation as plain values.

    `place` leads to it in the document. `pending` is set where it refers to what an earlier step captures.
    """

    spec: _format.Step
    expect: dict[str, Any]
    place: Place
    pending: tuple[Mapping[str, Any], Variables] | None = field(default=None, repr=False)

    @property
    def kind(self) -> Kind:
        if self.spec.request is not UNSET:
            return "request"
        if not (self.spec.send is self.spec.calls is self.spec.generate is UNSET):
            return "send"
        return "transformation" if self.spec.transformation is not UNSET else "verify"

    def complete(self, captured: Mapping[str, Json]) -> Step:
        """This step with what was captured filled in. Raises `msgspec.ValidationError` where that does not fit."""
        if self.pending is None:
            return self
        raw, variables = self.pending
        values = variables.extend(captured).apply(raw)
        spec = msgspec.convert(values, _format.Step)
        return replace(self, spec=spec, expect=values.get("expect", {}), pending=None)


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """What runs with `--live` only: polling a real service, in seconds."""

    destination: str
    within: float
    every: float
    verify: Mapping[str, Any] | None
    variables: Variables = field(repr=False)


@dataclass(frozen=True, slots=True)
class Invariant:
    """What holds in every scenario: `operand` never comes, or always what comes of `stage` matches it."""

    kind: Literal["never", "always"]
    stage: str
    operand: Any
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class Scenario(Displayed):
    """One test: a scenario, or one row of its `cases` or `matrix`.

    `id` is stable and unique in its suite (`slug` or `slug[row]`); `title` is for people. `place` leads to it in the
    document, `written` to the scenario that it is a row of. `line`, from 1, is where it begins: a row of `cases` has
    its own.
    """

    suite: Suite
    id: str
    title: str
    tags: tuple[str, ...]
    steps: tuple[Step, ...]
    place: Place
    written: Place
    line: int
    skip: str | None = None
    xfail: str | None = None
    setup: tuple[Step, ...] = ()
    teardown: tuple[Step, ...] = ()
    recorder: Mapping[str, tuple[_format.RecorderAnswer, ...]] = field(default_factory=dict)
    ignore: tuple[tuple[str, ...], ...] = ()
    freeze: _format.Freeze | None = None
    live: Live | None = None
    serial: str = ""
    exact: frozenset[str] = frozenset()  # the results in which nothing may be that is not expected
    invariants: tuple[Invariant, ...] = ()
    limit: float | None = None  # seconds
    own_ignores: tuple[tuple[str, ...], ...] = ()  # of `ignore` those that the suite does not say for all
    scripted: tuple[str, ...] = ()  # the destinations whose answers it writes itself, not the suite
    batch: int | Literal["off"] | None = None  # how its events share requests, where it says so and not the suite

    @property
    def name(self) -> str:
        """`file::id`, which selects this scenario alone."""
        return f"{self.suite.name}::{self.id}"

    def __repr__(self) -> str:
        return f"<Scenario {self.name}>"

    @property
    def where(self) -> str:
        """`file:line:col`."""
        return self.suite.document.where(self.place)

    def destinations(self, *kinds: Kind) -> Iterator[str]:
        """The keys of the destinations that its steps reach; of those kinds of steps only, where any are named."""
        for step in self.steps:
            if not kinds or step.kind in kinds:
                yield from self.destinations_of(step)

    @property
    def overrides(self) -> Mapping[str, Mapping[str, Json]]:
        """Configuration by destination that its steps send with instead of the workspace's own."""
        sent = [s.spec for s in self.steps if s.kind == "send" and s.spec.destinationConfig is not UNSET]
        workspace = self.suite.workspace
        return {workspace.destination(s.destination).key: s.destinationConfig for s in sent}  # type: ignore[misc,arg-type]

    def destinations_of(self, step: Step) -> Iterator[str]:
        """The keys of the destinations that a step reaches, or looks at where it names one."""
        workspace = self.suite.workspace
        if step.spec.destination is not UNSET:
            yield workspace.destination(step.spec.destination).key
        elif step.spec.source is not UNSET:
            yield from (d.key for d in workspace.destinations_of(workspace.source(step.spec.source)))


def as_list(value: Json) -> list[Json]:
    """`value` as a list: itself if it is one, else with it as the only element."""
    return value if isinstance(value, list) else [value]


def calls_of(batch: int | Literal["off"]) -> Calls | None:
    """How events share requests where a suite or a scenario says so: `batch: off`, or how many a call has."""
    return None if batch == "off" else Calls(jobs=batch)
