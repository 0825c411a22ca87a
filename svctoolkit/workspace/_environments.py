"""Environments of a workspace: overrides, in the workspace file itself or in a file next to it.

`environments: {production: {...}}` in `workspace.yaml` and the file `workspace.production.yaml` are equivalent; the
latter takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import InvalidWorkspace, UnknownName, did_you_mean
from svctoolkit.workspace._shapes import environment_schema
from svctoolkit.yamlfile import Document

VARIABLE = "SVC_ENV"  # the default environment
_BY_KEY = ("sources", "destinations")


def file_of(path: Path, name: str) -> Path:
    """Return the path of the file with an environment's overrides, next to the workspace file."""
    return path.with_name(f"{path.stem}.{name}{path.suffix}")


def names_of(document: Document, path: Path | None) -> list[str]:
    """Return the environments of a workspace file, including those in files next to it."""
    data = document.data
    inside = data.get("environments") if isinstance(data, Mapping) else None
    names = dict.fromkeys(inside if isinstance(inside, Mapping) else ())
    if path is not None:
        for file in inputs.listing(path.parent, f"{path.stem}.*{path.suffix}"):
            name = file.name.removeprefix(f"{path.stem}.").removesuffix(path.suffix)
            if "." not in name:
                names[name] = None
    return list(names)


def apply(document: Document, name: str, path: Path | None) -> Document:
    """Return the document with the overrides of the environment `name`. Each value keeps its position in its own file.

    Raises `UnknownName` for an unknown environment, `InvalidWorkspace` for an invalid one.
    """
    names = names_of(document, path)
    if name not in names:
        raise UnknownName("environment", name, names, where=document.name, hint=_hint(name, names, path))
    inside = document.data.get("environments", {})
    layers = []
    if isinstance(inside, Mapping) and isinstance(inside.get(name), Mapping):
        layers.append(document.below(["environments", name]))
    if path is not None and inputs.is_file(file_of(path, name)):
        layers.append(yamlfile.load(file_of(path, name), error=InvalidWorkspace))
    for layer in layers:
        yamlfile.check(layer, environment_schema(), InvalidWorkspace)
        problems = [layer.problem([section, key], text, key=True) for section, key, text in _unknown(document, layer)]
        if problems:
            raise InvalidWorkspace(problems)
        document = document.overlay(_merge(document.data, layer.data), layer)
    return document


def _hint(name: str, names: list[str], path: Path | None) -> str:
    """Return which environments exist, and how to add one."""
    file = "" if path is None else f", or a file {file_of(path, name).name} next to it"
    existing = f"Environments: {', '.join(names)}." if names else "The workspace has no environments."
    near = did_you_mean(name, names)
    return f"{near} {existing} To add one, write `environments: {{{name}: {{...}}}}` in the workspace file{file}."


def _unknown(document: Document, layer: Document) -> Iterator[tuple[str, str, str]]:
    """Yield the items that an environment overrides but the workspace does not have."""
    for section in _BY_KEY:
        base = document.data.get(section)
        for key in layer.data.get(section, {}):
            if isinstance(base, Mapping) and key not in base:
                yield section, key, f"unknown {section[:-1]} {key!r}.{did_you_mean(key, base)}"


def _merge(base: Any, other: Any) -> Any:
    """Merge objects member by member; replace anything else."""
    if not isinstance(base, Mapping) or not isinstance(other, Mapping):
        return other
    return {**base, **{key: _merge(base.get(key), value) for key, value in other.items()}}
