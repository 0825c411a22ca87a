"""A project of RudderStack's command line as a workspace."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from svctoolkit import inputs, plans, rudder_cli
from svctoolkit.errors import ConfigError, InvalidPlan, InvalidWorkspace, Problem, UnknownName, UnsetVariables
from svctoolkit.rudder_cli import SUFFIXES, Finding, RudderProject
from svctoolkit.secrets import Secret
from svctoolkit.workspace import _environments
from svctoolkit.workspace._env_file import load_env
from svctoolkit.workspace._items import Connection, Destination, Library, Source, TrackingPlan, Transformation
from svctoolkit.workspace._references import has_reference, not_set, resolve

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace

FILE: Final = "workspace.yaml"
#: Rules whose findings mean that a file cannot be used at all.
_FATAL: Final = ("project/spec-syntax-parse-valid", "project/spec-syntax-valid", "project/resource-kind-version-valid")


def project_at(path: Path) -> Path | None:
    """Return the folder of a project (or its only file) that a path of a workspace means; None if it means none.

    A folder with a workspace.yaml is that workspace. A missing workspace.yaml means the project in its folder.
    """
    if path.is_dir():
        return path if not (path / FILE).exists() and rudder_cli.is_project(path) else None
    if path.exists():
        return path if path.suffix in (".yaml", ".yml") and rudder_cli.is_spec(path) else None
    return path.parent if path.name == FILE and path.parent.is_dir() and rudder_cli.is_project(path.parent) else None


def variables_of(folder: Path, environ: Mapping[str, str], environment: str = "") -> dict[str, str]:
    """Return the variables of a project: those of files, the later one first, and of `RUDDER_NAME` before all.

    Files are those of `--var-file`, after the file of the environment, `NAME.vars.yaml` in the project or next to it.
    Raises `UnknownName` for an environment without a file, `ConfigError` for an invalid file.
    """
    first = [_environment_file(folder, environment)] if environment else []
    return rudder_cli.given_variables(environ, first)


def _environment_file(folder: Path, name: str) -> Path:
    found = variable_files(folder)
    for file in found:
        if file.name in {f"{name}{suffix}" for suffix in SUFFIXES}:
            return file
    names = [file.name.partition(".vars.")[0] for file in found]
    hint = f" Environments of a project of rudder-cli are files of variables next to it: {name}.vars.yaml."
    raise UnknownName("environment", name, names, where=str(folder), hint=hint)


def variable_files(folder: Path) -> list[Path]:
    """Return the files of variables in a project's folder and next to it: they are proposed, and not read."""
    base = folder if folder.is_dir() else folder.parent
    places = [base] if base.resolve() == Path.cwd() else [base, base.parent]
    return [file for place in places for suffix in SUFFIXES for file in inputs.listing(place, f"*{suffix}")]


def load_project(
    folder: Path, kind: type[Workspace], environ: Mapping[str, str], *, strict: bool, environment: str
) -> tuple[Workspace, list[Problem]]:
    """Return the workspace in a project, and notes on it: what rudder-cli would reject, and what is kept but not used.

    Raises `InvalidWorkspace` for files that cannot be read; with `strict` also for everything that rudder-cli rejects.
    """
    base = folder if folder.is_dir() else folder.parent
    environ = load_env(base, load_env(base.absolute().parent, environ))
    try:
        values = variables_of(folder, environ, environment)
    except UnknownName:
        raise
    except ConfigError as error:
        raise InvalidWorkspace(error.problems) from error
    with inputs.recording() as read:
        project = rudder_cli.read_project(folder, values, placeholders=True)
        for suffix in ("yaml", "yml"):
            inputs.listing(base, f"**/*.{suffix}")
    errors = [finding for finding in project.findings if finding.severity == "error"]
    foreign = {file.name for file in project.files if file.foreign}
    fatal = [f for f in errors if strict or ((f.rule in _FATAL or f.path == "/spec") and f.file not in foreign)]
    if fatal:
        raise InvalidWorkspace([problem_of(finding, base) for finding in fatal])
    builder = _Builder(project, kind(base.resolve().name), {**_prefixed(values), **environ})
    workspace = builder.workspace
    workspace.folder, workspace.project = base, project
    workspace.inputs[""] = read
    notes = [problem_of(finding, base) for finding in [*project.findings, *project.notes]]
    notes += _add_plans(workspace, project, values, strict)
    if builder.unset:
        _set_unset(workspace, builder.unset, folder)
    return workspace, notes


def _prefixed(values: Mapping[str, str]) -> dict[str, str]:
    return {f"RUDDER_{name}": value for name, value in values.items()}


def problem_of(finding: Finding, base: Path) -> Problem:
    """Return a finding as a problem, with the path that the user's editor knows."""
    rule = f" [{finding.rule}]" if finding.rule else ""
    kind = "" if finding.severity == "error" else f"{finding.severity}: "
    where = finding.where if base == Path() else f"{base}/{finding.where}"
    return Problem(f"{kind}{finding.message}{rule}", where)


def _set_unset(workspace: Workspace, unset: Mapping[str, str], folder: Path) -> None:
    """Note the variables without a value, and propose the files that may have them."""
    import warnings

    workspace.set_unset({name: Problem(not_set(name), where) for name, where in unset.items()})
    given = " ".join(f"--var-file {os.path.relpath(file)}" for file in variable_files(folder)[:3])
    hint = f"; files of variables are read only when given: {given}" if given else ""
    warnings.warn(UnsetVariables(str(folder), [*unset], hint), stacklevel=5)


