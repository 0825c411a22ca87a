"""Compare a draft with the saved version of a transformation on many events, with live counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.widgets.transformation_editor.aggregate import Aggregate, Many, Outcome
from svctoolkit.widgets.transformation_editor.trial import Bench, Trials
from svctoolkit.workspace import Transformation, Workspace

_AT_ONCE = 250  # events per call; cancelling and updating the counts happen between calls
_OUTCOMES: tuple[Outcome, ...] = ("changed", "unchanged", "dropped", "failed")


@dataclass(slots=True)
class Comparison:
    """The outcomes of a draft so far, and of the saved version if its code is different.

    `differing` counts the events with different results; `example` is the first of them, with the result of the draft.
    `is_done` is true after the last event, `is_cancelled` if the user cancelled.
    """

    draft: Aggregate
    saved: Aggregate | None = None
    differing: int = 0
    example: Trials | None = None
    is_done: bool = False
    is_cancelled: bool = False

    def __str__(self) -> str:
        counts = ", ".join(f"{self.draft.counts[outcome]:,} {outcome}" for outcome in _OUTCOMES)
        return f"{self._state()}: {counts}{self._difference()}"

    def html(self) -> Html:
        """The counts side by side; at the end also the changes by field and error."""
        head = ("outcome", "this code", *(["saved version"] if self.saved else []))
        sides = [self.draft, *([self.saved] if self.saved else [])]
        rows = [(outcome, *(side.counts[outcome] for side in sides)) for outcome in _OUTCOMES]
        kind: display.Kind = "info" if not self.is_done else "warning" if self.draft.counts["failed"] else "ok"
        parts = [
            display.message(f"{self._state()}{self._difference()}", "warning" if self.is_cancelled else kind),
            display.table(head, rows),
        ]
        if self.is_done or self.is_cancelled:
            parts.append(self.draft.details())
        if self.example:
            parts.append(display.more("First event with a different result", self.example.html()))
        return Html("".join(parts))

    def _state(self) -> str:
        events = display.quantity(self.draft.events, "event")
        state = "cancelled after" if self.is_cancelled else "" if self.is_done else "running:"
        rejected = f", {self.draft.rejected:,} records are not events" if self.draft.rejected else ""
        failed = self.draft.counts["failed"] if self.is_done else 0
        words = f", {failed:,} failed" if failed else ""
        return f"{state} {events}{words}{rejected}".strip()

    def _difference(self) -> str:
        return f"; {self.differing:,} differ from the saved version" if self.saved else ""


def compare(
    workspace: Workspace, draft: Transformation, saved: Transformation | None, many: Many, stop: Callable[[], bool]
) -> Iterator[Comparison]:
    """Yield the comparison after each block of events, until all are counted or `stop` returns true.

    Raises `ConfigError` for events that cannot be read.
    """
    ours, theirs = Bench(workspace), Bench(workspace)
    result = Comparison(Aggregate(draft.key), Aggregate(saved.key) if saved else None)
    remaining = many.events()
    while block := dict(islice(remaining, _AT_ONCE)):
        trials = ours.run(draft, block)
        result.draft.add(trials)
        if saved is not None and result.saved is not None:
            before = theirs.run(saved, block)
            result.saved.add(before)
            for one, other in zip(trials, before, strict=True):
                if (one.status, one.output.events) != (other.status, other.output.events):
                    result.differing += 1
                    result.example = result.example or trials.only(one)
        if stop():
            result.is_cancelled = True
            yield result
            return
        yield result
    result.draft.rejected, result.is_done = many.rejected, True
    yield result
