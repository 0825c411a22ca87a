"""Environments of a workspace: what is different in one of them, in the file itself or in a file beside it.

`environments: {production: {...}}` in `workspace.yaml` and the file `workspace.production.yaml` beside it say the same;
what the latter says comes last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile
from svctoolkit.errors import InvalidWorkspace, UnknownName, did_you_mean
from svctoolkit.workspace._shapes import environment_schema
from svctoolkit.yamlfile import Document

VARIABLE = "SVC_ENV"  # names the environment where nobody else does
_BY_KEY = ("sources", "destinations")


def file_of(path: Path, name: str) -> Path:
    """The file beside a workspace file that has what is different in an environment."""
    return path.with_name(f"{path.stem}.{name}{path.suffix}")


def names_of(document: Document, path: Path | None) -> list[str]:
    """The environments of a workspace file, those in files beside it included."""
    data = document.data
    inside = data.get("environments") if isinstance(data, Mapping) else None
    names = dict.fromkeys(inside if isinstance(inside, Mapping) else ())
    if path is not None:
        for file in sorted(path.parent.glob(f"{path.stem}.*{path.suffix}")):
            name = file.name.removeprefix(f"{path.stem}.").removesuffix(path.suffix)
            if "." not in name:
                names[name] = None
    return list(names)


def apply(document: Document, name: str, path: Path | None) -> Document:
    """The document as it is in the environment `name`: problems have their place where each value stands.

    Raises `UnknownName` for an environment that is not there, `InvalidWorkspace` for a wrong one.
    """
    names = names_of(document, path)
    if name not in names:
        raise UnknownName("environment", name, names, where=document.name)
    inside = document.data.get("environments", {})
    layers = []
    if isinstance(inside, Mapping) and isinstance(inside.get(name), Mapping):
        layers.append(document.below(["environments", name]))
    if path is not None and file_of(path, name).is_file():
        layers.append(yamlfile.load(file_of(path, name), error=InvalidWorkspace))
    for layer in layers:
        yamlfile.check(layer, environment_schema(), InvalidWorkspace)
        problems = [layer.problem([section, key], text, key=True) for section, key, text in _unknown(document, layer)]
        if problems:
            raise InvalidWorkspace(problems)
        document = document.overlay(_merge(document.data, layer.data), layer)
    return document


def _unknown(document: Document, layer: Document) -> Iterator[tuple[str, str, str]]:
    """Items that an environment changes and the workspace does not have."""
    for section in _BY_KEY:
        base = document.data.get(section)
        for key in layer.data.get(section, {}):
            if isinstance(base, Mapping) and key not in base:
                yield section, key, f"no {section[:-1]} is called {key!r}.{did_you_mean(key, base)}"


def _merge(base: Any, other: Any) -> Any:
    """Objects member by member; anything else is replaced."""
    if not isinstance(base, Mapping) or not isinstance(other, Mapping):
        return other
    return {**base, **{key: _merge(base.get(key), value) for key, value in other.items()}}
