"""The interface of a step's result: each kind of step has its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Protocol

from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.planes.plane import Answer


class Result(Protocol):
    """The result of a step."""

    @property
    def answer(self) -> Answer | None:
        """The data plane's response, if there is one."""
        ...

    @property
    def everywhere(self) -> Mapping[str, Json] | None:
        """A plane's results at every destination that was reached; None if nothing was sent through it."""
        ...

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        """Return the results under the names that expectations use, in the form that `expected` has."""
        ...

    def default_expectation(self, expected: Mapping[str, Json]) -> dict[str, Json]:
        """Return what is expected unless the scenario says otherwise."""
        ...

    def arrived(self) -> Set[str]:
        """Return the keys of the destinations that something reached, or of the transformation that returned events."""
        ...

    def causes(self) -> Sequence[Cause]:
        """Return the failed and dropped events, unless the results contain them."""
        ...

    def unexpected_failures(self, expected: Mapping[str, Json]) -> Iterator[Difference]:
        """Yield a difference for each failure that `expected` does not mention."""
        ...

    def request_counts(self) -> Mapping[str, int]:
        """Return the number of requests to each destination."""
        ...
