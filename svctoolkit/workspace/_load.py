"""Load a workspace from its file, and report every problem of the file at once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError, InvalidWorkspace, Problem, UnknownName, UnsetVariables, WorkspaceNotes
from svctoolkit.simulations import Level, check_level
from svctoolkit.workspace import _checks, _environments, _service, own_types
from svctoolkit.workspace._build import Builder
from svctoolkit.workspace._checks import Flaw
from svctoolkit.workspace._env_file import load_env
from svctoolkit.workspace._idle import idle_settings_of
from svctoolkit.workspace._loaded import announce
from svctoolkit.workspace._references import has_reference, not_set
from svctoolkit.workspace._shapes import (
    WorkspaceShape,
    schema,
)
from svctoolkit.yamlfile import Document

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace

_Path: TypeAlias = tuple[str | int, ...]
_SIMULATE = "SVC_SIMULATE"  # the level of destinations that do not set one


def load_file(
    kind: type[Workspace], path: Path, environ: Mapping[str, str], *, strict: bool, environment: str | None
) -> Workspace:
    """See `Workspace.load`."""
    project = _rudder_project_at(path)
    if project is not None:
        return _project(project, kind, environ, strict=strict, environment=environment)
    if path.is_dir():
        path = path / "workspace.yaml"
    with inputs.recording() as read:
        document = yamlfile.load(path, error=InvalidWorkspace)
        own_types.register(path.parent)
        name = environ.get(_environments.VARIABLE, "") if environment is None else environment
        if name:
            document = _environments.apply(document, name, path)
        environ = load_env(path.parent, environ)
    workspace = workspace_of(document, kind, path.parent, environ, strict=strict)
    if strict and not _service.describes(document) and (idle := list(_idle_flaws(workspace))):
        raise InvalidWorkspace(_problems(document, idle))
    workspace.file = path
    workspace.inputs[""] = read
    if name:
        workspace.environments = {}  # one of them has been applied, and would be saved as the base
    announce(workspace)
    return workspace


def _rudder_project_at(path: Path) -> Path | None:
    """Return the project of rudder-cli that a path means, if it is one."""
    if path.is_file() and path.name == "workspace.yaml":
        return None  # nearly always: reading projects is not imported then
    from svctoolkit.workspace._rudder_project import project_at

    return project_at(path)


def _project(
    folder: Path, kind: type[Workspace], environ: Mapping[str, str], *, strict: bool, environment: str | None
) -> Workspace:
    """Return the workspace in a project of rudder-cli, with the notes on it as a warning."""
    from svctoolkit.workspace._rudder_project import environment_of, load_project

    name = environment_of(environ, environment)
    with yamlfile.without_collector():
        workspace, notes = load_project(folder, kind, environ, strict=strict, environment=name)
    workspace.simulate = _level(environ)
    if notes:
        warnings.warn(WorkspaceNotes(yamlfile.cap(notes), len(notes), folder=str(folder)), stacklevel=4)
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


def _idle_flaws(workspace: Workspace) -> Iterator[Flaw]:
    """Yield a flaw for each setting that has no effect, unless the workspace accepts it."""
    for key, known in idle_settings_of(workspace.destinations):
        if known not in workspace.known:
            name = known.partition(".")[2]
            yield Flaw(("destinations", key, "config", name), f"{name} has no effect on events in cloud mode", key=True)


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
    misfits = [] if yamlfile.fits(document.data, WorkspaceShape) else yamlfile.misfits(document.data, schema())
    flaws = [Flaw(tuple(m.path), m.message, key=m.at_key) for m in misfits]
    if len(flaws) > yamlfile.MAX_PROBLEMS:
        raise InvalidWorkspace(_problems(document, _in_order(document, flaws)))
    rest = _Rest(document.data, misfits)
    builder = Builder(kind, folder, environ)
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


_RESOLVED = ("config", "token", "credentials", "secret", "renewals", "geolocation", "forward")


def _stray_references(value: Any, path: _Path) -> Iterator[Flaw]:
    if isinstance(value, str) and has_reference(value):
        yield Flaw(
            path,
            "$(env:...) is only supported in a destination's configuration, as a credential, in an account, as a "
            "token, in `forward` of a source and in `geolocation`",
        )
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in (
                "name",
                "config",
                "token",
                "code",
                "credentials",
                "secret",
                "renewals",
                "geolocation",
                "forward",
            ):
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
