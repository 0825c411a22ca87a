"""Transformations and libraries of rudder/v1 projects: YAML files with `version: rudder/v1` and a `kind`.

The format is that of Rudder CLI (its YAML reference for transformations): `spec` has `id`, `name`, `language`, `code`
or `file`, and for transformations `tests`, each with `name`, `input` and `output`, folders of JSON files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from svctoolkit import inputs, rudder_cli, yamlfile
from svctoolkit.errors import ConfigError, InvalidWorkspace
from svctoolkit.workspace._items import Language, Library, Transformation
from svctoolkit.workspace._model import Workspace
from svctoolkit.yamlfile import Document

_SKIPPED = {"__pycache__", "node_modules", "venv"}
_CODE_KINDS = ("transformation", "transformation-library")
Text = Annotated[str, Meta(min_length=1)]


class TestShape(msgspec.Struct, forbid_unknown_fields=True):
    """A folder of events, and a folder of their expected output, with the same file names."""

    name: Text
    input: str = "./input"
    output: str = "./output"


class CodeShape(msgspec.Struct):
    """`spec` of a transformation or a library. Members that are not used here are ignored."""

    name: Text
    language: Language
    id: str = ""
    code: str | None = None
    file: str | None = None
    import_name: str = ""
    tests: list[TestShape] = []


class FileShape(msgspec.Struct):
    """A file of a project."""

    version: Literal["rudder/v1"]
    kind: Literal["transformation", "transformation-library"]
    spec: CodeShape
    metadata: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Project:
    """One transformation of a project, in a workspace with only this transformation and the project's libraries."""

    document: Document
    workspace: Workspace
    transformation: Transformation
    tests: list[TestShape]


@dataclass(frozen=True, slots=True)
class CodeItem:
    """A transformation, or a library with its import name."""

    id: str
    name: str
    language: Language
    code: str
    import_name: str = ""


def code_in(path: Path) -> list[CodeItem]:
    """Return the transformation or library in a file; an empty list if the file is something else.

    Raises `InvalidWorkspace` if it is invalid.
    """
    if not _mentions(path, b"transformation"):
        return []
    document = _document(path)
    if not isinstance(document.data, dict) or document.data.get("kind") not in _CODE_KINDS:
        return []
    document, shape = _load_file(path)
    spec = shape.spec
    code, _ = _code(document, spec, path)
    import_name = (spec.import_name or _import_name(spec.name)) if shape.kind == "transformation-library" else ""
    return [CodeItem(spec.id or path.stem, spec.name, spec.language, code, import_name)]


def tested_in(path: Path) -> bool:
    """Return whether a file has a transformation with tests. Raises `InvalidWorkspace` if it is invalid."""
    if not _mentions(path, b"transformation"):
        return False
    document = _document(path)
    if not isinstance(document.data, dict) or document.data.get("kind") != "transformation":
        return False
    return bool(_load_file(path)[1].spec.tests)


def load(path: Path) -> Project:
    """Load the transformation in a file, with the libraries of its project. Raises `InvalidWorkspace`."""
    document, shape = _load_file(path)
    if shape.kind != "transformation":
        raise InvalidWorkspace(document.problem(["kind"], "cannot test a library alone: test a transformation with it"))
    code, file = _code(document, shape.spec, path)
    key = shape.spec.id or path.stem
    item = Transformation(key, key, shape.spec.name, shape.spec.language, None, code, file)
    workspace = Workspace(shape.spec.name, transformations={key: item}, folder=path.parent, file=path)
    for other in _others(path):
        library_document, library = _load_file(other)
        if library.kind == "transformation-library" and library.spec.language == shape.spec.language:
            name = library.spec.import_name or _import_name(library.spec.name)
            text, where = _code(library_document, library.spec, other)
            relative = Path(os.path.relpath(other.parent / where, path.parent)) if where else None
            workspace.libraries[name] = Library(name, library.spec.language, text, relative)
    return Project(document, workspace, item, shape.spec.tests)


def _load_file(path: Path) -> tuple[Document, FileShape]:
    document = _document(path)
    yamlfile.check(document, yamlfile.schema(FileShape), InvalidWorkspace)
    return document, msgspec.convert(document.data, FileShape)


def _code(document: Document, spec: CodeShape, path: Path) -> tuple[str, Path | None]:
    if (spec.code is None) == (spec.file is None):
        raise InvalidWorkspace(document.problem(["spec"], "give either `code` or `file`", key=True))
    if spec.file is None:
        return spec.code or "", None
    place = path.parent / spec.file
    try:
        if not inputs.is_file(place):
            raise ConfigError("no such file")
        return yamlfile.load_text(place), Path(spec.file)
    except ConfigError as error:
        message = f"cannot read {yamlfile.display_name(place)}: {error.problems[0].message}"
        raise InvalidWorkspace(document.problem(["spec", "file"], message)) from error


def _others(path: Path) -> Iterator[Path]:
    """Yield the library files of the same project, as far as its folders show: next to the file, above or below."""
    root = path.resolve().parent.parent if path.resolve().parent.name in ("transformations", "specs") else path.parent
    for here, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        for name in sorted(files):
            other = Path(here, name)
            if name.endswith((".yaml", ".yml")) and _is_library(other):
                yield other


def _is_library(path: Path) -> bool:
    return _mentions(path, b"transformation-library")


def _document(path: Path) -> Document:
    """Return a file with its variables replaced, as rudder-cli does before it parses YAML."""
    try:
        text = yamlfile.load_text(path)
    except ConfigError as error:
        raise InvalidWorkspace(error.problems) from error
    filled = rudder_cli.substitute(text, rudder_cli.given_variables(os.environ), placeholders=True)
    return yamlfile.load(filled.text, name=yamlfile.display_name(path), error=InvalidWorkspace)


def _mentions(path: Path, kind: bytes) -> bool:
    """Return whether the beginning of a file looks like that kind."""
    try:
        start = inputs.read(path, 2000)
    except OSError:
        return False
    return b"rudder/v1" in start and re.search(rb"(?m)^[\"']?kind[\"']?\s*:\s*[\"']?" + kind, start) is not None


def _import_name(name: str) -> str:
    """Return a library's import name: its name in camel case without spaces, as in RudderStack."""
    words = "".join(c if c.isalnum() else " " for c in name).split()
    return (
        "".join([words[0][:1].lower() + words[0][1:], *(w[:1].upper() + w[1:] for w in words[1:])]) if words else name
    )
