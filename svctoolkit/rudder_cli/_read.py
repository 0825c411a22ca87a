"""Read a project: files, findings in the stages of rudder-cli, and its resources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import Final

from svctoolkit.errors import InvalidWorkspace
from svctoolkit.json_types import Json
from svctoolkit.rudder_cli import (
    _catalog,
    _connections,
    _destinations,
    _metadata,
    _others,
    _plans,
    _sources,
    _transformations,
)
from svctoolkit.rudder_cli._connections import Entry
from svctoolkit.rudder_cli._convert import by_rule, camel, keys_of, settings_of
from svctoolkit.rudder_cli._definitions import CURRENT, MODES, OLD, Definition, Release, find, is_later_only
from svctoolkit.rudder_cli._files import SpecFile, is_spec, project_files, read_file
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import duplicates, unknown_key

_MOST_SEARCHED: Final = 2000  # files, before a folder counts as something else
_SKIPPED: Final = ("node_modules", "__pycache__", "venv")
_Check = Callable[[SpecFile, Release], list[Finding]]
_CHECKS: Final[Mapping[str, _Check]] = {
    "destination": _destinations.check,
    "event-stream-source": _sources.check,
    "event-stream-connections": _connections.check,
    "transformation": _transformations.check,
    "transformation-library": _transformations.check,
    "retl-source-sql-model": _others.check_model,
    "data-graph": _others.check_graph,
    "import-manifest": _others.check_manifest,
    "tracking-plan": _plans.check,
    "tp": _plans.check,
    **dict.fromkeys(("categories", "events", "properties", "custom-types"), _catalog.check),
}


@dataclass(frozen=True)
class Destination:
    """A destination with the service's type and settings. `config` has the values of variables that are set."""

    id: str
    name: str
    type: str
    config: dict[str, Json]
    enabled: bool
    transformation: str
    file: SpecFile
    definition: Definition | None = field(repr=False)  # None: the type is kept, and not checked
    secret_keys: frozenset[str]  # keys in YAML that are secret
    keys: Mapping[str, str] = field(repr=False)  # setting -> key in YAML

    @property
    def secrets(self) -> frozenset[str] | None:
        """The settings that are secret; None if that is not known."""
        if self.definition is None:
            return None
        return frozenset(name for name, key in self.keys.items() if key in self.secret_keys)

    def key_of(self, setting: str) -> str:
        """Return the key in YAML that a setting comes from."""
        return self.keys.get(setting, setting)


@dataclass
class RudderProject:
    """A project of rudder-cli.

    `findings` are what `rudder-cli validate` reports, in order of file and line; `hidden` are those that it reports
    once the others are fixed. `notes` are ours: what is kept but not used, and what rudder-cli ignores.
    `release` is the release whose rules were applied.
    """

    folder: FilePath
    release: Release
    files: list[SpecFile] = field(default_factory=list, repr=False)
    findings: list[Finding] = field(default_factory=list)
    hidden: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> list[SpecFile]:
        """Return the files of kinds."""
        return [file for file in self.files if file.kind in kinds]

    @property
    def valid(self) -> bool:
        """Whether `rudder-cli validate` accepts the project."""
        return all(finding.severity != "error" for finding in self.findings)

    @cached_property
    def sources(self) -> dict[str, SpecFile]:
        """The files of sources, by id."""
        return {str(file.spec["id"]): file for file in self.of_kind("event-stream-source") if file.spec.get("id")}

    @cached_property
    def connections(self) -> list[Entry]:
        """All connections."""
        return _connections.entries(self.of_kind("event-stream-connections"))

    @cached_property
    def destinations(self) -> dict[str, Destination]:
        """The destinations with the settings of the service, by id. Those with invalid keys are left out."""
        invalid = {f.file for f in self.findings if f.severity == "error" and f.rule.startswith("destination/spec")}
        return {id_: item for id_, item in self.every_destination.items() if item.file.name not in invalid}

    @cached_property
    def every_destination(self) -> dict[str, Destination]:
        """Like `destinations`, with those that have invalid keys."""
        files = [file for file in self.of_kind("destination") if file.spec.get("id")]
        return {str(file.spec["id"]): self._destination(file, file.spec) for file in files}

    def with_references(self, destination: Destination) -> dict[str, Json]:
        """Return the settings of a destination with references in place of all variables, `$(env:RUDDER_NAME)`."""
        spec = destination.file.spec_with_references()
        return destination.config if spec is None else self._destination(destination.file, spec).config

    def _destination(self, file: SpecFile, spec: dict[str, Json]) -> Destination:
        definition = _destinations.definition_of(spec, self.release)
        config = spec.get("config") or {}
        settings = settings_of(config, definition) if definition else by_rule(config)
        type_ = definition.type if definition else _destinations.service_type(str(spec.get("type")))
        written = spec.get("transformation")
        secret = frozenset(path.split(".")[0] for path in definition.secrets) if definition else frozenset()
        keys = keys_of(definition) if definition else {camel(key): key for key in config}
        return Destination(
            str(spec["id"]),
            str(spec.get("display_name") or spec["id"]),
            type_,
            settings,
            spec.get("enabled") is True,
            written.partition(":")[2] if isinstance(written, str) else "",
            file,
            definition,
            secret,
            keys,
        )


