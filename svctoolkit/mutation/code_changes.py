"""Changes of the transformations and libraries of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from svctoolkit.edits import Edit, edits_of
from svctoolkit.mutation.change import Change, copy_of, place_of
from svctoolkit.mutation.place import Places
from svctoolkit.workspace import Library, Transformation, Workspace


@dataclass(frozen=True, slots=True)
class NewCode:
    """The code at `place` (its file; or the file of the workspace, with its key) with one edit."""

    place: str
    edit: Edit

    def apply(self, workspace: Workspace) -> Workspace:
        transformations = {
            key: replace(item, code=self.edit.apply(item.code))
            for key, item in workspace.transformations.items()
            if item.code and code_place(workspace, item) == self.place
        }
        libraries = {
            key: replace(item, code=self.edit.apply(item.code))
            for key, item in workspace.libraries.items()
            if item.code and code_place(workspace, item) == self.place
        }
        if not transformations and not libraries:
            return workspace
        copy = copy_of(workspace)
        copy.transformations |= transformations
        copy.libraries |= libraries
        return copy


def code_place(workspace: Workspace, item: Transformation | Library) -> str:
    """Return where code is written: its file, or the workspace's file with its key."""
    if item.file is not None:
        return str(((workspace.folder or Path()) / item.file).resolve())
    kind = "library" if isinstance(item, Library) else "transformation"
    return f"{place_of(workspace)}#{kind} {item.key}"


def code_changes(workspace: Workspace, places: Places, files: Mapping[str, str]) -> Iterator[Change]:
    """Yield each change of the workspace's code. `files` has the names of code in coverage, by its name in errors."""
    for key, item in workspace.transformations.items():
        yield from _of(workspace, places, files, item, frozenset({f"transformations.{key}"}))
    for key, library in workspace.libraries.items():
        yield from _of(workspace, places, files, library, frozenset({f"libraries.{key}"}))


def _of(
    workspace: Workspace,
    places: Places,
    files: Mapping[str, str],
    item: Transformation | Library,
    items: frozenset[str],
) -> Iterator[Change]:
    place = code_place(workspace, item)
    name = "libraries" if isinstance(item, Library) else "transformations"
    file, offset = (places.name(Path(place)), 0) if item.file else places.code(name, item.key)
    counted = files.get(item.file_name, item.file_name)
    for edit in edits_of(item.code, item.language):
        reached = (counted, edit.statement) if edit.statement else None
        words = edit.words | {item.file_name}
        yield Change(edit.kind, file, offset + edit.line, edit.text, NewCode(place, edit), items, reached, words)