class _Builder:
    """Builds a workspace. `unset` has the environment variables without a value, with the file of each."""

    def __init__(self, project: RudderProject, workspace: Workspace, environ: Mapping[str, str]) -> None:
        self.project, self.workspace, self._environ = project, workspace, environ
        self.unset: dict[str, str] = {}
        self._code_ids = {str(file.spec.get("id")) for file in project.of_kind("transformation")}
        for id_ in project.sources:
            self._source(id_)
        for id_ in project.every_destination:
            self._destination(id_)
        for file in project.of_kind("transformation", "transformation-library"):
            self._code(file)

    def _source(self, id_: str) -> None:
        file = self.project.sources[id_]
        spec = file.spec
        connections = [
            Connection(entry.destination, entry.enabled)
            for entry in self.project.connections
            if entry.source == id_ and entry.destination in self.project.every_destination
        ]
        type_ = rudder_cli.platform(str(spec.get("type")))
        enabled = spec.get("enabled") is not False
        source = Source(id_, id_, str(spec.get("name") or id_), type_, id_, enabled, connections)
        self.workspace.sources[id_] = source

    def _destination(self, id_: str) -> None:
        item = self.project.every_destination[id_]
        config = self._resolved(item.config, self.project.with_references(item), item.secrets, item.file.name, ())
        code = item.transformation if item.transformation in self._code_ids else None
        enabled = item.enabled or _is_open(item.file.spec.get("enabled"))
        self.workspace.destinations[id_] = Destination(id_, id_, item.name, item.type, enabled, config, code)

    def _resolved(
        self, value: Any, reference: Any, secrets: frozenset[str] | None, file: str, path: tuple[str, ...]
    ) -> Any:
        """Return a value with its secrets: as references to variables where the file has one."""
        if isinstance(value, dict):
            inner = reference if isinstance(reference, dict) else {}
            return {k: self._resolved(v, inner.get(k), secrets, file, (*path, k)) for k, v in value.items()}
        if isinstance(value, list):
            same = isinstance(reference, list) and len(reference) == len(value)
            others = reference if same else [None] * len(value)
            return [self._resolved(v, r, secrets, file, path) for v, r in zip(value, others, strict=True)]
        if not isinstance(value, str):
            return value
        is_secret = secrets is None or path[0] in secrets
        if has_reference(value):
            return self._secret(value, file, path)
        if is_secret and isinstance(reference, str) and has_reference(reference):
            return self._secret(reference, file, path)
        return value

    def _secret(self, text: str, file: str, path: tuple[str, ...]) -> str | Secret:
        try:
            value = resolve(text, self._environ, url=path[-1].lower().endswith(("url", "endpoint")))
        except ValueError:
            return text
        if isinstance(value, Secret):
            for name in value.unset:
                self.unset.setdefault(name, file)
        return value

    def _code(self, file: rudder_cli.SpecFile) -> None:
        spec = file.spec
        code, path = rudder_cli.code_of(file)
        base = self.project.folder if self.project.folder.is_dir() else self.project.folder.parent
        relative = Path(os.path.relpath(path, base)) if path is not None else None
        language = spec.get("language")
        chosen = language if language in ("javascript", "python") else None
        if file.kind == "transformation-library":
            key = str(spec.get("import_name") or spec.get("id"))
            self.workspace.libraries[key] = Library(key, chosen, code, relative)
        else:
            key = str(spec.get("id"))
            name = str(spec.get("name") or key)
            self.workspace.transformations[key] = Transformation(key, key, name, chosen, None, code, relative)


def _is_open(value: Any) -> bool:
    """Whether a value is a variable without a value."""
    return isinstance(value, str) and has_reference(value)


def _add_plans(workspace: Workspace, project: RudderProject, values: Mapping[str, str], strict: bool) -> list[Problem]:
    """Add the tracking plans of a project, and link the sources to them. Return the plan reader's problems."""
    if not project.of_kind("tracking-plan", "tp"):
        return []
    problems: list[Problem] = []
    files = project.of_kind(*rudder_cli.PLAN_KINDS)
    documents = {file.path: file.document for file in files if file.document and not file.foreign}
    options: dict[str, Any] = {"format": "rudder-cli", "variables": values, "documents": documents}
    with inputs.recording() as read:
        for path in documents:
            inputs.noted(path)
        try:
            loaded, lenient = plans.load(project.folder, **options), False
        except InvalidPlan as error:
            if strict:
                raise InvalidWorkspace(error.problems) from error
            problems += error.problems
            try:
                loaded, lenient = plans.load(project.folder, strict=False, **options), True
            except InvalidPlan:
                return problems
    for document in documents.values():
        document.release()
    for id_ in loaded.plans:
        item = TrackingPlan(id_, Path(), "rudder-cli", id_, strict=not lenient, project=loaded)
        workspace.tracking_plans[id_] = item
        workspace.inputs[f"trackingPlans.{id_}"] = read
    for id_, source in workspace.sources.items():
        file = project.sources[id_]
        plan = rudder_cli.plan_of(file)
        if plan in loaded.plans:
            source.tracking_plan = plan
            source.plan_settings = dict(_plan_settings(file.spec))
    return problems


def _plan_settings(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    config = spec["governance"]["validations"].get("config") or {}
    for kind, settings in config.items():
        yield kind, dict(settings or {})


def environment_of(environ: Mapping[str, str], environment: str | None) -> str:
    """Return the chosen environment; empty for none."""
    return environ.get(_environments.VARIABLE, "") if environment is None else environment
