"""Items of a workspace by key or id, and the code in their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from svctoolkit.errors import ConfigError, InvalidWorkspace, UnknownName
from svctoolkit.workspace._items import Destination, Source, Transformation

Item = TypeVar("Item", Source, Destination, Transformation)


def lookup(kind: str, key: str, items: Mapping[str, Item]) -> Item:
    """The item with this key or id. Raises `UnknownName`."""
    if key in items:
        return items[key]
    for item in items.values():
        if item.id == key:
            return item
    raise UnknownName(kind, key, [*items, *(i.id for i in items.values())])


def code_of(file: Path) -> str:
    """The code in a file. Raises `InvalidWorkspace` for one that cannot be read."""
    from svctoolkit import yamlfile

    try:
        return yamlfile.load_text(file)
    except OSError as error:
        raise InvalidWorkspace(f"cannot be read: {error.strerror}", where=str(file)) from error
    except ConfigError as error:
        raise InvalidWorkspace(error.problems) from error
