"""Finds the files of a project, and fills in the variables in their values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from svctoolkit import inputs, rudder_cli
from svctoolkit.errors import Problem, did_you_mean
from svctoolkit.plans.formats._contract import Loader, files_below
from svctoolkit.yamlfile import Document, Text

OLD, NEW = "rudder/v0.1", "rudder/v1"
_VERSIONS: Final = {"rudder/0.1": OLD, "rudder/v0.1": OLD, "rudder/v1": NEW}
#: kinds that plans are built from, by version
_KINDS: Final = {
    OLD: {"properties", "custom-types", "events", "categories", "tp", "event-stream-source"},
    NEW: {"properties", "custom-types", "events", "categories", "tracking-plan", "event-stream-source"},
}
#: other kinds that a project may contain
_OTHERS: Final = {
    "transformation",
    "transformation-library",
    "destination",
    "event-stream-connections",
    "account",
    "import-manifest",
    "retl-source-sql-model",
    "retl-source-table",
    "retl-connections",
    "data-graph",
}
_KIND: Final = re.compile(rb"(?m)^kind[ ]*:[ ]*[\"']?([\w-]+)")
_TOP: Final = {"version", "kind", "metadata", "spec"}


class Item(NamedTuple):
    """A part of a file: its data and its position."""

    file: SpecFile
    data: Any
    path: tuple[str | int, ...]

    def at(self, *steps: str | int) -> Item:
        """Return a part of this part."""
        data = self.data
        for step in steps:
            data = data[step]
        return Item(self.file, data, (*self.path, *steps))

    def items(self, name: str) -> Iterator[Item]:
        """Yield the items of a list in it. A problem is noted if it is not a list."""
        value = self.data.get(name)
        if value is None:
            return
        if not isinstance(value, list):
            self.note(f"{name!r} must be a list", name)
            return
        for place in range(len(value)):
            yield self.at(name, place)

    @property
    def where(self) -> str:
        return self.file.document.where(self.path)

    def note(self, message: str, *steps: str | int, key: bool = False) -> None:
        self.file.loader.note(self.file.document, (*self.path, *steps), message, key=key)

    def text(self, name: str, default: str = "") -> str:
        """Return a string in it. A problem is noted if it is not a string."""
        value = self.data.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            self.note(f"{name!r} must be a string", name)
            return default
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean in it. A problem is noted if it is not one."""
        value = self.data.get(name, default)
        if not isinstance(value, bool):
            self.note(f"{name!r} must be true or false", name)
            return default
        return value

    def fits(self, *names: str, needs: tuple[str, ...] = ()) -> bool:
        """Whether it is an object. Unknown and missing keys are noted."""
        if not isinstance(self.data, dict):
            self.note(f"must be an object with {', '.join(needs or names)}")
            return False
        for name in self.data:
            if name not in names:
                near = did_you_mean(name, names)
                self.note(f"unknown key {name!r}.{near or ' Known keys: ' + ', '.join(names) + '.'}", name, key=True)
        for name in needs:
            if self.data.get(name) in (None, ""):
                self.note(f"{name!r} is missing", *([name] if name in self.data else []))
        return True


class SpecFile(NamedTuple):
    """A file of a project."""

    document: Document
    loader: Loader
    version: str
    kind: str

    @property
    def old(self) -> bool:
        return self.version == OLD

    @property
    def spec(self) -> Item:
        return Item(self, self.document.data["spec"], ("spec",))


def spec_files(folder: Path, loader: Loader) -> list[SpecFile]:
    """Return the files of a project that plans are built from. Problems with the files themselves are noted."""
    if loader.documents is not None:
        paths = list(loader.documents)
    else:
        paths = files_below(folder, (".yaml", ".yml")) if folder.is_dir() else [folder]
    variables = loader.variables
    if variables is None:
        variables = rudder_cli.given_variables(os.environ)
    proposed = [path for path in paths if path.name.endswith(rudder_cli.SUFFIXES)]
    files: list[SpecFile] = []
    unset: dict[str, list[str]] = {}
    for path in paths:
        files += _spec_files(path, loader, variables, proposed, unset)
    loader.problems += [Problem(_further(reason, places[1:]), places[0]) for reason, places in unset.items()]
    # Whatever refers to a file with a variable that has no value would be reported as well.
    return [] if unset else files


