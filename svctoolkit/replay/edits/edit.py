"""One edit between two workspaces, and how to revert it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from svctoolkit.workspace import Workspace

#: Reverts an edit in a workspace in place: the items that it changes are replaced by copies.
Revert: TypeAlias = Callable[[Workspace], None]


@dataclass(frozen=True, eq=False)
class Edit:
    """One edit: `what` as shown to users (`clean.js:9`, `setting measurementId`).

    `revert` undoes it in a workspace that has it. `destinations` are the keys of those that it can concern; empty for
    all. `parts` are smaller edits that it consists of, if there are any. An edit of code has its `file` and first
    `line`.
    """

    what: str
    revert: Revert
    destinations: frozenset[str] = frozenset()
    parts: tuple[Edit, ...] = field(default=(), repr=False)
    file: str = ""
    line: int = 0

    def concerns(self, destination: str) -> bool:
        """Return whether the edit can make a difference at a destination."""
        return not self.destinations or destination in self.destinations


def without(after: Workspace, *edits: Edit) -> Workspace:
    """Return a copy of the later workspace in which edits are reverted. It shares the sandbox processes."""
    copy = after.in_mode(after.delivery.mode)
    for edit in edits:
        edit.revert(copy)
    return copy
