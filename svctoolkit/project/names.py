"""Give transformations keys made of their names, so that every message names what its reader knows.

RudderStack's configuration refers to code by id; names come with the code. `Mask PII` becomes `mask-pii`.
"""

from __future__ import annotations

from svctoolkit.project.files import FileNames
from svctoolkit.workspace import Transformation, Workspace


def key_by_name(workspace: Workspace) -> None:
    """Rename the transformations whose key is still their id, and what refers to them."""
    names = FileNames()
    renamed: dict[str, str] = {}
    items: dict[str, Transformation] = {}
    for key, item in workspace.transformations.items():
        item.key = renamed[key] = names.of(item.name) if item.name not in ("", item.id) else names.of_key(key)
        items[item.key] = item
    workspace.transformations = items
    for destination in workspace.destinations.values():
        if destination.transformation is not None:
            destination.transformation = renamed.get(destination.transformation, destination.transformation)
