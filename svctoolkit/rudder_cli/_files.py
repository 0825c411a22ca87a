"""The files of a project: which ones rudder-cli reads, and each as a document with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Final

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._findings import Finding, Path, Severity, pointer
from svctoolkit.rudder_cli._variables import SUFFIXES, Substituted, substitute
from svctoolkit.yamlfile import Document

NEW: Final = "rudder/v1"
OLD_VERSIONS: Final = ("rudder/0.1", "rudder/v0.1")
TOP: Final = ("version", "kind", "metadata", "spec")
#: Kinds that tracking plans are built from, with the position of each part.
PLAN_KINDS: Final = ("properties", "events", "categories", "custom-types", "tracking-plan", "tp", "event-stream-source")
PARSE: Final = "project/spec-syntax-parse-valid"
VARIABLES: Final = "project/var-substitution"
_EXTENSIONS: Final = (".yaml", ".yml")
_SEPARATOR: Final = re.compile(r"(?m)^(?:---|\.\.\.)(?=\s|$)")
_DECLARES: Final = re.compile(rb"(?m)^[\"']?version[\"']?\s*:\s*[\"']?rudder/")


@dataclass
class SpecFile:
    """One file. `data` is its first document; None if it cannot be parsed. `name` is relative to the project."""

    name: str
    path: FilePath
    text: str
    document: Document | None = None
    more: int = 0  # line of a second document, which rudder-cli ignores
    placeholders: dict[str, str] = field(default_factory=dict)
    attached: str | None = None  # the text of the file that `spec.file` names
    source: str = ""  # the text before variables were replaced, if it has any

    def spec_with_references(self) -> dict[str, Json] | None:
        """Return `spec` with references in place of variables; None for a file without variables.

        Variables in keys, and those with a default and no value, are as in `spec`.
        """
        if not self.source:
            return None
        text, _ = _first_document(substitute(self.source, {}, placeholders=True).text)
        try:
            data = yamlfile.load(text, name=self.name).data
        except ConfigError:
            return None
        spec = data.get("spec") if isinstance(data, dict) else None
        return spec if isinstance(spec, dict) else None

    @property
    def data(self) -> dict[str, Json]:
        """The envelope, with an empty object for a file that cannot be parsed."""
        data = self.document.data if self.document else None
        return data if isinstance(data, dict) else {}

    @cached_property
    def version(self) -> str:
        """The text of `version`."""
        return _text(self.data.get("version"))

    @cached_property
    def kind(self) -> str:
        """The text of `kind`."""
        return _text(self.data.get("kind"))

    @property
    def old(self) -> bool:
        """Whether the file has the format of version 0.1."""
        return self.version in OLD_VERSIONS

    @property
    def foreign(self) -> bool:
        """Whether the file is not a resource (a CI workflow, say). Only rudder-cli stops at it."""
        return _DECLARES.search(self.text.encode("utf-8", "replace")) is None

    @property
    def spec(self) -> dict[str, Json]:
        """The object `spec`."""
        spec = self.data.get("spec")
        return spec if isinstance(spec, dict) else {}

    def finding(self, rule: str, path: Path, message: str, severity: Severity = "error") -> Finding:
        """Return a finding at a path: at its key, or at the key of its nearest parent in the file."""
        line, column = self.position(path)
        return Finding(rule, severity, self.name, pointer(path), line, column, message)

    def position(self, path: Path) -> tuple[int, int]:
        """Return line and column of the key at a path, or of its nearest parent."""
        document = self.document
        if document is None:
            return 1, 1
        known = tuple(path)
        while known and not document.has(known):
            known = known[:-1]
        return document.position(known, key=True)


def _text(value: Json) -> str:
    return "" if value is None else str(value)


def project_files(folder: FilePath) -> Iterator[FilePath]:
    """Yield what rudder-cli reads: all YAML files, also in hidden folders, without files of variables."""
    if folder.is_file():
        yield folder
        return
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_EXTENSIONS) and not name.endswith(SUFFIXES):
                yield FilePath(here, name)


def is_spec(path: FilePath) -> bool:
    """Whether a file declares itself part of a project, without reading all of it."""
    try:
        return _DECLARES.search(inputs.read(path, 4000)) is not None
    except OSError:
        return False


def read_file(
    path: FilePath, name: str, values: Mapping[str, str], *, placeholders: bool
) -> tuple[SpecFile, list[Finding]]:
    """Return a file and the problems of its variables, else those of its syntax."""
    try:
        text = yamlfile.load_text(path)
    except ConfigError as error:
        problem = error.problems[0]
        message = f"cannot be read: {problem.message}"
        return SpecFile(name, path, ""), [Finding(PARSE, "error", name, "", 1, 1, message, problem.where)]
    filled = substitute(text, values, placeholders=placeholders)
    file = SpecFile(name, path, filled.text, placeholders=filled.placeholders, source=text if filled.uses else "")
    unknown = list(_unknown_variables(name, text, filled))
    if unknown or not file.foreign:
        return file, unknown or _parse(file)
    return file, [replace(f, message=f"not a resource, so rudder-cli stops here: {f.message}") for f in _parse(file)]


def _unknown_variables(name: str, text: str, filled: Substituted) -> Iterator[Finding]:
    for use in filled.uses:
        if use.reason:
            start = text.rfind("\n", 0, use.index) + 1
            line, column = text.count("\n", 0, use.index) + 1, use.index - start + 1
            yield Finding(VARIABLES, "error", name, "", line, column, use.reason)


def _parse(file: SpecFile) -> list[Finding]:
    """Parse the first document. rudder-cli reports each problem at 1:1; `cause` has the real place."""
    text, file.more = _first_document(file.text)
    try:
        file.document = yamlfile.load(text, name=file.name)
    except ConfigError as error:
        problem = error.problems[0]
        message = problem.message.partition("\n")[0]
        return [Finding(PARSE, "error", file.name, "", 1, 1, message, problem.where)]
    if file.kind not in PLAN_KINDS:
        file.document.release()
    data = file.document.data
    if data is None:
        return [file.finding(PARSE, (), "the file has no content: delete it, or write version, kind, metadata, spec")]
    if not isinstance(data, dict):
        return [file.finding(PARSE, (), "the file must be an object with version, kind, metadata and spec")]
    return _envelope(file, data)


def _envelope(file: SpecFile, data: Mapping[str, Json]) -> list[Finding]:
    for key in data:
        if key not in TOP:
            line, column = file.position((key,))
            message = f"unknown key {key!r}: a resource file has version, kind, metadata and spec"
            return [Finding(PARSE, "error", file.name, "", 1, 1, message, f"{file.name}:{line}:{column}")]
    for key, kind, what in (
        ("version", (str, int, float), "text"),
        ("kind", (str, int, float), "text"),
        ("metadata", dict, "an object"),
        ("spec", dict, "an object"),
    ):
        if data.get(key) is not None and not isinstance(data[key], kind):
            line, column = file.position((key,))
            message = f"{key!r} must be {what}"
            return [Finding(PARSE, "error", file.name, "", 1, 1, message, f"{file.name}:{line}:{column}")]
    return []


def _first_document(text: str) -> tuple[str, int]:
    """Return the text of the first document, and the line of a second one, or 0."""
    if "\n---" not in text and "\n..." not in text and not text.startswith(("---", "...")):
        return text, 0
    for marker in _SEPARATOR.finditer(text):
        if _is_blank(text[: marker.start()]):
            continue
        more = 0 if _is_blank(text[marker.end() :].removeprefix("---")) else text.count("\n", 0, marker.start()) + 1
        return text[: marker.start()], more
    return text, 0


def _is_blank(text: str) -> bool:
    """Whether a part of a file has no value: comments, directives and a document marker only."""
    lines = (line.strip() for line in text.removeprefix("\ufeff").splitlines())
    return all(not line or line.startswith(("#", "%")) or line in ("---", "...") for line in lines)
