"""One change of a project, and what depends on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from svctoolkit.workspace import Workspace

_PARTS = ("sources", "destinations", "transformations", "libraries", "tracking_plans")


class Alteration(Protocol):
    """What a change does to a workspace. Implementations are frozen and can be pickled."""

    def apply(self, workspace: Workspace) -> Workspace:
        """Return a changed copy, or the workspace itself if this does not change it."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """One plausible mistake, in memory: `text` says what changes at `file`:`line`.

    `items` are the items of the workspace that it affects, as in `runner.suite.dependencies`: `destinations.hook`.
    `reached` is a line of user code, with its file as in coverage, that every affected run executes. `words` identify
    the place in an error. `is_set` is false for a setting that has its default. `id` stays the same as long as the
    text of the line does not change.
    """

    kind: str
    file: str
    line: int
    text: str
    alteration: Alteration = field(repr=False)
    items: frozenset[str] = field(default=frozenset(), repr=False)
    reached: tuple[str, int] | None = field(default=None, repr=False)
    words: frozenset[str] = field(default=frozenset(), repr=False)
    is_set: bool = field(default=True, repr=False)
    id: str = ""

    @property
    def where(self) -> str:
        """`file:line`; the file alone if the line is unknown."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.where}  {self.kind}: {self.text}"


def place_of(workspace: Workspace) -> str:
    """Return the file of a workspace; its name if it was not loaded from one."""
    return str(workspace.file.resolve()) if workspace.file else workspace.name


def copy_of(workspace: Workspace) -> Workspace:
    """Return a copy whose parts can be replaced. It shares the sandbox, so that changed code needs no new process."""
    copy = workspace.in_mode(workspace.delivery.mode)
    for name in _PARTS:
        setattr(copy, name, dict(getattr(workspace, name)))
    return copy


def alter(workspace: Workspace, alteration: Alteration) -> None:
    """Change a workspace in place, because tests refer to it already."""
    changed = alteration.apply(workspace)
    for name in (*_PARTS, "data_plane"):
        setattr(workspace, name, getattr(changed, name))
