"""A loaded and checked suite, ready to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from svctoolkit.displayed import Displayed
from svctoolkit.expect.encodings import encode
from svctoolkit.expect.resources import Resources
from svctoolkit.inputs import Inputs, replay
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.common import Common
from svctoolkit.runner.suite.variables import Environment, Variables
from svctoolkit.secrets import Masker, NamedSecrets
from svctoolkit.url_secrets import header_secrets
from svctoolkit.workspace import Calls, Workspace, config_names, config_secrets, file_secrets
from svctoolkit.yamlfile import Document, display_name

if TYPE_CHECKING:
    from svctoolkit.plans import Plan
    from svctoolkit.policies import Policies

Place: TypeAlias = tuple[str | int, ...]
#: Problems of a suite: where each is, and its text.
Places: TypeAlias = Iterator[tuple[Place, str]]
#: What a step uses: the Test API for a destination or source, one transformation, a raw request, the data plane,
#: a deletion of users, a function, or only time.
Kind: TypeAlias = Literal["verify", "transformation", "request", "send", "delete", "python", "wait"]
#: The members of a step in which `{$sha256: text}` is a value, not a matcher.
INPUTS = ("send", "delete", "event", "calls", "request", "generate", "destinationConfig", "arguments")


@dataclass(eq=False)
class Suite(Displayed):
    """One suite file. `name` is the file as shown in errors, `title` the name in reports.

    `inputs` are the files that all of its scenarios depend on: the suite, its workspace, suite-wide settings.
    `environment` has the secrets that it has read.
    """

    path: Path
    title: str
    document: Document = field(repr=False)
    workspace: Workspace = field(repr=False)
    scenarios: list[Scenario] = field(default_factory=list, repr=False)
    inputs: Inputs = field(default_factory=Inputs, repr=False)
    environment: Environment = field(default_factory=Environment, repr=False)
    fixtures: Mapping[str, bool] = field(default_factory=dict, repr=False)  # by name, whether a scenario uses it
    common: Common = field(default_factory=Common, repr=False)  # what it shares with other suites
    policies: Policies | None = field(default=None, repr=False)  # what must hold for everything that is sent
    policies_place: Place = ()  # where their file is named

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def workspace_name(self) -> str:
        """The workspace file as shown in errors; the suite's own file if it contains the workspace."""
        file = self.document.data.get("workspace")
        return self.name if file is None else display_name(self.path.parent / file)

    @cached_property
    def snapshot_folder(self) -> Path:
        """The folder for snapshots of its scenarios."""
        return self.path.parent / "__snapshots__" / self.path.name.partition(".suite.")[0]

    @property
    def resources(self) -> Resources:
        """What matchers may use: its folder and the tracking plans of its workspace."""
        return Resources(self.path.parent, self._plans)

    def _plans(self) -> list[Plan]:
        for key in self.workspace.tracking_plans:
            replay(self.workspace.inputs.get(f"trackingPlans.{key}", Inputs()))
        return [plan for item in self.workspace.tracking_plans.values() for plan in item.project.plans.values()]

    def __repr__(self) -> str:
        return f"<Suite {self.name}: {len(self.scenarios)} scenarios>"

    @cached_property
    def masker(self) -> Masker:
        """Masks the secrets of the workspace, of environment variables that the suite uses, and of the file itself."""
        written = self._written_secrets
        overrides = (text for _, type_, config in self._overrides() for text in config_secrets(type_, config))
        return Masker.of([*self.workspace.secrets(), *self.environment.secrets.values(), *written, *overrides])

    @cached_property
    def named_secrets(self) -> NamedSecrets:
        """The same secrets with their names, for snapshots."""
        written = self._written_secrets
        overrides = (named for override in self._overrides() for named in config_names(*override))
        variables = [*self.environment.secrets.items(), *self.environment.unset.items()]
        return NamedSecrets(
            [*variables, *self.workspace.secret_names(), *overrides, *(("suite", text) for text in written)]
        )

    @cached_property
    def _written_secrets(self) -> list[str]:
        files = [self.document.data, *(data for _, data in self.common.sections())]
        return [text for data in files for text in (*file_secrets(data), *header_secrets(data))]

    def _overrides(self) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
        """Yield key, type and settings of each destination whose settings steps override."""
        for step in (step for scenario in self.scenarios for step in scenario.steps):
            if isinstance(step.spec.destinationConfig, dict):
                key = str(step.spec.destination)
                yield key, self._type_of(key), step.spec.destinationConfig

    def _type_of(self, key: object) -> str:
        types = (d.type for d in self.workspace.destinations.values() if key in (d.key, d.id))
        return next(types, "")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One action of a scenario. `spec` is the action with its inputs, `expect` its expectation as plain values.

    `place` is its path in the document. `pending` is set if it refers to a value that an earlier step captures.
    """

    spec: _format.Step
    expect: dict[str, Any]
    place: Place
    pending: tuple[Mapping[str, Any], Variables] | None = field(default=None, repr=False)

    @property
    def kind(self) -> Kind:
        if self.spec.request is not UNSET:
            return "request"
        if self.spec.python is not UNSET:
            return "python"
        if not (self.spec.send is self.spec.calls is self.spec.generate is UNSET):
            return "send"
        if self.spec.delete is not UNSET:
            return "delete"
        if self.spec.wait is not UNSET and self.spec.event is UNSET:
            return "wait"
        return "transformation" if self.spec.transformation is not UNSET else "verify"

    def complete(self, captured: Mapping[str, Json]) -> Step:
        """Return this step with captured values filled in. Raises `msgspec.ValidationError` if they do not fit."""
        if self.pending is None:
            return self
        raw, variables = self.pending
        values = encode_inputs(variables.extend(captured).apply(raw))
        spec = msgspec.convert(values, _format.Step)
        return replace(self, spec=spec, expect=values.get("expect", {}), pending=None)


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """Settings for `--live`: polling a real service, in seconds."""

    destination: str
    within: float
    every: float
    verify: Mapping[str, Any] | None
    variables: Variables = field(repr=False)


class Invariant(msgspec.Struct, frozen=True):
    """A rule for every scenario: `operand` never occurs, or every value of `stage` matches it."""

    kind: Literal["never", "always"]
    stage: str
    operand: Any
    place: Place


class Scenario(Displayed, msgspec.Struct, frozen=True, eq=False):
    """One test: a scenario, or one row of its `cases` or `matrix`.

    `id` is stable and unique in its suite (`slug` or `slug[row]`); `title` is for readers. `place` is its path in the
    document, `written` that of the scenario that it is a row of. `line`, from 1, is where it begins, or its row of
    `cases`.
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
    recorder: Mapping[str, tuple[_format.RecorderAnswer, ...]] = {}
    ignore: tuple[tuple[str, ...], ...] = ()
    freeze: _format.Freeze | None = None
    live: Live | None = None
    serial: str = ""
    exact: frozenset[str] = frozenset()  # the results that must contain nothing but what is expected
    invariants: tuple[Invariant, ...] = ()
    limit: float | None = None  # seconds
    own_ignores: tuple[tuple[str, ...], ...] = ()  # the paths of `ignore` that are not suite-wide
    scripted: tuple[str, ...] = ()  # destinations with recorder responses in the scenario, not the suite
    batch: int | Literal["off"] | None = None  # its own batching, if it overrides the suite's
    given: Mapping[str, Mapping[str, Any]] = {}  # by destination, what it holds before
    own_given: tuple[str, ...] = ()  # the destinations of `given` in the scenario, not the suite
    differs: tuple[tuple[str, ...], ...] = ()  # the paths that may differ because of `xfail`; none: any written one
    only_warns: bool = False  # a difference is a warning
    forbids_losses: bool = False  # user code must not return values that JSON cannot represent
    faults: _format.ScenarioFaults = _format.ScenarioFaults()
    inputs: Inputs = msgspec.field(default_factory=Inputs)  # what it reads in addition to `Suite.inputs`

    @property
    def name(self) -> str:
        """`file::id`, which selects only this scenario."""
        return f"{self.suite.name}::{self.id}"

    def __repr__(self) -> str:
        return f"<Scenario {self.name}>"

    @property
    def where(self) -> str:
        """`file:line:col`."""
        return self.suite.document.where(self.place)

    @property
    def has_faults(self) -> bool:
        """Whether destinations or sources have fault profiles in it."""
        return bool(self.faults.destinations or self.faults.sources)

    @property
    def waits(self) -> bool:
        """Whether one of its steps lets time pass."""
        steps = (*self.setup, *self.steps, *self.teardown)
        return any(step.spec.wait is not UNSET or "wait" in (step.pending or ({},))[0] for step in steps)

    def destinations(self, *kinds: Kind) -> Iterator[str]:
        """Yield the keys of the destinations that its steps reach, optionally only for certain kinds of steps."""
        for step in self.steps:
            if not kinds or step.kind in kinds:
                yield from self.destinations_of(step)

    @property
    def overrides(self) -> Mapping[str, Mapping[str, Json]]:
        """Settings by destination that its steps override."""
        sent = [s.spec for s in self.steps if s.kind == "send" and s.spec.destinationConfig is not UNSET]
        workspace = self.suite.workspace
        return {workspace.destination(s.destination).key: s.destinationConfig for s in sent}  # type: ignore[misc,arg-type]

    def destinations_of(self, step: Step) -> Iterator[str]:
        """Yield the keys of the destinations that a step reaches, or of the one that it names."""
        workspace = self.suite.workspace
        if step.spec.destination is not UNSET:
            yield workspace.destination(step.spec.destination).key
        elif step.spec.source is not UNSET:
            only = self.only(step)
            connected = workspace.destinations_of(workspace.source(step.spec.source))
            yield from (d.key for d in connected if only is None or d.key in only)

    def only(self, step: Step) -> frozenset[str] | None:
        """Return the keys of the only destinations that get the events that a step sends; None for all of the source.

        A step with a `destination` sends to it alone, unless it expects something of other destinations.
        """
        spec, workspace = step.spec, self.suite.workspace
        if spec.only is not UNSET:
            return frozenset(workspace.destination(name).key for name in as_list(spec.only))
        if step.kind != "send" or spec.destination is UNSET or {"warehouse", "holds", "lost"} & step.expect.keys():
            return None
        return frozenset({workspace.destination(spec.destination).key})


def within(place: Place, problems: Iterable[tuple[Place, str]]) -> Places:
    """Yield the problems of what is at `place`, whose paths start there."""
    return (((*place, *path), text) for path, text in problems)


def encode_inputs(step: dict[str, Json]) -> dict[str, Json]:
    """Return the values of a step with its inputs encoded; in `expect`, encodings are matchers."""
    changed = {key: new for key in INPUTS if key in step and (new := encode(step[key])) is not step[key]}
    return {**step, **changed} if changed else step


def as_list(value: Json) -> list[Json]:
    """Return `value` if it is a list, else a list with `value` as the only element."""
    return value if isinstance(value, list) else [value]


def calls_of(batch: int | Literal["off"]) -> Calls | None:
    """Return the batching that a suite or a scenario sets: `batch: off`, or the number of events per call."""
    return None if batch == "off" else Calls(jobs=batch)
