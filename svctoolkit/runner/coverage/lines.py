"""How often each line of user code ran, and each branch was taken, over all data planes of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from svctoolkit.yamlfile import display_name

if TYPE_CHECKING:
    from svctoolkit.runner.suite.model import Suite

#: Number of runs by file and line.
Counts: TypeAlias = Mapping[str, Mapping[int, int]]
#: Number of times that a branch was taken, by file and `line:column outcome`.
Branches: TypeAlias = Mapping[str, Mapping[str, int]]
_Key = TypeVar("_Key", int, str)


class CodeCounts(NamedTuple):
    """The counts of one data plane: in its Test API and in the data plane itself."""

    lines: Sequence[Counts] = ()
    branches: Sequence[Branches] = ()


class Lines:
    """Sums of line counts in `counts`, and of branches (`8:3 false`) in `branches`, by file.

    Code in a file is listed under its path, inline code under its place in the workspace.
    """

    def __init__(self) -> None:
        self.counts: dict[str, dict[int, int]] = {}
        self.branches: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def add(self, suite: Suite, counted: CodeCounts) -> None:
        """Add the counts of a data plane that serves the workspace of `suite`."""
        names = file_names(suite)
        with self._lock:
            for counts in counted.lines:
                _sum(self.counts, counts, names)
            for branches in counted.branches:
                _sum(self.branches, branches, names)


def _sum(
    totals: dict[str, dict[_Key, int]], counts: Mapping[str, Mapping[_Key, int]], names: Mapping[str, str]
) -> None:
    for file, of_file in counts.items():
        total = totals.setdefault(names.get(file, file), {})
        for key, times in of_file.items():
            total[key] = total.get(key, 0) + times


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
