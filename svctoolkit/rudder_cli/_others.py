"""Rules of accounts, SQL models, data graphs and import manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import Release
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import ANY, BOOLEAN, OBJECT, TEXT, Checker, duplicates, is_open, misfit, reference

ACCOUNT: Final = {"id": TEXT, "name": TEXT, "account_definition_name": TEXT, "config": OBJECT}
ACCOUNT_TYPES: Final = ("SOURCE_BIGQUERY", "SOURCE_POSTGRES", "SOURCE_SNOWFLAKE")
ACCOUNT_SECRETS: Final = ("credentials", "password", "privateKey", "privateKeyPassphrase")
MODEL: Final = {
    "id": TEXT,
    "display_name": TEXT,
    "description": TEXT,
    "sql": TEXT,
    "file": TEXT,
    "account_id": TEXT,
    "primary_key": TEXT,
    "source_definition": TEXT,
    "enabled": BOOLEAN,
}
_DATABASES: Final = ("postgres", "redshift", "snowflake", "bigquery", "mysql", "databricks", "trino")
_MODEL_RULE: Final = "retl/sqlmodel/"
_GRAPH_RULE: Final = "datagraph/data-graph/"
_COLUMN: Final = {"name": TEXT, "display_name": TEXT, "description": TEXT, "pii_mask": ANY}
_RELATION: Final = {
    "id": TEXT,
    "display_name": TEXT,
    "cardinality": TEXT,
    "target": TEXT,
    "source_join_key": TEXT,
    "target_join_key": TEXT,
}
_GRAPH_MODEL: Final = {
    "id": TEXT,
    "display_name": TEXT,
    "type": TEXT,
    "table": TEXT,
    "description": TEXT,
    "primary_id": TEXT,
    "root": BOOLEAN,
    "timestamp": TEXT,
    "columns": [_COLUMN],
    "relationships": [_RELATION],
}
GRAPH: Final = {"id": TEXT, "account_id": TEXT, "models": [_GRAPH_MODEL]}
#: The cardinality between an entity and an event, by the type of the target.
_ACROSS: Final = {"event": "one-to-many", "entity": "many-to-one"}
_CARDINALITIES: Final = ("one-to-one", "one-to-many", "many-to-one")


def account_fault(file: SpecFile) -> str:
    """Return why an account cannot be loaded. No rule checks accounts."""
    wrong = misfit(file.spec, ACCOUNT)
    if wrong:
        return f"'{'.'.join(map(str, wrong[0]))}' {wrong[1]}"
    name = file.spec.get("account_definition_name") or ""
    if name in ACCOUNT_TYPES or is_open(name):
        return ""
    return f"unsupported account definition {name!r}: use {', '.join(ACCOUNT_TYPES)}"


def check_model(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of a SQL model."""
    checker = Checker(file, _MODEL_RULE + "spec-syntax-valid")
    spec = file.spec
    if not checker.fits(MODEL):
        return checker.findings
    checker.needs(spec, (), "id", "display_name", "account_id", "primary_key", "source_definition")
    if spec.get("sql") is not None and spec.get("file"):
        checker.add(("sql",), "'sql' and 'file' cannot be specified together")
    elif spec.get("sql") is None and not spec.get("file"):
        checker.add(("sql",), "'sql' is required when 'file' is not specified")
    checker.one_of(spec, (), "source_definition", _DATABASES)
    return checker.findings


def model_fault(file: SpecFile) -> str:
    """Return why a SQL model cannot be loaded."""
    written = file.spec.get("file")
    if isinstance(written, str) and written and not (file.path.parent / written).is_file():
        return f"the SQL file {written} does not exist"
    return ""


