"""How often each line of user code ran, over all data planes of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from svctoolkit.yamlfile import display_name

if TYPE_CHECKING:
    from svctoolkit.runner.suite.model import Suite

#: Number of runs by file and line.
Counts: TypeAlias = Mapping[str, Mapping[int, int]]


class Lines:
    """Sums of line counts. Code in a file is listed under its path, inline code under its place in the workspace."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[int, int]] = {}
        self._lock = threading.Lock()

    def add(self, suite: Suite, *counted: Counts) -> None:
        """Add the counts of data planes that serve the workspace of `suite`."""
        names = file_names(suite)
        with self._lock:
            for counts in counted:
                for file, lines in counts.items():
                    totals = self.counts.setdefault(names.get(file, file), {})
                    for line, times in lines.items():
                        totals[line] = totals.get(line, 0) + times


def file_names(suite: Suite) -> dict[str, str]:
    """Return the names under which the code of a suite's workspace is listed, by its file name in errors."""
    return dict(_names(suite))


def _names(suite: Suite) -> Iterator[tuple[str, str]]:
    folder = suite.workspace.folder or Path()
    for transformation in suite.workspace.transformations.values():
        yield transformation.file_name, _name(suite, transformation.file_name, folder, transformation.file)
    for library in suite.workspace.libraries.values():
        yield library.file_name, _name(suite, library.file_name, folder, library.file)


def _name(suite: Suite, name: str, folder: Path, file: Path | None) -> str:
    return display_name(folder / file) if file else f"{suite.workspace_name} {name}"
