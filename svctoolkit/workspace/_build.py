"""Build the objects of a workspace from a file of the right shape."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from svctoolkit import inputs, plans, yamlfile
from svctoolkit.delivery.faults import FaultSettings
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.secrets import Secret
from svctoolkit.transformations import Limits
from svctoolkit.workspace._checks import Flaw
from svctoolkit.workspace._items import (
    LANGUAGES,
    Account,
    Connection,
    Destination,
    Forward,
    Language,
    Library,
    Person,
    Source,
    TrackingPlan,
    Transformation,
    account_and_declarations,
)
from svctoolkit.workspace._references import resolve
from svctoolkit.workspace._settings import Calls, DataPlaneSettings, Delivery, PlaneLimits, Throttle, WarehouseSettings
from svctoolkit.workspace._shapes import (
    AccountShape,
    DataPlaneShape,
    DeliveryShape,
    DestinationShape,
    ForwardShape,
    LibraryShape,
    SourcePlanShape,
    SourceShape,
    TrackingPlanShape,
    TransformationShape,
    WorkspaceShape,
)

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace

_Path: TypeAlias = tuple[str | int, ...]
_NO_TOKEN = "0" * 64  # the hash of no known token


def _is_url(path: _Path) -> bool:
    """Whether the setting at a path is a URL, by its name."""
    return str(path[-1]).lower().endswith(("url", "endpoint", "geolocation"))


class Builder:
    """Builds the objects from a file of the right shape. `flaws` has problems with the environment and other files.

    `unset` has the places of variables of secrets that are not set.
    """

    def __init__(self, kind: type[Workspace], folder: Path | None, environ: Mapping[str, str]) -> None:
        self._kind = kind
        self.flaws: list[Flaw] = []
        self.unset: list[tuple[_Path, str]] = []
        self._folder, self._environ = folder or Path(), environ
        self.inputs: dict[str, inputs.Inputs] = {}

    def workspace(self, shape: WorkspaceShape) -> Workspace:
        """Return the workspace, with empty values in place of those that `flaws` reports."""
        return self._kind(
            name=shape.workspace,
            sources={key: self._source(key, source) for key, source in shape.sources.items()},
            destinations={key: self._destination(key, item) for key, item in shape.destinations.items()},
            transformations={key: self._transformation(key, item) for key, item in shape.transformations.items()},
            libraries={key: self._library(key, item) for key, item in shape.libraries.items()},
            accounts={key: self._account(key, item) for key, item in shape.accounts.items()},
            credentials=self._config(shape.credentials, ("credentials",)),
            tracking_plans={key: self._tracking_plan(key, item) for key, item in shape.tracking_plans.items()},
            users=[self._person(user.email, user.token, ("users", i, "token")) for i, user in enumerate(shape.users)],
            delivery=self._delivery(shape.delivery),
            data_plane=_data_plane(shape.data_plane),
            warehouses=WarehouseSettings(**msgspec.structs.asdict(shape.warehouses)),
            limits=Limits(**msgspec.structs.asdict(shape.limits)),
            known=[*shape.known],
            policies=[*shape.policies],
            faults=FaultSettings(shape.faults.profiles, shape.faults.destinations, shape.faults.sources),
            releases=shape.releases,
        )

    def _destination(self, key: str, shape: DestinationShape) -> Destination:
        account, declarations = account_and_declarations(shape.account)
        return Destination(
            key,
            shape.id or key,
            key if shape.name is None else shape.name,
            shape.type,
            shape.enabled,
            self._config(shape.config, ("destinations", key, "config")),
            shape.transformation,
            account,
            declarations,
            shape.simulate,
        )

    def _library(self, key: str, shape: LibraryShape) -> Library:
        return Library(key, *self._code(shape, ("libraries", key)))

    def _delivery(self, shape: DeliveryShape) -> Delivery:
        return Delivery(
            mode=shape.mode,
            allow=shape.allow,
            timeout=float(shape.timeout),
            geolocation=self._resolve(shape.geolocation, ("delivery", "geolocation")),
            cassette=Path(shape.cassette) if shape.cassette else None,
            profile=shape.profile,
            backoff={n: v for n, v in msgspec.structs.asdict(shape.backoff).items() if v is not None},
            concurrency=shape.concurrency,
            batch=None if isinstance(shape.batch, str) else Calls(shape.batch.jobs, float(shape.batch.wait)),
            throttle={k: Throttle(v.limit, float(v.seconds), v.adaptive) for k, v in shape.throttle.items()},
            simulate=shape.simulate,
            braze_limit=shape.braze_limit,
        )

    def _source(self, key: str, shape: SourceShape) -> Source:
        connections = [
            Connection(c) if isinstance(c, str) else Connection(c.destination, c.enabled) for c in shape.destinations
        ]
        name = key if shape.name is None else shape.name
        plan = shape.tracking_plan
        named, settings = (plan.plan, plan.settings) if isinstance(plan, SourcePlanShape) else (plan, None)
        return Source(
            key,
            shape.id or key,
            name,
            shape.type,
            shape.write_key or key,
            shape.enabled,
            connections,
            named,
            settings,
            shape.category,
            self._forward(shape.forward, ("sources", key, "forward")) if shape.forward else None,
            self._config(shape.config, ("sources", key, "config")),
        )

    def _forward(self, shape: ForwardShape, path: tuple[str, ...]) -> Forward | None:
        """Return what forwards a source's requests; None without its secrets, because a placeholder would be sent."""
        key = self._resolve(shape.write_key, (*path, "writeKey"))
        secret = key if isinstance(key, Secret) else Secret(key)
        url = self._resolve(shape.url, (*path, "url"))
        if secret.unset or (isinstance(url, Secret) and url.unset):
            return None
        return Forward(url, secret, shape.answer, shape.enabled)

    def _tracking_plan(self, key: str, shape: TrackingPlanShape) -> TrackingPlan:
        """Load a tracking plan. Problems in its files are reported with positions in those files."""
        path = ("trackingPlans", key)
        item = TrackingPlan(key, None, shape.format, shape.plan, shape.version, shape.strict, shape.variables)
        if (shape.project is None) == (shape.file is None):
            self._flaw(path, "give either 'project' (a folder) or 'file'", key=True)
            return item
        item.path = Path(shape.project or shape.file or "")
        member = "file" if shape.project is None else "project"
        form = item.format or ("rudder-cli" if shape.project is not None else None)
        try:
            with inputs.recording() as self.inputs[".".join(path)]:
                values = self._variables(item.variables)
                place = self._folder / item.path
                item.project = plans.load(place, format=form, strict=item.strict, variables=values)
            if item.plan is not None:
                item.project.plan(item.plan)
        except UnknownName as error:
            self._flaw((*path, "plan" if error.kind == "tracking plan" else "format"), str(error.problems[0].message))
        except ConfigError as error:
            self._flaw((*path, member), f"cannot be used:\n{error}")
        return item

    def _variables(self, files: list[str]) -> dict[str, str] | None:
        """Return the values of variables in a rudder-cli project; None without files for it."""
        if not files:
            return None
        from svctoolkit import rudder_cli

        return rudder_cli.given_variables(self._environ, [self._folder / file for file in files])

    def _transformation(self, key: str, shape: TransformationShape) -> Transformation:
        language, code, file, version = self._code(shape, ("transformations", key))
        name = key if shape.name is None else shape.name
        return Transformation(key, shape.id or key, name, language, None, code, file, version, shape.code_version or "")

    def _account(self, key: str, shape: AccountShape) -> Account:
        path = ("accounts", key)
        secret = self._config(shape.secret, (*path, "secret"))
        return Account(key, secret, self._config(shape.renewals, (*path, "renewals")))

    def _person(self, email: str, written: str, path: _Path) -> Person:
        token = self._resolve(written, path)
        if not isinstance(token, Secret):
            return Person.with_token(email, token)
        if token.unset:  # a placeholder is not accepted for logging in
            return Person(email, _NO_TOKEN, token.origin)
        if not token:
            self._flaw(path, "the token is empty: anyone could log in")
        return Person.with_token(email, token.reveal(), written=token.origin)

    def _config(self, value: Any, path: _Path) -> Any:
        """Return a copy of a configuration with its references resolved."""
        if isinstance(value, str):
            return self._resolve(value, path)
        if isinstance(value, dict):
            return {key: self._config(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._config(inner, (*path, i)) for i, inner in enumerate(value)]
        return value

    def _resolve(self, text: str, path: _Path) -> str | Secret:
        try:
            value = resolve(text, self._environ, url=_is_url(path))
        except ValueError as error:
            self._flaw(path, str(error))
            return text
        if isinstance(value, Secret):
            self.unset += [(path, name) for name in value.unset]
        return value

    def _code(self, shape: LibraryShape, path: _Path) -> tuple[Language | None, str, Path | None, str]:
        """Return language, code, file and version."""
        version = shape.version_id or ""
        if shape.code is not None and shape.file is not None:
            self._flaw((*path, "file"), "give 'code' or 'file', not both", key=True)
        file = None if shape.file is None else Path(shape.file)
        code = shape.code or (self._load_file(file, (*path, "file")) if file else "")
        language = shape.language or (LANGUAGES.get(file.suffix) if file else None)
        if language is None and (file or shape.code):
            self._flaw(path, f"{path[-1]!r} needs 'language': python or javascript", key=True)
        return language, code, file, version

    def _load_file(self, file: Path, path: _Path) -> str:
        place = self._folder / file
        try:
            with inputs.recording() as self.inputs[".".join(map(str, path[:2]))]:
                if not inputs.is_file(place):
                    raise ConfigError("no such file")
                return yamlfile.load_text(place)
        except (ConfigError, OSError) as error:
            message = error.problems[0].message if isinstance(error, ConfigError) else error.strerror
            self._flaw(path, f"cannot read {yamlfile.display_name(place)}: {message}")
            return ""

    def _flaw(self, path: _Path, message: str, *, key: bool = False) -> None:
        self.flaws.append(Flaw(path, message, key))


def _data_plane(shape: DataPlaneShape) -> DataPlaneSettings:
    return DataPlaneSettings(
        lenient=shape.lenient,
        dedup_window=float(shape.dedup_window),
        events=shape.retention.events,
        seconds=shape.retention.seconds,
        limits=PlaneLimits(**msgspec.structs.asdict(shape.limits)),
        event_blocking=shape.event_blocking,
        traces=shape.traces,
    )
