"""A suite that is loaded and checked, ready to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svctoolkit.runner import _format
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import Document


@dataclass(slots=True, eq=False)
class Suite:
    """One suite file. `name` is the file as errors show it, `title` what reports call it."""

    path: Path
    title: str
    document: Document = field(repr=False)
    workspace: Workspace = field(repr=False)
    scenarios: list[Scenario] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        return self.document.name


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """One test: a scenario, or one row of its `cases`.

    `id` is stable and unique in its suite (`slug` or `slug[row]`); `title` is for people. `given` is what the file
    says, variables replaced; `expect` is its expectation as plain values. `place` leads to it in the document.
    """

    suite: Suite
    id: str
    title: str
    tags: tuple[str, ...]
    given: _format.Scenario
    expect: dict[str, Any]
    place: tuple[str | int, ...]
    skip: str | None = None
    xfail: str | None = None

    @property
    def name(self) -> str:
        """`file::id`, which selects this scenario alone."""
        return f"{self.suite.name}::{self.id}"

    @property
    def where(self) -> str:
        """`file:line:col`."""
        return self.suite.document.where(self.place)

    @property
    def line(self) -> int:
        """The line in the suite file, from 1; a row of `cases` has its own."""
        return self.suite.document.position(self.place)[0]
