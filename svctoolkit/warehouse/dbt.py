"""Export what dbt needs to build models on the tables: the file, a profile, and the sources with their columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from svctoolkit.errors import ConfigError
from svctoolkit.warehouse.warehouse import Warehouse

_NAME = re.compile(r"[^a-z0-9_]+")
_JINJA = re.compile(r"\{(?=[{%#])")  # the opening of an expression, a statement or a comment


def export(warehouses: Mapping[str, Warehouse], folder: Path | str) -> list[Path]:
    """Write `warehouse.duckdb`, `profiles.yml` and `models/sources.yml` into a folder, and return the files.

    Each warehouse has its schema in the file, and is a dbt source by its destination: `source('wh', 'users')`.
    An existing `dbt_project.yml` is kept; otherwise a small one is written. Raises `ConfigError` if a file cannot be
    written.
    """
    folder = Path(folder)
    try:
        (folder / "models").mkdir(parents=True, exist_ok=True)
        database = folder / "warehouse.duckdb"
        _save(warehouses.values(), database)
        files = {
            folder / "profiles.yml": "\n".join(_profile(database)),
            folder / "models" / "sources.yml": "\n".join(_sources(warehouses)),
        }
        project = folder / "dbt_project.yml"
        if not project.exists():
            files[project] = "\n".join(_project())
        for path, text in files.items():
            path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(folder)) from None
    return [database, *files]


def _save(warehouses: Iterable[Warehouse], database: Path) -> None:
    """Replace the file after all warehouses are written to a new one: an interrupt leaves the old one intact."""
    draft = database.with_name(f".{database.name}.new")
    try:
        draft.unlink(missing_ok=True)
        for warehouse in warehouses:
            warehouse.save(draft, add=True)
        draft.replace(database)
    finally:
        draft.unlink(missing_ok=True)


def _profile(database: Path) -> Iterator[str]:
    yield "svctoolkit:"
    yield "  target: dev"
    yield "  outputs:"
    yield "    dev:"
    yield "      type: duckdb"
    yield f"      path: {_text(str(database.resolve()))}"
    yield "      schema: models"
    yield "      threads: 1"


def _project() -> Iterator[str]:
    yield "name: svctoolkit_models"
    yield 'version: "1.0"'
    yield "profile: svctoolkit"
    yield 'model-paths: ["models"]'


def _sources(warehouses: Mapping[str, Warehouse]) -> Iterator[str]:
    yield "version: 2"
    yield "sources:"
    for key, warehouse in warehouses.items():
        yield f"  - name: {_NAME.sub('_', key.lower()) or 'warehouse'}"
        yield f"    description: {_text(f'{warehouse.provider.label}, loaded from events')}"
        yield f"    schema: {_text(warehouse.namespace)}"
        yield "    tables:"
        schema = warehouse.schema()
        for table, columns in schema.groupby("table", sort=True):
            yield f"      - name: {_text(str(table))}"
            yield "        columns:"
            for name, kind, path in columns[["column", "column_type", "path"]].astype(str).to_numpy().tolist():
                yield f"          - name: {_text(name)}"
                yield f"            data_type: {_text(kind)}"
                if path:
                    yield f"            description: {_text(f'from {path}')}"


def _text(text: str) -> str:
    """Return a string for YAML: in quotes, with JSON's escapes. dbt renders its values as Jinja templates, and names of
    fields come from events, so braces are written as templates that render to braces.
    """
    import json

    return json.dumps(_JINJA.sub("{{ '{' }}", text), ensure_ascii=False)