def _further(reason: str, places: list[str]) -> str:
    return f"{reason} (also used at {places[0]}{_more(len(places) - 1)})" if places else reason


def _more(count: int) -> str:
    return f" and {count} more place{'s' if count > 1 else ''}" if count else ""


def _spec_files(
    path: Path, loader: Loader, variables: Mapping[str, str], proposed: list[Path], unset: dict[str, list[str]]
) -> Iterator[SpecFile]:
    """Yield the documents of a file, such as `plan infer` prints; mostly one. `unset` gets where a value is missing."""
    parsed = loader.documents is not None
    if not parsed and (path in proposed or not rudder_cli.is_spec(path) or _is_other(path)):
        return

    def fill(text: str, name: str) -> str:
        filled, source = rudder_cli.substitute(text, variables), Text(text, name)
        unknown = [use for use in filled.uses if use.reason]
        for use in unknown:
            unset.setdefault(_why(use, proposed), []).append(source.where_at(use.index))
        return "" if unknown else filled.text

    for document in loader.load_each(path, fill):
        if not isinstance(document.data, dict):
            continue
        file = _spec_file(document, document.data, loader)
        if file is not None:
            yield file


def _is_other(path: Path) -> bool:
    """Whether all documents of a file are of kinds that plans do not need, such as destinations."""
    kinds = _KIND.findall(inputs.read(path))
    return bool(kinds) and all(kind.decode("utf-8", "replace") in _OTHERS for kind in kinds)


def _why(use: rudder_cli.Use, proposed: list[Path]) -> str:
    """Return why a variable has no value, and which files may have one: they are read only when given."""
    names = ", ".join(f"--var-file {path.name}" for path in proposed[:3])
    return f"{use.reason} ({names})" if names and "undefined" in use.reason else use.reason


def _kind_of(data: Mapping[str, Any]) -> str:
    return str(data.get("kind"))


def _spec_file(document: Document, data: dict[str, Any], loader: Loader) -> SpecFile | None:
    version = _VERSIONS.get(str(data.get("version")))
    if version is None:
        known = ", ".join(sorted(_VERSIONS))
        loader.note(document, ("version",), f"{data.get('version')!r} is not a supported version: {known}")
        return None
    kind = _kind_of(data)
    if kind in _OTHERS:
        return None
    if kind not in _KINDS[version]:
        if not _is_mistake(kind):
            return None  # of a newer release
        loader.note(document, ("kind",), _wrong_kind(kind, version))
        return None
    for name in data:
        if name not in _TOP:
            loader.note(document, (name,), f"unknown key {name!r}.{did_you_mean(name, _TOP)}", key=True)
    if not isinstance(data.get("spec"), dict):
        loader.note(document, ("spec",), "'spec' must be an object")
        return None
    return SpecFile(document, loader, version, str(kind))


def _is_mistake(kind: str) -> bool:
    """Whether an unknown kind is one that plans are built from, misspelt or in the wrong version."""
    known = _KINDS[OLD] | _KINDS[NEW]
    return kind in known or bool(did_you_mean(kind, sorted(known)))


def _wrong_kind(kind: str, version: str) -> str:
    other = NEW if version == OLD else OLD
    if kind in _KINDS[other]:
        instead = "tracking-plan" if version == NEW else "tp"
        return f"kind {kind!r} belongs to {other}; {version} uses {instead!r}"
    return f"unknown kind {kind!r}.{did_you_mean(kind, [*_KINDS[version], *_OTHERS])}"


def describes(folder: Path) -> bool:
    """Whether a folder or file belongs to a project."""
    paths = files_below(folder, (".yaml", ".yml")) if folder.is_dir() else [folder]
    return any(map(rudder_cli.is_spec, paths))
