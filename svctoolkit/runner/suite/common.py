"""`_common.yaml`: what the suites of a folder, and of the folders below it, have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import InvalidSuite, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import SHARED, Document

NAME = "_common.yaml"
_FILES = (".json", ".ndjson", ".yaml", ".yml")
_ROOT = (".git", "pyproject.toml")  # a project ends at a folder with one of these


class CommonFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of shared settings."""

    vars: dict[str, Any] = {}
    fixtures: dict[str, Any] = {}
    recorder: _format.RecorderScript = {}
    never: _format.Never = []
    always: _format.Always = {}
    losses: _format.CodeLosses = msgspec.UNSET
    policies: _format.PolicyFile = msgspec.UNSET


@cache
def _schema() -> dict[str, Json]:
    return yamlfile.schema(CommonFile)


class Common(msgspec.Struct, frozen=True):
    """The shared files of a suite, the nearest last. Keys of a nearer file replace those of one further up."""

    documents: tuple[Document, ...] = ()

    def section(self, name: str, own: Mapping[str, Json]) -> dict[str, Json]:
        """Return a section of a suite (`vars`, `fixtures`, `recorder`) with the shared entries before its own."""
        merged: dict[str, Json] = {}
        for document in self.documents:
            merged |= document.data.get(name, {})
        return {**merged, **own}

    def place(self, name: str, key: str, own: Mapping[str, Json]) -> tuple[str | int, ...]:
        """Return where an entry of a section is written."""
        numbers = [n for n, document in enumerate(self.documents) if key in document.data.get(name, {})]
        return (name, key) if key in own or not numbers else (SHARED, numbers[-1], name, key)

    def texts(self) -> Iterator[str]:
        """Yield the text of each file."""
        return (document.text for document in self.documents)

    def sections(self) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Json]]]:
        """Yield each file's place and content."""
        for number, document in enumerate(self.documents):
            yield (SHARED, number), document.data


def is_file(entry: Json) -> bool:
    """Return whether a fixture is the name of a file."""
    return isinstance(entry, str) and entry.endswith(_FILES)


def common_of(suite: Path) -> Common:
    """Return the shared files for the suite at this path. Raises `InvalidSuite` for a file with mistakes."""
    files = [folder / NAME for folder in reversed(list(_folders(suite))) if inputs.is_file(folder / NAME)]
    return Common(tuple(map(_load, files)))


def _folders(suite: Path) -> Iterator[Path]:
    """Yield the suite's folder and those above it, up to the root of its project."""
    here = suite.absolute().parent
    above = [here, *here.parents]
    root = next((n for n, folder in enumerate(above) if any((folder / name).exists() for name in _ROOT)), None)
    yield from above[: 1 if root is None else root + 1]


def _load(path: Path) -> Document:
    document = yamlfile.load(path, error=InvalidSuite)
    if not yamlfile.fits(document.data, CommonFile):
        yamlfile.check(document, _schema(), InvalidSuite)
    fixtures = {
        name: str(path.parent / entry) if is_file(entry) else entry
        for name, entry in document.data.get("fixtures", {}).items()
    }
    files = {"policies": str(path.parent / document.data["policies"])} if "policies" in document.data else {}
    return document.part({**document.data, "fixtures": fixtures, **files})


def shared_answers(common: Common, workspace: Workspace, own: Mapping[str, Json]) -> dict[str, Json]:
    """Return the recorder's responses of a suite, with those shared for destinations that its workspace has.

    Suites of one folder may have different workspaces. A key that looks misspelt stays, and is reported.
    """
    keys = workspace.destinations
    return {
        key: script
        for key, script in common.section("recorder", own).items()
        if key in own or key in keys or did_you_mean(key, keys)
    }
