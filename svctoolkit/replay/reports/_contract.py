"""The interface of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.review.terms import Breach


@dataclass(frozen=True, slots=True)
class Report:
    """A report format: `text(result, breaches, page)` returns the whole report.

    `breaches` are the failure conditions that the result meets, `page` is the path or URL of the HTML page, or empty.
    Secrets and, on request, personal data are already masked in `result`.
    """

    text: Callable[[Replayed | Comparison, Sequence[Breach], str], str]
