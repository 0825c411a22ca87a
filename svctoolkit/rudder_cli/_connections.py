"""Rules of `kind: event-stream-connections`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import CURRENT, MODES, NATIVE, Definition, Release
from svctoolkit.rudder_cli._destinations import definition_of
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import BOOLEAN, TEXT, Checker, is_open
from svctoolkit.rudder_cli._sources import source_type

SYNTAX: Final = "event-stream/connection/spec-syntax-valid"
SEMANTIC: Final = "event-stream/connection/semantic-valid"
ENABLED: Final = "event-stream/connection/enabled-endpoints-valid"
SHAPE: Final = {"connections": [{"id": TEXT, "source": TEXT, "destination": TEXT, "enabled": BOOLEAN}]}
_KINDS: Final = {"source": "event-stream-source", "destination": "destination"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A connection with its place. `source` and `destination` are ids; empty if they are no references."""

    file: SpecFile
    index: int
    id: str
    source: str
    destination: str
    enabled: bool

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path of the entry in its file."""
        return ("spec", "connections", self.index)


def check(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of a file of connections."""
    checker = Checker(file, SYNTAX)
    if not checker.fits(SHAPE):
        return checker.findings
    for i, item in enumerate(file.spec.get("connections") or ()):
        path = ("connections", i)
        item = item or {}
        checker.needs(item, path, "id", "source", "destination")
        for key in ("source", "destination"):
            written = item.get(key)
            if written and not is_open(written) and (reason := _wrong_reference(key, written)):
                checker.add((*path, key), reason)
    return checker.findings


def _wrong_reference(key: str, written: str) -> str:
    kind = _KINDS[key]
    name, colon, id_ = written.strip().removeprefix("#").partition(":")
    if not written.strip().startswith("#") or not colon or not id_ or not name:
        return f"{key!r} must be written #{kind}:<id>"
    return "" if name == kind else f"{key!r} must refer to a {kind}, not to a {name}"


def _id(key: str, written: Json) -> str:
    if not isinstance(written, str) or is_open(written):
        return ""
    name, _, id_ = written.strip().partition(":")
    return id_ if name == f"#{_KINDS[key]}" else ""


def entries(files: list[SpecFile]) -> list[Entry]:
    """Return all connections of a project."""
    return [
        Entry(
            file,
            i,
            str(item.get("id") or ""),
            _id("source", item.get("source")),
            _id("destination", item.get("destination")),
            item.get("enabled") is not False,
        )
        for file in files
        for i, item in enumerate(file.spec.get("connections") or ())
        if isinstance(item, dict)
    ]


class Ends(NamedTuple):
    """The sources and destinations of a project, by id."""

    sources: Mapping[str, SpecFile]
    destinations: Mapping[str, SpecFile]


def semantic(connections: list[Entry], ends: Ends, release: Release) -> Iterator[Finding]:
    """Yield the findings over the whole project."""
    pairs: dict[tuple[str, str], list[Entry]] = {}
    for entry in connections:
        pairs.setdefault((entry.source, entry.destination), []).append(entry)
        yield from _of_entry(entry, ends, release)
    for (source, destination), same in pairs.items():
        if len(same) > 1:
            message = f"source {source!r} and destination {destination!r} are connected more than once"
            yield from (entry.file.finding(SEMANTIC, entry.path, message) for entry in same)


def _of_entry(entry: Entry, ends: Ends, release: Release) -> Iterator[Finding]:
    source, destination = ends.sources.get(entry.source), ends.destinations.get(entry.destination)
    for key, found, what in (("source", source, "source"), ("destination", destination, "destination")):
        id_ = getattr(entry, key)
        if found is None and id_:
            path = (*entry.path, key)
            yield entry.file.finding(SEMANTIC, path, f"{what} {id_!r} not found in the project")
    if source is None or destination is None:
        return
    definition = definition_of(destination.spec, release)
    if definition is not None:
        yield from _support(entry, source, destination, definition)
    yield from _disabled(entry, source, destination)


def _disabled(entry: Entry, source: SpecFile, destination: SpecFile) -> Iterator[Finding]:
    if not entry.enabled:
        return
    for key, off in (
        ("source", source.spec.get("enabled") is False),
        ("destination", destination.spec.get("enabled") in (None, False)),
    ):
        if off:
            message = f"the connection {entry.id!r} is enabled, but its {key} is disabled: it delivers nothing"
            yield entry.file.finding(ENABLED, (*entry.path, key), message, "warning")


def _support(entry: Entry, source: SpecFile, destination: SpecFile, definition: Definition) -> Iterator[Finding]:
    type_ = source_type(str(source.spec.get("type")))
    path = (*entry.path, "destination")
    name = f"destination {entry.destination!r}"
    if type_ not in definition.modes:
        message = f"{name} ({definition.cli_type}) does not support sources of the type {type_!r}"
        yield entry.file.finding(SEMANTIC, path, message)
    elif definition.release == CURRENT:
        yield from _mode(entry, type_, destination, definition)


def _mode(entry: Entry, type_: str, destination: SpecFile, definition: Definition) -> Iterator[Finding]:
    config = destination.spec.get("config") or {}
    path = (*entry.path, "destination")
    modes, native = config.get(MODES), config.get(NATIVE)
    mode = modes.get(type_) if isinstance(modes, dict) else None
    if mode is None and not (isinstance(native, dict) and type_ in native and NATIVE in definition.tree()):
        message = f"destination {entry.destination!r} has no connection_mode for the source type {type_!r}: add it"
        yield entry.file.finding(SEMANTIC, path, message)
        return
    for key in definition.needed.get(type_, {}).get(str(mode), ()):
        if config.get(key) in (None, ""):
            message = f"destination {entry.destination!r} needs {key!r} for {type_!r} in the mode {mode!r}"
            yield entry.file.finding(SEMANTIC, path, message)
