"""What a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.review.terms import Breach


@dataclass(frozen=True, slots=True)
class Report:
    """`text(result, breaches, page)`: the whole report. `breaches` are the conditions that hold, `page` the path or URL
    of the HTML page, or empty. Secrets and, on request, personal data are masked in `result` already.
    """

    text: Callable[[Replayed | Comparison, Sequence[Breach], str], str]
