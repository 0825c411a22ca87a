"""The workspace's sources, destinations, transformations and users as objects. Changes take effect immediately."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit import simulations
from svctoolkit.delivery.faults import FaultSettings
from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import InvalidWorkspace, Problem
from svctoolkit.inputs import Inputs
from svctoolkit.secrets import Masker, Secret
from svctoolkit.simulations import Level, check_level
from svctoolkit.transformations import Limits, Scope
from svctoolkit.workspace._collection import ItemCollection
from svctoolkit.workspace._items import (
    LANGUAGES,
    Destination,
    Language,
    TrackingPlan,
    Transformation,
)
from svctoolkit.workspace._lookup import by_key, code_of, lookup
from svctoolkit.workspace._secrets import KnownSecrets, secret_names, secret_state, secret_texts, unset_variables
from svctoolkit.workspace._settings import DataPlaneSettings, Delivery, WarehouseSettings
from svctoolkit.workspace._trust import every_piece, record, require_trust

if TYPE_CHECKING:
    from svctoolkit.delivery import Recorder, Transport
    from svctoolkit.delivery.modes import Mode, Setting
    from svctoolkit.plans import Plan
    from svctoolkit.rudder_cli import RudderProject
    from svctoolkit.transformations import Runnable
    from svctoolkit.workspace._patience import Patience
    from svctoolkit.yamlfile import Document


@dataclass(slots=True)
class Workspace(ItemCollection, Displayed):
    """A workspace. Items can be accessed by key or by id; the default id is the key.

    >>> shop = Workspace("shop")
    >>> hook = shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    >>> web = shop.source("web", destinations=["hook"])
    >>> shop.destination("hook").enabled = False
    >>> print(shop.dumps())
    workspace: shop
    sources:
      web:
        destinations:
        - hook
    destinations:
      hook:
        type: WEBHOOK
        enabled: false
        config:
          webhookUrl: https://hook.example/in
    <BLANKLINE>
    """

    delivery: Delivery = field(default_factory=Delivery)
    data_plane: DataPlaneSettings = field(default_factory=DataPlaneSettings)
    warehouses: WarehouseSettings = field(default_factory=WarehouseSettings)
    limits: Limits = field(default_factory=Limits)  # of one call of a transformation
    known: list[str] = field(default_factory=list)  # unknown types and variables (`GA4.sendUserId`) that are accepted
    policies: list[dict[str, Any]] = field(default_factory=list, repr=False)  # see `svctoolkit.policies`, as written
    faults: FaultSettings = field(default_factory=FaultSettings)  # see `svctoolkit.delivery.faults`
    releases: dict[str, str] = field(default_factory=dict)  # name of a version -> day, marked in pictures of days
    environments: dict[str, Any] = field(default_factory=dict, repr=False)  # overrides, as written in the file
    simulate: Level | None = None  # used instead of `delivery.simulate`, and not saved: an option of the user
    folder: Path | None = field(default=None, repr=False)  # base of relative paths
    file: Path | None = field(default=None, repr=False, compare=False)  # that this was loaded from
    project: RudderProject | None = field(default=None, repr=False, compare=False)  # of rudder-cli, loaded from
    #: isolates user code: a sandbox process never serves two workspaces
    scope: Scope = field(default_factory=Scope, init=False, repr=False, compare=False)
    #: the files of items by section and key, `trackingPlans.shop`; under `""` those of the workspace itself
    inputs: dict[str, Inputs] = field(default_factory=dict, init=False, repr=False, compare=False)
    patience: Patience | None = field(default=None, init=False, repr=False, compare=False)  # with code that never ends
    _transports: dict[Path, Transport] = field(default_factory=dict, init=False, repr=False, compare=False)
    _known: KnownSecrets = field(default_factory=KnownSecrets, init=False, repr=False, compare=False)
    _unset: dict[str, Problem] = field(default_factory=dict, init=False, repr=False, compare=False)  # by variable

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        environ: Mapping[str, str] = os.environ,
        strict: bool = False,
        environment: str | None = None,
    ) -> Workspace:
        """Load a workspace from a YAML file, a RudderStack workspace configuration (JSON), or a rudder-cli project.

        A project is a folder of YAML resources. Nothing in it needs a value: `{{ .NAME }}` is `RUDDER_NAME` in
        `environ`, or has a placeholder. An environment `prod` is the file `prod.vars.yaml` in it, or next to it.

        `$(env:NAME)` and `$(env:NAME:-default)` are replaced by environment variables in configurations, credentials,
        tokens and `delivery.geolocation`; write `$$(env:` for the literal text. Variables that are not in `environ` are
        read from a file `.env` next to the workspace file. Relative paths start from the file's folder. Members of
        RudderStack's configuration that are not used here are ignored.

        `environment` selects one of the file's `environments`, or of the files `workspace.NAME.yaml` next to it; the
        default is `SVC_ENV` in `environ`, if set. Its values override the workspace's. `SVC_SIMULATE` in `environ` is
        the level of destinations that do not set `simulate` themselves: `answers`, `simulated` or `strict`.

        Destination types in `destinations.py` or `destinations/` next to the file are added to the catalogue if code is
        trusted: see `svctoolkit.workspace.own_types`.

        Unknown destination types, and configurations that do not fit their type, are kept unchanged, with a
        `WorkspaceWarning`: the rest works. With `strict` they are errors.

        Raises `InvalidWorkspace` with every problem at once, each with file, line and column, and `UnknownName` for an
        unknown environment.
        """
        from svctoolkit.workspace._load import load_file

        return load_file(cls, Path(path), environ, strict=strict, environment=environment)

    @classmethod
    def loads(
        cls,
        text: str,
        *,
        name: str = "",
        folder: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        strict: bool = False,
    ) -> Workspace:
        """Load a workspace from text, which errors call `name`. Otherwise like `load`."""
        from svctoolkit import yamlfile

        document = yamlfile.load(text, name=name, error=InvalidWorkspace)
        return cls.of(document, folder=folder, environ=environ, strict=strict)

    @classmethod
    def of(
        cls,
        document: Document,
        *,
        folder: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        strict: bool = False,
    ) -> Workspace:
        """Return the workspace in a parsed document. Otherwise like `load`."""
        from svctoolkit.workspace._load import workspace_of

        return workspace_of(document, cls, folder, environ, strict=strict)

    def dumps(self) -> str:
        """Return this workspace as YAML for `loads`. Members with their default value are left out.

        Secrets are written as the reference that they were read from. Secrets in clear text get a new reference:
        `$(env:HOOK_API_KEY)` for `apiKey` of the destination `hook`. Tokens are written as a reference or a hash.

        Raises `InvalidWorkspace` for what a file cannot contain: a Python function, a value that is not JSON, code that
        differs from the code in its `file`.
        """
        from svctoolkit.workspace._save import dump

        return dump(self, self.folder)

    def save(self, path: Path | str, *, env_file: bool = False) -> None:
        """Write this workspace to a YAML file, atomically.

        Secrets are written as in `dumps`. With `env_file`, the values of secrets in clear text are written to the file
        `.env` next to it, readable only by its owner; `load` reads it. Code in other files stays there; their paths are
        written relative to the new file. Raises `InvalidWorkspace` as `dumps` does, or if the file cannot be written.
        """
        from svctoolkit.workspace._save import save

        save(self, Path(path), env_file=env_file)

    def problems(self) -> list[Problem]:
        """Run the checks of `load` on these objects. Return the problems, each with its dotted path."""
        from svctoolkit.workspace._checks import flaws
        from svctoolkit.yamlfile import cap

        return cap(Problem(flaw.message, ".".join(map(str, flaw.path))) for flaw in flaws(self))

    def check(self) -> None:
        """Raise `InvalidWorkspace` if there are `problems`."""
        problems = self.problems()
        if problems:
            raise InvalidWorkspace(problems)

    def simulation_level(self, destination: Destination, default: Level | None = None) -> Level:
        """Return how a destination's server is simulated: as the destination, `default`, `simulate` or `delivery` says.

        `answers` for types without a simulation.
        """
        level = destination.simulate or default or self.simulate or self.delivery.simulate
        return level if level == "answers" or simulations.is_simulated(destination.type) else "answers"

    # Any: the user's function, with one argument or two
    def transformation(
        self,
        key: str,
        function: Callable[..., Any] | None = None,
        *,
        code: str = "",
        language: Language | None = None,
        file: Path | str | None = None,
    ) -> Transformation:
        """Return the transformation with this key or id; with `function`, `code` or `file`, create one.

        A function is called as `function(event)` or `function(event, metadata)`; it is trusted and runs in this
        process. Code runs in the sandbox; the default `language` is that of the file name, else Python.

        Raises `UnknownName`, or `InvalidWorkspace` for a file that cannot be read or a `function` that is not callable.
        """
        if function is not None and not callable(function):
            what = "text; pass source code as code=..." if isinstance(function, str) else type(function).__name__
            raise InvalidWorkspace(f"transformation {key!r}: expected a function, got {what}")
        if function is None and not code and file is None:
            item = lookup("transformation", key, self.transformations)
        else:
            path = None if file is None else Path(file)
            if path is not None and not code:
                code = code_of(path if self.folder is None else self.folder / path)
            chosen = language or (LANGUAGES.get(path.suffix) if path else None) or "python"
            item = self.transformations[key] = Transformation(key, key, key, chosen, function, code, path)
        item.runnable = self._runnable
        return item

    def trust(self) -> None:
        """Record the code of all transformations and libraries as the user's own, by its content.

        It then runs even if the sandbox lacks an essential layer on this machine, until it changes. The record is kept
        in the user's data folder. Raises `ToolkitError` if it cannot be written.
        """
        record(every_piece(self))

    def _runnable(self, transformation: Transformation, recorder: Recorder | None) -> Runnable:
        """Return the runnable code, with this workspace's libraries, credentials and limits, and this recorder."""
        from svctoolkit.delivery import Recorder
        from svctoolkit.workspace._code import UserCode

        require_trust(self, keys=[transformation.key])
        return UserCode(self, recorder or Recorder()).runnable(transformation)

    def tracking_plan(
        self, key: str, plan: Plan | Path | str | None = None, *, format: str | None = None, strict: bool = True
    ) -> TrackingPlan:
        """Return the tracking plan with this key; with `plan` (a plan, or the path of a file or project), create one.

        Raises `UnknownName`, or `InvalidPlan` if it cannot be read.
        """
        if plan is None:
            return by_key("tracking plan", key, self.tracking_plans)
        from svctoolkit import plans

        if isinstance(plan, plans.Plan):
            item = TrackingPlan(key, plan=plan.id, project=plans.Project({plan.id: plan}))
        else:
            path = (self.folder or Path()) / plan
            item = TrackingPlan(key, Path(plan), format, strict=strict)
            item.project = plans.load(path, format=format, strict=strict)
        self.tracking_plans[key] = item
        return item

    def transport(self, recorder: Recorder, *, loopback: bool = True) -> Transport:
        """Return the transport of the current delivery mode: `recorder`, the live network, or the cassette.

        `loopback`: see `svctoolkit.delivery.live.transport_for`. Raises `ConfigError` for an invalid cassette file, and
        `InvalidWorkspace` if requests would be sent with placeholders.
        """
        if self._unset and self.sends and (unset := unset_variables(self) & self._unset.keys()):
            raise InvalidWorkspace([problem for name, problem in self._unset.items() if name in unset])
        return self.delivery_mode.transport(self.delivery_setting(recorder, loopback=loopback))

    def delivery_setting(self, recorder: Recorder | None = None, *, loopback: bool = True) -> Setting:
        """Return the workspace's data for the delivery mode."""
        from svctoolkit.delivery import Recorder
        from svctoolkit.delivery.modes import Setting

        return Setting(
            Recorder(limit=0) if recorder is None else recorder,
            tuple(self.delivery.allow),
            loopback,
            (self.folder or Path()) / (self.delivery.cassette or "cassette.json"),
            self.secrets,
            self._transports,
        )

    @property
    def delivery_mode(self) -> Mode:
        """The current delivery mode. Raises `UnknownName` for an unknown mode."""
        from svctoolkit.delivery.modes import MODES

        return MODES[self.delivery.mode]

    def in_mode(self, mode: str) -> Workspace:
        """Return a copy in another delivery mode, which shares everything else with this one."""
        return self._copy(delivery=replace(self.delivery, mode=mode))

    def at_level(self, level: Level) -> Workspace:
        """Return a copy whose destinations are simulated at this level if they do not set one. Like `in_mode`.

        Raises `ConfigError` for an unknown level.
        """
        return self._copy(simulate=check_level(level))

    # Any: members of any type
    def _copy(self, **changes: Any) -> Workspace:
        copy = replace(self, **changes)
        copy.scope = self.scope  # share the sandbox workers, as the code is the same
        copy.set_unset(self._unset)
        copy.inputs, copy.patience = self.inputs, self.patience
        return copy

    @property
    def sends(self) -> bool:
        """Whether requests may leave the machine."""
        return self.delivery_mode.sends(self.delivery_setting())

    @property
    def unset(self) -> list[str]:
        """The environment variables that were not set when this workspace was loaded, and have placeholders."""
        return [*self._unset]

    def set_unset(self, problems: Mapping[str, Problem]) -> None:
        """Set which environment variables have placeholders: problems to report before anything is sent."""
        self._unset = dict(problems)

    def secret_names(self) -> Iterator[tuple[str, str]]:
        """Yield each secret after its name: that of its environment variable, or of its setting (`hook.apiKey`).

        Variables that are not set have their placeholder.
        """
        return secret_names(self)

    def secrets(self) -> Iterator[str]:
        """Return all secret strings: those in configurations, accounts and credentials.

        Includes former secrets of this workspace, because recorded requests may still contain them.
        """
        return iter(self._known.update(secret_state(self), lambda: secret_texts(self))[0])

    @property
    def masker(self) -> Masker:
        """Masks all `secrets()`. The same object as long as they do not change."""
        return self._known.update(secret_state(self), lambda: secret_texts(self))[1]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all credentials as secrets, including those in clear text."""
        members = {member.name: getattr(self, member.name) for member in fields(self)}
        credentials = {key: Secret(text) if isinstance(text, str) else text for key, text in self.credentials.items()}
        return {**members, "credentials": credentials}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def display_text(self) -> str:
        """Return a tree: each source with the destinations that it is connected to."""
        return render(self, "text")
