"""The resources of a project by URN, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli import LISTS, Finding, RudderProject, SpecFile, code_of
from svctoolkit.workspace import Workspace

_PARTS: Final = ("models", "relationships")
#: The kinds in the order in which `rudder-cli apply` creates them: each after what it refers to.
ORDER: Final = (
    "account",
    "category",
    "property",
    "custom-type",
    "event",
    "tracking-plan",
    "transformation-library",
    "transformation",
    "destination",
    "event-stream-source",
    "event-stream-connection",
    "retl-source-sql-model",
    "retl-source-table",
    "data-graph",
    "data-graph-model",
    "data-graph-relationship",
    "retl-connections",
)


@dataclass(frozen=True)
class Resource:
    """A resource: its URN, its members without the id, and its place."""

    urn: str
    data: Mapping[str, Json] = field(repr=False)
    where: str = ""

    @property
    def kind(self) -> str:
        """The type in the URN."""
        return self.urn.partition(":")[0]

    @property
    def id(self) -> str:
        """The id in the URN."""
        return self.urn.partition(":")[2]


def resources_of(project: RudderProject) -> dict[str, Resource]:
    """Return the resources of a project by URN."""
    found = [item for file in project.files if file.kind != "import-manifest" for item in _of_file(file)]
    return {item.urn: item for item in found}


def _of_file(file: SpecFile) -> Iterator[Resource]:
    spec = file.spec
    if file.kind in LISTS:
        key, type_ = LISTS[file.kind]
        for i, item in enumerate(spec.get(key) or ()):
            if isinstance(item, dict) and item.get("id"):
                yield Resource(f"{type_}:{item['id']}", _members(type_, item), _where(file, ("spec", key, i)))
        return
    if not spec.get("id"):
        return
    kind = "tracking-plan" if file.kind == "tp" else file.kind
    data = _members(kind, spec)
    if kind in ("transformation", "transformation-library"):
        data["code"] = code_of(file)[0]
    elif file.attached is not None:
        data["sql"] = file.attached
    yield Resource(f"{kind}:{spec['id']}", data, _where(file, ("spec",)))
    if kind == "data-graph":
        yield from _of_graph(file, spec)


def _of_graph(file: SpecFile, spec: Mapping[str, Any]) -> Iterator[Resource]:
    for i, model in enumerate(spec.get("models") or ()):
        path = ("spec", "models", i)
        yield Resource(f"data-graph-model:{model.get('id')}", _members("", model), _where(file, path))
        for n, relation in enumerate(model.get("relationships") or ()):
            at = (*path, "relationships", n)
            yield Resource(f"data-graph-relationship:{relation.get('id')}", _members("", relation), _where(file, at))


def _where(file: SpecFile, path: tuple[str | int, ...]) -> str:
    line, column = file.position(path)
    return f"{file.name}:{line}:{column}"


def _members(kind: str, item: Mapping[str, Any]) -> dict[str, Json]:
    """Return what apply sends: without ids, nested resources and nulls, and with the default of `enabled`."""
    left_out = ("id", "tests", "file", *_PARTS)
    data = {key: value for key, value in item.items() if key not in left_out and value is not None}
    if kind in ("event-stream-source", "event-stream-connection", "retl-source-sql-model"):
        data.setdefault("enabled", True)
    elif kind == "destination":
        data.setdefault("enabled", False)
        if not data.get("transformation"):
            data.pop("transformation", None)
    return data


def errors_of(workspace: Workspace) -> list[Finding]:
    """Return why rudder-cli rejects a project."""
    project = workspace.project
    return [finding for finding in project.findings if finding.severity == "error"] if project else []
