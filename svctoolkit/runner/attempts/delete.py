"""A step that deletes users at destinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.suite.deletions import deleted_at
from svctoolkit.runner.suite.model import Scenario, Step
from svctoolkit.runner.suite.results import is_by_destination
from svctoolkit.workspace import Workspace


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """The deletion at each destination."""

    deletions: Mapping[str, Mapping[str, Any]]
    workspace: Workspace
    answer: None = None
    everywhere: None = None

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        """Return `deleted`: by destination, unless there is only one and the expectation does not name it."""
        keyed = is_by_destination(expected.get("deleted"), self.workspace.destinations)
        one = list(self.deletions.values())
        return {"deleted": one[0] if len(one) == 1 and not keyed else dict(self.deletions)}

    def request_counts(self) -> dict[str, int]:
        return {key: len(deletion["requests"]) for key, deletion in self.deletions.items()}

    def arrived(self) -> frozenset[str]:
        return frozenset()

    def default_expectation(self, expected: Mapping[str, Json]) -> dict[str, Json]:  # noqa: ARG002 - of the protocol
        """Return nothing: `unexpected_failures` reports deletions that failed."""
        return {}

    def causes(self) -> Sequence[Cause]:
        return ()

    def unexpected_failures(self, expected: Mapping[str, Json]) -> Iterator[Difference]:
        """Yield a difference for each deletion that failed, unless the expectation is about it."""
        wanted = expected.get("deleted")
        if wanted is not None and not is_by_destination(wanted, self.workspace.destinations):
            return
        for key, deletion in self.deletions.items():
            if deletion["status"] != "complete" and key not in (wanted or ()):
                text = f"deleted: {key}: {deletion['status']}: {deletion['error']}"
                yield Difference(("..", "delete"), ("deleted", key), "complete", deletion["status"], text=text)


def perform(scenario: Scenario, step: Step, plane: Plane, run: str, limit: float) -> DeleteResult:
    """Delete the users, and wait until each destination has done it or given up."""
    deletions = plane.delete(run, step.spec.delete, deleted_at(step.spec), limit)
    return DeleteResult(deletions, scenario.suite.workspace)