def is_project(path: FilePath) -> bool:
    """Whether a folder, or one file, is a project of rudder-cli: a file of it declares a version of the format."""
    if path.is_file():
        return path.name.endswith((".yaml", ".yml")) and is_spec(path)
    return path.is_dir() and any(map(is_spec, islice(_visible_files(path), _MOST_SEARCHED)))


def _visible_files(folder: FilePath) -> Iterator[FilePath]:
    """Yield the YAML files of a folder, without those of hidden folders and of packages."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        yield from (FilePath(here, name) for name in sorted(names) if name.endswith((".yaml", ".yml")))


def read_project(
    folder: FilePath | str,
    variables: Mapping[str, str] | None = None,
    *,
    release: Release | None = None,
    placeholders: bool = False,
) -> RudderProject:
    """Read a project of rudder-cli, and check it as `rudder-cli validate` does, offline.

    `variables` are the values of `{{ .NAME }}`, without a prefix. A variable without a value and a default is an
    error, as for rudder-cli; with `placeholders` it becomes a reference, and what contains it is not checked.
    `release` is "0.24" or "1.0" (from 0.25 on); by default, the one that the files are written for.

    Raises `InvalidWorkspace` if the folder does not exist.
    """
    folder = FilePath(folder)
    if not folder.exists():
        raise InvalidWorkspace(f"{folder}: no such file or folder")
    project = RudderProject(folder, release or CURRENT)
    parsed: list[Finding] = []
    unknown: list[Finding] = []
    for path in project_files(folder):
        name = path.name if folder.is_file() else path.relative_to(folder).as_posix()
        file, found = read_file(path, name, variables or {}, placeholders=placeholders)
        file.attached = _transformations.attached_text(file)
        project.files.append(file)
        (unknown if found and found[0].rule.endswith("var-substitution") else parsed).extend(found)
    if release is None:
        project.release = release_of(project.files)
    project.notes = sorted(_notes(project), key=_place)
    project.findings = sorted(unknown or _stages(project, parsed), key=_place)
    if any(finding.severity == "error" for finding in project.findings):
        project.hidden = sorted(_hidden(project, parsed), key=_place)
    return project


def _hidden(project: RudderProject, parsed: list[Finding]) -> list[Finding]:
    """Return what the files that have no errors will show once the others are fixed.

    What is only missing because its file has an error is left out.
    """
    shown = {(f.rule, f.file, f.path) for f in project.findings}
    broken = {f.file for f in [*parsed, *project.findings] if f.severity == "error"}
    good = [file for file in project.files if file.document is not None and file.name not in broken]
    own = [f for file in good for f in _of_file(file, project.release)]
    good = [file for file in good if file.name not in {f.file for f in own}]
    rest = RudderProject(project.folder, project.release, good)
    declared = _catalog.Declared(good)
    later = [*own, *_metadata.over_all_files(good), *_load_faults(good), *_graph_faults(rest, declared)]
    later += _semantic(rest, declared)
    if broken:
        later = [f for f in later if "not found" not in f.message]
    return [f for f in later if (f.rule, f.file, f.path) not in shown]


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.file, finding.line, finding.column, finding.path


def release_of(files: list[SpecFile]) -> Release:
    """Return the release that files are written for: `1.0` if one of them has what 0.25 or later added."""
    return CURRENT if any(map(_is_later, files)) else OLD


def _is_later(file: SpecFile) -> bool:
    spec = file.spec
    if file.kind in _metadata.LATER_KINDS:
        return True
    if file.kind == "event-stream-source":
        return spec.get("type") in _sources.LATER_TYPES
    if file.kind != "destination":
        return False
    type_, config = spec.get("type"), spec.get("config")
    if not isinstance(type_, str) or not isinstance(config, dict):
        return isinstance(type_, str) and is_later_only(type_)
    later = is_later_only(type_) or _destinations.is_unchecked_type(type_)
    return later or MODES in config or (type_ in ("adj", "tiktok_ads") and "event_filtering" in config)


def _stages(project: RudderProject, parsed: list[Finding]) -> list[Finding]:
    """Return the findings of the first stage that has errors: each stage hides the later ones."""
    files = [file for file in project.files if file.document is not None]
    broken = {finding.file for finding in parsed}
    found = [*parsed, *(f for file in files if file.name not in broken for f in _of_file(file, project.release))]
    if not found:
        found = [*_metadata.over_all_files(files), *_others.duplicate_entries(project.of_kind("import-manifest"))]
    if not found:
        found = [*_load_faults(files)][:1]
    declared = _catalog.Declared(files)
    if not found:
        found = [*_graph_faults(project, declared)][:1]
    return found or list(_semantic(project, declared))


def _of_file(file: SpecFile, release: Release) -> Iterator[Finding]:
    envelope = _metadata.envelope(file)
    yield from envelope
    yield from _metadata.check_metadata(file)
    if not envelope and file.kind in _CHECKS:
        yield from _CHECKS[file.kind](file, release)


_STRICT: Final[Mapping[str, Json]] = {
    "event-stream-source": _sources.SHAPE,
    "event-stream-connections": _connections.SHAPE,
    "retl-source-sql-model": _others.MODEL,
    "tracking-plan": _plans.PLAN,
    "tp": _plans.OLD_PLAN,
}


def _load_faults(files: list[SpecFile]) -> Iterator[Finding]:
    """Yield what rudder-cli stops at when it loads the specs: it has neither a rule nor a place there."""
    for file in files:
        shape = _STRICT.get(file.kind) or _catalog.SHAPES.get((file.kind, file.old))
        path = unknown_key(file.spec, shape) if shape else None
        if path is not None:
            yield file.finding("", ("spec", *path), f"unknown key {path[-1]!r}")
        fault, at = _fault_of(file)
        if fault:
            yield file.finding("", ("spec", *at), fault)


def _fault_of(file: SpecFile) -> tuple[str, tuple[str, ...]]:
    if file.kind == "account":
        return _others.account_fault(file), ()
    if file.kind == "retl-source-sql-model":
        return _others.model_fault(file), ("file",)
    if file.kind in ("transformation", "transformation-library"):
        return _transformations.load_fault(file), ("file" if file.spec.get("file") else "code",)
    return "", ()


def _graph_faults(project: RudderProject, declared: _catalog.Declared) -> Iterator[Finding]:
    """Yield what rudder-cli stops at when it follows references, without a rule and a place."""
    for file in project.of_kind("tracking-plan", "tp"):
        found = _plans.dangling(file, declared)
        if found:
            yield file.finding("", *found)
    ring = _catalog.cycle(declared)
    if ring:
        file, path, _ = declared.kinds["custom-types"][ring[0].partition(":")[2]]
        yield file.finding("", path, f"circular dependency: {' -> '.join(ring)}")


def _semantic(project: RudderProject, declared: _catalog.Declared) -> Iterator[Finding]:
    """Yield the findings over the whole project."""
    destinations, sources = project.of_kind("destination"), project.of_kind("event-stream-source")
    code, libraries = project.of_kind("transformation"), project.of_kind("transformation-library")
    ends = _connections.Ends(project.sources, {str(f.spec.get("id")): f for f in destinations})
    yield from _catalog.semantic(declared)
    yield from _plans.semantic(project.of_kind("tracking-plan", "tp"), declared)
    yield from _sources.semantic(sources, {str(f.spec.get("id")) for f in project.of_kind("tracking-plan", "tp")})
    yield from _destinations.semantic(destinations, {str(f.spec.get("id")) for f in code})
    yield from _connections.semantic(project.connections, ends, project.release)
    yield from _transformations.semantic(code, libraries)
    yield from _others.semantic_graphs(project.of_kind("data-graph"))
    yield from _unique_names(sources, destinations, libraries, project.of_kind("retl-source-sql-model"))


def _unique_names(
    sources: list[SpecFile], destinations: list[SpecFile], libraries: list[SpecFile], models: list[SpecFile]
) -> Iterator[Finding]:
    for files, key, rule in (
        (sources, "name", _sources.SEMANTIC),
        (destinations, "display_name", "destination/semantic-valid"),
        (libraries, "import_name", "transformations/transformation-library/semantic-valid"),
        (models, "display_name", "retl/sqlmodel/semantic-valid"),
    ):
        names = [(file.spec.get(key), file, ("spec", key)) for file in files]
        yield from duplicates(names, rule, lambda name: f"duplicate name {name!r} in the project")


def _notes(project: RudderProject) -> Iterator[Finding]:
    """Yield what is kept but not used, and what rudder-cli ignores."""
    if project.folder.is_file():
        message = "one file is the whole project: `rudder-cli apply` removes everything else that it manages"
        yield Finding("", "note", project.folder.name, "", 1, 1, message)
    for file in project.files:
        if file.more:
            message = "rudder-cli reads only the first document of a file: it ignores this one"
            yield Finding("", "note", file.name, "", file.more, 1, message)
        if file.old:
            yield file.finding("", ("version",), f"{file.version} is deprecated: `rudder-cli migrate`", "note")
        if file.kind in _metadata.LATER_KINDS:
            yield file.finding("", ("kind",), f"kind {file.kind!r} is kept, and not run here", "note")
        elif file.kind == "destination" and (type_ := _unchecked(file, project.release)):
            message = f"the settings of {type_!r} are converted by rule and not checked: no definition here"
            yield file.finding("", ("spec", "type"), message, "note")


def _unchecked(file: SpecFile, release: Release) -> str:
    """Return the type of a destination that later releases have, without a definition here; else an empty text."""
    type_ = file.spec.get("type")
    if not isinstance(type_, str) or find(type_, release) is not None:
        return ""
    return type_ if _destinations.is_unchecked_type(type_) else ""
