"""Load a workspace from its file, and report every problem of the file at once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from svctoolkit import inputs, plans, yamlfile
from svctoolkit.errors import ConfigError, InvalidWorkspace, Problem, UnknownName, UnsetVariables, WorkspaceNotes
from svctoolkit.secrets import Secret
from svctoolkit.simulations import Level, check_level
from svctoolkit.transformations import Limits
from svctoolkit.workspace import _checks, _environments, _service, own_types
from svctoolkit.workspace._checks import Flaw
from svctoolkit.workspace._env_file import load_env
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
from svctoolkit.workspace._references import has_reference, not_set, resolve
from svctoolkit.workspace._settings import Calls, DataPlaneSettings, Delivery, PlaneLimits, Throttle, WarehouseSettings
from svctoolkit.workspace._shapes import (
    AccountShape,
    ForwardShape,
    LibraryShape,
    SourcePlanShape,
    SourceShape,
    TrackingPlanShape,
    TransformationShape,
    WorkspaceShape,
    schema,
)
from svctoolkit.yamlfile import Document

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace

_Path: TypeAlias = tuple[str | int, ...]
_SIMULATE = "SVC_SIMULATE"  # the level of destinations that do not set one
_NO_TOKEN = "0" * 64  # the hash of no known token


def load_file(
    kind: type[Workspace], path: Path, environ: Mapping[str, str], *, strict: bool, environment: str | None
) -> Workspace:
    """See `Workspace.load`."""
    with inputs.recording() as read:
        document = yamlfile.load(path, error=InvalidWorkspace)
        own_types.register(path.parent)
        name = environ.get(_environments.VARIABLE, "") if environment is None else environment
        if name:
            document = _environments.apply(document, name, path)
        environ = load_env(path.parent, environ)
    workspace = workspace_of(document, kind, path.parent, environ, strict=strict)
    workspace.file = path
    workspace.inputs[""] = read
    if name:
        workspace.environments = {}  # one of them has been applied, and would be saved as the base
    return workspace


def workspace_of(
    document: Document, kind: type[Workspace], folder: Path | None, environ: Mapping[str, str], *, strict: bool
) -> Workspace:
    """Return the workspace in a document. Raises `InvalidWorkspace` with every problem, in file order.

    If only types and configurations of destinations are invalid, issue a `WorkspaceWarning` instead, unless `strict`.
    """
    unset: dict[str, _Path] = {}
    simulate = _level(environ)
    with yamlfile.without_collector():
        if _service.describes(document):
            document = _service.configuration_of(document)
            workspace, flaws = _service.workspace_of(document, kind)
        else:
            workspace, flaws, unset = _from_file(document, kind, folder, environ)
    workspace.simulate = simulate
    if flaws and (strict or not all(flaw.bearable for flaw in flaws)):
        raise InvalidWorkspace(_problems(document, flaws))
    if flaws:
        names = [flaw.known for flaw in flaws if flaw.known]
        notes = WorkspaceNotes(_problems(document, flaws), len(flaws), names)
        warnings.warn(notes, stacklevel=4)  # the caller of `load`
    if unset:
        workspace.set_unset({name: document.problem(path, not_set(name)) for name, path in unset.items()})
        warnings.warn(UnsetVariables(document.name, [*unset]), stacklevel=4)
    return workspace


def _level(environ: Mapping[str, str]) -> Level | None:
    """Return the level in the environment. Raises `ConfigError` for an unknown one."""
    text = environ.get(_SIMULATE, "")
    try:
        return check_level(text) if text else None
    except ConfigError as error:
        raise ConfigError(f"{_SIMULATE}: {error}") from None


def _problems(document: Document, flaws: Sequence[Flaw]) -> list[Problem]:
    return yamlfile.cap(document.problem(flaw.path, flaw.message, key=flaw.key) for flaw in flaws)


def _from_file(
    document: Document, kind: type[Workspace], folder: Path | None, environ: Mapping[str, str]
) -> tuple[Workspace, list[Flaw], dict[str, _Path]]:
    """Return the workspace without members of the wrong shape, the flaws in file order, and the variables of secrets
    that are not set, with the first place of each.

    In a delivery mode that sends requests, a variable that is not set is a flaw.
    """
    misfits = yamlfile.misfits(document.data, schema())
    flaws = [Flaw(tuple(m.path), m.message, key=m.at_key) for m in misfits]
    if len(flaws) > yamlfile.MAX_PROBLEMS:
        raise InvalidWorkspace(_problems(document, _in_order(document, flaws)))
    rest = _Rest(document.data, misfits)
    builder = _Builder(kind, folder, environ)
    workspace = builder.workspace(msgspec.convert(rest.data, WorkspaceShape))
    workspace.folder = folder
    workspace.environments = rest.data.get("environments", {})
    workspace.inputs = builder.inputs
    unset = builder.unset
    if unset and _may_send(workspace):
        builder.flaws += [Flaw(path, not_set(name)) for path, name in unset]
        unset = []
    places: dict[str, _Path] = {}
    for path, name in unset:
        places.setdefault(name, rest.original(path))
    return workspace, _in_order(document, [*flaws, *_others(rest, builder.flaws, workspace)]), places


def _may_send(workspace: Workspace) -> bool:
    try:
        return workspace.sends
    except UnknownName:  # an unknown delivery mode, which is reported, may be a misspelt `live`
        return True


def _in_order(document: Document, flaws: Sequence[Flaw]) -> list[Flaw]:
    return sorted(flaws, key=lambda flaw: document.position(flaw.path, key=flaw.key))


class _Rest:
    """`data` without the parts that do not fit the schema, so that the rest can be checked, too.

    `removed` has the removed paths. Single members are removed first; if that is not enough, so are their parents.
    """

    def __init__(self, data: Any, misfits: list[yamlfile.Misfit]) -> None:
        self.data, self.removed = data, set[_Path]()
        self._kept: dict[_Path, list[int]] = {}
        if misfits:
            self.data = json.loads(json.dumps(data))
        for depth in (5, 4, 3, 2, 1, 0):
            paths = {tuple(m.path if m.unknown else m.path[:depth]) for m in misfits}
            for path in sorted(paths, key=_from_the_end):
                self.removed.add(self.original(path))
                self._remove(path)
            if misfits:
                misfits = yamlfile.misfits(self.data, schema())

    def original(self, path: _Path) -> _Path:
        """Return the path in the file for a path in `data`: list items move up when an earlier one is removed."""
        for i, step in enumerate(path):
            if isinstance(step, int) and path[:i] in self._kept:
                return (*path[:i], self._kept[path[:i]][step], *path[i + 1 :])
        return path

    def _remove(self, path: _Path) -> None:
        if not path:
            self.data = {}
            return
        owner, last = self.data, path[-1]
        for step in path[:-1]:
            owner = owner[step]
        if isinstance(last, int):
            self._kept.setdefault(path[:-1], list(range(len(owner)))).pop(last)
        owner.pop(last)


def _from_the_end(path: _Path) -> tuple[list[int], int]:
    """Sort key for paths, so that no removal changes the index of a later one."""
    return [-step for step in path if isinstance(step, int)], -len(path)


def _stray_references(value: Any, path: _Path) -> Iterator[Flaw]:
    if isinstance(value, str) and has_reference(value):
        yield Flaw(
            path,
            "$(env:...) is only supported in a destination's configuration, as a credential, in an account, as a "
            "token, in `forward` of a source and in `geolocation`",
        )
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("config", "token", "code", "credentials", "secret", "renewals", "geolocation", "forward"):
                yield from _stray_references(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _stray_references(inner, (*path, i))


def _others(rest: _Rest, problems: list[Flaw], workspace: Workspace) -> list[Flaw]:
    """Return the flaws of the parts of the right shape, except those caused by a problem that is reported already."""
    others = [_place(flaw, rest) for flaw in [*_stray_references(rest.data, ()), *problems]]
    paths = {*rest.removed, *(flaw.path for flaw in others)}
    later = (_place(flaw, rest) for flaw in _checks.flaws(workspace))
    return [*others, *islice((f for f in later if not _follows(f, paths)), yamlfile.MAX_PROBLEMS + 1)]


def _place(flaw: Flaw, rest: _Rest) -> Flaw:
    return flaw._replace(path=rest.original(flaw.path))


def _follows(flaw: Flaw, paths: set[_Path]) -> bool:
    above = {flaw.path[:n] for n in range(1, len(flaw.path) + 1)}
    return bool(above & paths) or flaw.missing in paths or flaw.missing[:1] in paths


def _is_url(path: _Path) -> bool:
    """Whether the setting at a path is a URL, by its name."""
    return str(path[-1]).lower().endswith(("url", "endpoint", "geolocation"))


class _Builder:
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
        delivery = shape.delivery
        return self._kind(
            name=shape.workspace,
            sources={key: self._source(key, source) for key, source in shape.sources.items()},
            destinations={
                key: Destination(
                    key,
                    item.id or key,
                    key if item.name is None else item.name,
                    item.type,
                    item.enabled,
                    self._config(item.config, ("destinations", key, "config")),
                    item.transformation,
                    *account_and_declarations(item.account),
                    item.simulate,
                )
                for key, item in shape.destinations.items()
            },
            transformations={key: self._transformation(key, item) for key, item in shape.transformations.items()},
            libraries={
                key: Library(key, *self._code(item, ("libraries", key))) for key, item in shape.libraries.items()
            },
            accounts={key: self._account(key, item) for key, item in shape.accounts.items()},
            credentials=self._config(shape.credentials, ("credentials",)),
            tracking_plans={key: self._tracking_plan(key, item) for key, item in shape.tracking_plans.items()},
            users=[
                self._person(person.email, person.token, ("users", i, "token")) for i, person in enumerate(shape.users)
            ],
            delivery=Delivery(
                delivery.mode,
                delivery.allow,
                float(delivery.timeout),
                self._resolve(delivery.geolocation, ("delivery", "geolocation")),
                Path(delivery.cassette) if delivery.cassette else None,
                delivery.profile,
                {n: v for n, v in msgspec.structs.asdict(delivery.backoff).items() if v is not None},
                delivery.concurrency,
                None if isinstance(delivery.batch, str) else Calls(delivery.batch.jobs, float(delivery.batch.wait)),
                {
                    key: Throttle(item.limit, float(item.seconds), item.adaptive)
                    for key, item in delivery.throttle.items()
                },
                delivery.simulate,
                delivery.braze_limit,
            ),
            data_plane=DataPlaneSettings(
                shape.data_plane.lenient,
                float(shape.data_plane.dedup_window),
                shape.data_plane.retention.events,
                shape.data_plane.retention.seconds,
                PlaneLimits(**msgspec.structs.asdict(shape.data_plane.limits)),
                shape.data_plane.event_blocking,
            ),
            warehouses=WarehouseSettings(**msgspec.structs.asdict(shape.warehouses)),
            limits=Limits(**msgspec.structs.asdict(shape.limits)),
            known=[*shape.known],
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
        )

    def _forward(self, shape: ForwardShape, path: tuple[str, ...]) -> Forward | None:
        """Return what forwards a source's requests; None without its secrets, because a placeholder would be sent."""
        key = self._resolve(shape.write_key, (*path, "writeKey"))
        secret = key if isinstance(key, Secret) else Secret(key)
        url = self._resolve(shape.url, (*path, "url"))
        if secret.unset or (isinstance(url, Secret) and url.unset):
            return None
        return Forward(url, secret, shape.answer)

    def _tracking_plan(self, key: str, shape: TrackingPlanShape) -> TrackingPlan:
        """Load a tracking plan. Problems in its files are reported with positions in those files."""
        path = ("trackingPlans", key)
        item = TrackingPlan(key, None, shape.format, shape.plan, shape.version, shape.strict)
        if (shape.project is None) == (shape.file is None):
            self._flaw(path, "give either 'project' (a folder) or 'file'", key=True)
            return item
        item.path = Path(shape.project or shape.file or "")
        member = "file" if shape.project is None else "project"
        form = item.format or ("rudder-cli" if shape.project is not None else None)
        try:
            with inputs.recording() as self.inputs[".".join(path)]:
                item.project = plans.load(self._folder / item.path, format=form, strict=item.strict)
            if item.plan is not None:
                item.project.plan(item.plan)
        except UnknownName as error:
            self._flaw((*path, "plan" if error.kind == "tracking plan" else "format"), str(error.problems[0].message))
        except ConfigError as error:
            self._flaw((*path, member), f"cannot be used:\n{error}")
        return item

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
        if token.unset:  # nobody can log in with a placeholder
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
            said = error.problems[0].message if isinstance(error, ConfigError) else error.strerror
            self._flaw(path, f"cannot read {yamlfile.display_name(place)}: {said}")
            return ""

    def _flaw(self, path: _Path, message: str, *, key: bool = False) -> None:
        self.flaws.append(Flaw(path, message, key))
