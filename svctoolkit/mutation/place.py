"""Where the parts of a workspace are written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from svctoolkit.errors import ConfigError
from svctoolkit.runner import Suite
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import Document, display_name, load


class Places:
    """The positions in the file of a workspace, which reports call `name`. `document` is its content, if parsed."""

    def __init__(self, name: str, document: Document | None) -> None:
        self.file = os.path.normpath(name)
        self._document = document

    @classmethod
    def of_suite(cls, suite: Suite) -> Places:
        """Return the positions in the file that has the workspace of `suite`: a workspace file, or the suite itself."""
        own = suite.workspace_name == suite.name
        return cls(suite.workspace_name, suite.document if own else _document(suite.workspace.file))

    @classmethod
    def of_workspace(cls, workspace: Workspace) -> Places:
        """Return the positions in the file that a workspace was loaded from."""
        return cls(display_name(workspace.file or Path(workspace.name)), _document(workspace.file))

    def name(self, file: Path) -> str:
        """Return a file as reports show it."""
        return display_name(file)

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line of a part, from 1; 0 if it is not written in the file."""
        if self._document is None or not self._document.has(tuple(path)):
            return 0
        return self._document.position(tuple(path), key=isinstance(path[-1], str))[0]

    def first_line(self, path: Sequence[str | int]) -> int:
        """Return the line of a part; if it is not written, that of the nearest part around it."""
        return next((line for line in (self.line(path[:end]) for end in range(len(path), 0, -1)) if line), 0)

    def code(self, kind: str, key: str) -> tuple[str, int]:
        """Return the file with code that is written in the workspace, and the line before its first one."""
        if self._document is None or not self._document.has((kind, key, "code")):
            return self.file, 0
        line = self._document.position((kind, key, "code"))[0]
        excerpt = self._document.excerpt((kind, key, "code"))
        return self.file, line if excerpt.splitlines()[0].rstrip().endswith(("|", "|-", ">", "|+")) else line - 1


def _document(file: Path | None) -> Document | None:
    try:
        return load(file) if file is not None else None
    except ConfigError:  # the form of a service's export, which has its own reader
        return None
