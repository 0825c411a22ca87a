"""The interface of a format of tracking plans, and helpers for all readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError, InvalidPlan, Problem
from svctoolkit.json_types import Json
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.plans.rule import Rule, rule_schema
from svctoolkit.yamlfile import Document

#: event types that a plan can have rules for
RULE_TYPES = ("track", "identify", "page", "screen", "group")
_MOST_FILES = 10_000
_NEXT = re.compile(r"(?m)^---(?=\s|$)")
_CONTENT = re.compile(r"(?m)^(?!---\s*$)[^\s#%]|^[ \t]+[^\s#]")


@dataclass(frozen=True, slots=True)
class Format:
    """A format: whether a file or folder looks like it, and how to read it.

    `read` accepts the path and a `Loader`. It notes every problem that it can instead of raising.
    """

    looks_like: Callable[[Path], bool]
    read: Callable[[Path, Loader], Project]
    folder: bool = False


_MOST = 2**53  # every program that reads JSON knows integers up to here


@dataclass(slots=True)
class Loader:
    """Loads the files of a plan. `problems` collects what is wrong in them, `files` what was read.

    `variables` are the values of `{{ .NAME }}` in projects of rudder-cli; None: those of the environment. `documents`
    are files that have been parsed already, by path.
    """

    problems: list[Problem] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    variables: Mapping[str, str] | None = None
    documents: Mapping[Path, Document] | None = None

    def load(self, path: Path) -> Document | None:
        """Return the document of a YAML or JSON file; None if it cannot be read, which is noted."""
        self.files.append(path)
        try:
            return yamlfile.load(path, error=InvalidPlan)
        except ConfigError as error:
            self.problems += error.problems
            return None

    def load_each(self, path: Path, fill: Callable[[str, str], str]) -> list[Document]:
        """Return the documents of a YAML file, which `---` separates, with positions in this file.

        `fill` changes its text before it is parsed, and gets its name, too.
        """
        self.files.append(path)
        if self.documents is not None and path in self.documents:
            return [self.documents[path]]
        try:
            text = fill(yamlfile.load_text(path), yamlfile.display_name(path))
            return [yamlfile.load(part, name=yamlfile.display_name(path), error=InvalidPlan) for part in _parts(text)]
        except ConfigError as error:
            self.problems += error.problems
            return []

    def load_object(self, path: Path) -> Document | None:
        """Like `load`, for a file that must contain an object."""
        document = self.load(path)
        if document is not None and not isinstance(document.data, dict):
            self.note(document, (), "a tracking plan must be an object")
            return None
        return document

    def note(self, document: Document, path: Steps, message: str, *, key: bool = False) -> None:
        """Add a problem at a path of a document (or, with `key`, at the path's key)."""
        self.problems.append(document.problem(path, message, key=key))

    def value(self, document: Document, data: Json, path: Steps, name: str, kind: type, default: Json = None) -> Json:
        """Return a member of an object if it has the right type, else `default`. A wrong type is noted.

        Without a default the member is required.
        """
        value = data.get(name) if isinstance(data, Mapping) else None
        if value is None and default is not None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            what = {str: "a string", int: "a whole number", list: "a list", dict: "an object"}[kind]
            there = isinstance(data, Mapping) and name in data
            place = (*path, name) if there else path
            self.note(document, place, f"{name!r} must be {what}" if there else f"{name!r} is missing: {what}")
            return default if default is not None else kind()
        if isinstance(value, int) and abs(value) > _MOST:
            self.note(document, (*path, name), f"{name!r} must be at most {_MOST}")
            return kind()
        return value


def _parts(text: str) -> Iterator[str]:
    """Yield the documents of a YAML text, each after as many empty lines as there are lines before it."""
    start = 0
    for end in [*(found.start() for found in _NEXT.finditer(text)), len(text)]:
        if _CONTENT.search(text, start, end):  # comments and directives belong to the document after them
            yield "\n" * text.count("\n", 0, start) + text[start:end]
            start = end


Steps = tuple[str | int, ...]


def rule_of(
    document: Document,
    path: Steps,
    schema: Mapping[str, Json],
    *,
    type: str,
    name: str = "",
    section: str | None = None,
    description: str = "",
    under: Steps = (),
) -> Rule:
    """Return a rule for the schema at `path` of a document. `under` is the path of the wrapper added around it."""

    def locate(steps: Steps, key: bool) -> str:
        inside = steps[len(under) :] if steps[: len(under)] == under else ()
        return document.where((*path, *inside), key=key)

    name = name if type == "track" else ""
    return Rule(type, name, schema, section or section_of(schema), description, document.where(path), locate)


def section_of(schema: Mapping[str, Json]) -> str:
    """Return the section of a schema for the whole event: the first one that it describes."""
    members = schema.get("properties")
    members = members if isinstance(members, Mapping) else {}
    for section in ("properties", "traits"):
        if members.get(section):
            return section
    context = members.get("context")
    inner = context.get("properties") if isinstance(context, Mapping) else None
    return "context.traits" if isinstance(inner, Mapping) and "traits" in inner else "properties"


def default_section(kind: str) -> str:
    """Return the section in which events of a type have their properties."""
    return "traits" if kind in ("identify", "group") else "properties"


def wrap(body: Mapping[str, Json], section: str, draft: str = "") -> tuple[dict[str, Json], Steps]:
    """Wrap the schema of a section in one for the whole event. Returns it and the path of the section's schema in it.

    Definitions move to the top so that they stay reachable. The section itself is not required.
    """
    inner = {key: value for key, value in body.items() if key not in ("$schema", "$defs", "definitions", "$id", "id")}
    steps: Steps = ()
    for step in reversed(section.split(".")):
        inner = {"type": "object", "properties": {step: inner}}
        steps = ("properties", step, *steps)
    address = body.get("$schema") or draft
    top = {"$schema": address} if address else {}
    shared = {key: body[key] for key in ("$defs", "definitions") if key in body}
    return {**top, **inner, **shared}, steps


def refusal_problems(plan: Plan) -> Iterator[Problem]:
    """Yield why RudderStack would let events pass unchecked, rule by rule."""
    from svctoolkit.plans.schema.strictness import refusals

    for rule in plan.rules:
        if rule.schema:
            for refusal in refusals(rule_schema(rule.schema)):
                yield Problem(f"{rule.title}: {refusal.message}", rule.place(refusal.path, key=refusal.key))


def files_below(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder and its subfolders except hidden ones, sorted; at most 10,000."""
    files = []
    for path in sorted(path for suffix in suffixes for path in inputs.listing(folder, f"**/*{suffix}")):
        hidden = any(step.startswith(".") or step == "node_modules" for step in path.relative_to(folder).parts)
        if path.suffix in suffixes and not hidden:
            files.append(path)
            if len(files) == _MOST_FILES:
                break
    return files


def parse_start(path: Path) -> Json:
    """Return the JSON value of a file, or None, to detect its format."""
    try:
        return (
            yamlfile.load(path).data if inputs.is_file(path) and path.suffix in (".json", ".yaml", ".yml", "") else None
        )
    except ConfigError:
        return None