def check_graph(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of a data graph."""
    checker = Checker(file, _GRAPH_RULE + "spec-syntax-valid")
    spec = file.spec
    if not checker.fits(GRAPH):
        return checker.findings
    checker.needs(spec, (), "id", "account_id")
    for i, model in enumerate(spec.get("models") or ()):
        _graph_model(checker, model or {}, ("models", i))
    return checker.findings


def _graph_model(checker: Checker, model: dict[str, Json], path: tuple[str | int, ...]) -> None:
    checker.needs(model, path, "id", "display_name", "type", "table")
    checker.one_of(model, path, "type", ("entity", "event"))
    table = model.get("table")
    if table and not is_open(table) and (table.count(".") != 2 or not all(table.split("."))):
        checker.add((*path, "table"), "'table' must have three parts: catalog.schema.table")
    for kind, key, other in (("entity", "primary_id", "timestamp"), ("event", "timestamp", "primary_id")):
        if model.get("type") == kind:
            if not model.get(key):
                checker.add((*path, key), f"{key!r} is required for {kind} models")
            if model.get(other):
                checker.add((*path, other), f"{other!r} is not allowed on {kind} models")
    _columns(checker, model.get("columns") or [], path)
    for i, relation in enumerate(model.get("relationships") or ()):
        at = (*path, "relationships", i)
        checker.needs(relation or {}, at, *_RELATION)
        checker.one_of(relation or {}, at, "cardinality", _CARDINALITIES)
        target = (relation or {}).get("target")
        if target and not is_open(target) and reference("data-graph-model", target) is None:
            checker.add((*at, "target"), "'target' must be written #data-graph-model:<id>")


def _columns(checker: Checker, columns: list[dict[str, Json]], path: tuple[str | int, ...]) -> None:
    names = [(column or {}).get("name") for column in columns]
    for i, column in enumerate(columns):
        at = (*path, "columns", i)
        column = column or {}
        if all(column.get(key) in (None, "") for key in ("display_name", "description", "pii_mask")):
            checker.add(at, "a column must set 'display_name', 'description' or 'pii_mask'")
        checker.needs(column, at, "name")
        for key, most in (("name", 255), ("display_name", 255), ("description", 2000)):
            checker.text(column, at, key, most=most)
        if column.get("name") and names.count(column["name"]) > 1:
            checker.add((*at, "name"), f"duplicate column {column['name']!r} in this model")


def semantic_graphs(files: list[SpecFile]) -> Iterator[Finding]:
    """Yield the findings over all data graphs: targets, cardinalities, pairs and names."""
    kinds: dict[Json, Json] = {
        model.get("id"): model.get("type") for file in files for model in file.spec.get("models") or () if model
    }
    for file in files:
        models = [model or {} for model in file.spec.get("models") or ()]
        yield from _unique_names(file, models)
        for i, model in enumerate(models):
            path = ("spec", "models", i, "relationships")
            relations = [relation or {} for relation in model.get("relationships") or ()]
            targets = [reference("data-graph-model", relation.get("target")) for relation in relations]
            for n, relation in enumerate(relations):
                yield from _relation(file, (*path, n), model, relation, kinds)
                if targets.count(targets[n]) > 1:
                    message = f"{model.get('id')!r} has more than one relationship to {targets[n]!r}"
                    yield file.finding(_GRAPH_RULE + "relationship-unique-pair", (*path, n), message)


def _relation(
    file: SpecFile,
    path: tuple[str | int, ...],
    model: Mapping[str, Json],
    relation: Mapping[str, Json],
    kinds: Mapping[Json, Json],
) -> Iterator[Finding]:
    target = reference("data-graph-model", relation.get("target"))
    if target not in kinds:
        message = f"data graph model {target!r} not found in the project"
        yield file.finding(_GRAPH_RULE + "relationship-refs-valid", (*path, "target"), message)
        return
    pair = model.get("type"), kinds[target]
    if pair == ("event", "event"):
        message = "a relationship from an event model to an event model is not possible"
        yield file.finding(_GRAPH_RULE + "relationship-cardinality-valid", (*path, "target"), message)
        return
    wanted = _ACROSS.get(str(pair[1]), "") if pair[0] != pair[1] else ""
    if wanted and relation.get("cardinality") != wanted:
        message = f"a relationship from {pair[0]} to {pair[1]} must be {wanted!r}"
        yield file.finding(_GRAPH_RULE + "relationship-cardinality-valid", (*path, "cardinality"), message)


def _unique_names(file: SpecFile, models: list[dict[str, Json]]) -> Iterator[Finding]:
    rule = _GRAPH_RULE + "unique-names-valid"
    names = [(m.get("display_name"), file, ("spec", "models", i, "display_name")) for i, m in enumerate(models)]
    yield from duplicates(names, rule, lambda name: f"duplicate name {name!r} of a model")
    relations = [
        (relation.get("display_name"), file, ("spec", "models", i, "relationships", n, "display_name"))
        for i, model in enumerate(models)
        for n, relation in enumerate(model.get("relationships") or ())
        if relation
    ]
    yield from duplicates(relations, rule, lambda name: f"duplicate name {name!r} of a relationship")


def check_manifest(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of an import manifest."""
    checker = Checker(file, "import-manifest/spec-syntax-valid")
    workspaces = file.spec.get("workspaces")
    if not isinstance(workspaces, list):
        checker.add((), "'workspaces' must be a list")
        return checker.findings
    for key in file.spec:
        if key != "workspaces":
            checker.add((key,), f"unknown key {key!r} of a manifest")
    if not workspaces:
        checker.add(("workspaces",), "the manifest has no workspaces")
    for i, workspace in enumerate(workspaces):
        _manifest_workspace(checker, workspace, ("workspaces", i))
    return checker.findings


def _manifest_workspace(checker: Checker, workspace: Json, path: tuple[str | int, ...]) -> None:
    if not isinstance(workspace, dict):
        checker.add(path, "a workspace must be an object")
        return
    for key in workspace:
        if key not in ("workspace_id", "resources"):
            checker.add((*path, key), f"unknown key {key!r}")
    checker.needs(workspace, path, "workspace_id")
    for i, resource in enumerate(workspace.get("resources") or ()):
        at = (*path, "resources", i)
        if not isinstance(resource, dict):
            checker.add(at, "a resource must be an object")
            continue
        if not resource.get("urn"):
            checker.add((*at, "urn"), "'urn' is required in manifests (local_id is not supported)")
        checker.needs(resource, at, "remote_id")


def manifest_entries(
    files: list[SpecFile],
) -> Iterator[tuple[tuple[Json, Json], Json, SpecFile, tuple[str | int, ...]]]:
    """Yield workspace and urn, remote id, and the place of each entry."""
    for file in files:
        for i, workspace in enumerate(file.spec.get("workspaces") or ()):
            for n, item in enumerate(workspace.get("resources") or ()):
                path = ("spec", "workspaces", i, "resources", n, "urn")
                yield (workspace.get("workspace_id"), item.get("urn")), item.get("remote_id"), file, path


def duplicate_entries(files: list[SpecFile]) -> Iterator[Finding]:
    """Yield entries of manifests for the same URN in the same workspace."""
    items = [(key, file, path) for key, _, file, path in manifest_entries(files)]
    yield from duplicates(
        items, "import-manifest/duplicate-urn", lambda key: f"duplicate URN {key[1]!r} in workspace {key[0]!r}"
    )
