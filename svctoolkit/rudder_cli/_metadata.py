"""Rules of the envelope: kinds, versions, metadata, and what must be unique in a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._files import NEW, OLD_VERSIONS, SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._others import manifest_entries
from svctoolkit.rudder_cli._shapes import duplicates

_BOTH: Final = ("properties", "events", "categories", "custom-types", "event-stream-source", "retl-source-sql-model")
_NEW_KINDS: Final = (
    *_BOTH,
    "tracking-plan",
    "destination",
    "event-stream-connections",
    "account",
    "transformation",
    "transformation-library",
    "data-graph",
    "import-manifest",
)
#: Kinds of later releases that are not used here: their files are kept and noted.
LATER_KINDS: Final = ("retl-source-table", "retl-connections")
KINDS: Final = {NEW: _NEW_KINDS, **dict.fromkeys(OLD_VERSIONS, (*_BOTH, "tp"))}
_ALL: Final = (*_NEW_KINDS, "tp")
_METADATA: Final = "project/metadata-syntax-valid"
#: kind of a file -> the key of its list, and the type of each item in URNs
LISTS: Final = {
    "properties": ("properties", "property"),
    "events": ("events", "event"),
    "categories": ("categories", "category"),
    "custom-types": ("types", "custom-type"),
    "event-stream-connections": ("connections", "event-stream-connection"),
}


def envelope(file: SpecFile) -> list[Finding]:
    """Return what is wrong with kind and version. The kind's own rules do not run then."""
    rule = "project/spec-syntax-valid"
    found = [
        file.finding(rule, (key,), f"{key!r} is required")
        for key in ("version", "kind", "metadata", "spec")
        if file.data.get(key) in (None, "")
    ]
    if file.version and file.version not in KINDS:
        found.append(file.finding(rule, ("version",), f"unknown version {file.version!r}: write {NEW}"))
    if file.kind and file.kind not in (*_ALL, *LATER_KINDS):
        hint = did_you_mean(file.kind, _ALL) or f" Known kinds: {', '.join(_ALL)}."
        found.append(file.finding(rule, ("kind",), f"unknown kind {file.kind!r}.{hint}"))
    elif file.version in KINDS and file.kind and file.kind not in (*KINDS[file.version], *LATER_KINDS):
        message = f"kind {file.kind!r} is not supported in version {file.version!r}"
        found.append(file.finding("project/resource-kind-version-valid", ("kind",), message))
    return found


def check_metadata(file: SpecFile) -> Iterator[Finding]:
    """Yield what is wrong with `metadata`."""
    metadata = file.data.get("metadata")
    if not isinstance(metadata, dict):
        return
    name = metadata.get("name")
    if name in (None, ""):
        yield file.finding(_METADATA, ("metadata", "name"), "'name' is required")
    elif not isinstance(name, str):
        yield file.finding(_METADATA, ("metadata",), "'name' must be text")
    for path, workspace in _import_workspaces(metadata):
        if not workspace.get("workspace_id"):
            yield file.finding(_METADATA, (*path, "workspace_id"), "'workspace_id' is required")
        for i, item in enumerate(workspace.get("resources") or ()):
            yield from _imported(file, (*path, "resources", i), item or {})


def _import_workspaces(metadata: dict[str, Json]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Json]]]:
    block = metadata.get("import")
    workspaces = block.get("workspaces") if isinstance(block, dict) else None
    for i, workspace in enumerate(workspaces if isinstance(workspaces, list) else ()):
        yield ("metadata", "import", "workspaces", i), workspace if isinstance(workspace, dict) else {}


def _imported(file: SpecFile, path: tuple[str | int, ...], item: dict[str, Json]) -> Iterator[Finding]:
    urn, local = item.get("urn"), item.get("local_id")
    if urn and local:
        yield file.finding(_METADATA, (*path, "urn"), "'urn' and 'local_id' cannot be specified together")
        yield file.finding(_METADATA, (*path, "local_id"), "'local_id' and 'urn' cannot be specified together")
    elif not urn and not local:
        yield file.finding(_METADATA, (*path, "urn"), "'urn' is required when 'local_id' is not specified")
        yield file.finding(_METADATA, (*path, "local_id"), "'local_id' is required when 'urn' is not specified")
    if not item.get("remote_id"):
        yield file.finding(_METADATA, (*path, "remote_id"), "'remote_id' is required")
    own = {name for name, _ in urns(file)}
    if urn and not local and own and urn not in own:
        yield file.finding(_METADATA, (*path, "urn"), f"{urn!r} is not in this file")


def urns(file: SpecFile) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Yield the URN of each resource of a file, with the path of its id."""
    spec = file.spec
    if file.kind in LISTS:
        key, type_ = LISTS[file.kind]
        for i, item in enumerate(_objects(spec.get(key))):
            if item.get("id"):
                yield f"{type_}:{item['id']}", ("spec", key, i, "id")
        return
    if file.kind != "import-manifest" and spec.get("id"):
        yield f"{'tracking-plan' if file.kind == 'tp' else file.kind}:{spec['id']}", ("spec", "id")
    if file.kind == "data-graph":
        yield from _graph_urns(spec)


def _graph_urns(spec: dict[str, Json]) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    for i, model in enumerate(_objects(spec.get("models"))):
        if model.get("id"):
            yield f"data-graph-model:{model['id']}", ("spec", "models", i, "id")
        for n, relation in enumerate(_objects(model.get("relationships"))):
            if relation.get("id"):
                path = ("spec", "models", i, "relationships", n, "id")
                yield f"data-graph-relationship:{relation['id']}", path


def _objects(value: Json) -> list[dict[str, Json]]:
    """Return a list of objects; anything else in it is empty, so that indexes stay."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def over_all_files(files: list[SpecFile]) -> list[Finding]:
    """Return duplicate URNs, and manifests that contradict the metadata of a resource."""
    ids = [(urn, file, path) for file in files for urn, path in urns(file)]
    found = [*duplicates(ids, "project/duplicate-urn", lambda urn: f"duplicate URN {urn!r}")]
    return [*found, *_conflicts(files)]


def _conflicts(files: list[SpecFile]) -> Iterator[Finding]:
    inline: dict[tuple[Json, Json], list[tuple[Json, SpecFile, tuple[str | int, ...]]]] = {}
    for file in files:
        metadata = file.data.get("metadata")
        for path, workspace in _import_workspaces(metadata if isinstance(metadata, dict) else {}):
            for i, item in enumerate(_objects(workspace.get("resources"))):
                for urn, key in _named(file, item):
                    place = (item.get("remote_id"), file, (*path, "resources", i, key))
                    inline.setdefault((workspace.get("workspace_id"), urn), []).append(place)
    manifests = [file for file in files if file.kind == "import-manifest"]
    for entry, remote, file, path in manifest_entries(manifests):
        others = [place for place in inline.get(entry, ()) if place[0] != remote]
        if others:
            message = f"{entry[1]!r} has another remote id in a manifest than in the metadata of its file"
            for _, where, at in [(remote, file, path), *others]:
                yield where.finding("project/manifest-inline-conflict", at, message)


def _named(file: SpecFile, item: dict[str, Json]) -> Iterator[tuple[str, str]]:
    if item.get("urn"):
        yield item["urn"], "urn"
    elif item.get("local_id"):
        yield from ((urn, "local_id") for urn, _ in urns(file) if urn.partition(":")[2] == item["local_id"])
