"""Remove differences that are ignored, within tolerance, or accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from svctoolkit.replay.review.accepted import Accepted
from svctoolkit.replay.review.fingerprints import Seen
from svctoolkit.replay.review.paths import matches, steps_of
from svctoolkit.replay.tally.differences import SAME, Difference, json_type
from svctoolkit.results.changes import Change


class Review:
    """`ignore` are paths that are not compared, `tolerance` maps paths to the allowed difference between numbers.

    A tolerance is relative to the larger of both numbers, or to 1 if both are smaller. Accepted entries for which
    `is_over` returns true are in `expired`, and count as differences. Raises `ConfigError` for invalid paths.
    """

    def __init__(
        self,
        ignore: Sequence[str] = (),
        tolerance: Mapping[str, float] | None = None,
        accepted: Sequence[Accepted] = (),
        is_over: Callable[[Accepted], bool] = lambda _: False,
    ) -> None:
        self.ignore, self.tolerance = tuple(ignore), dict(tolerance or {})
        self.expired = tuple(entry for entry in accepted if is_over(entry))
        self.accepted = tuple(entry for entry in accepted if entry not in self.expired)
        for path in (*self.ignore, *self.tolerance):
            steps_of(path)
        self._verdicts: dict[str, str] = {}

    def reduce(self, how: Difference) -> tuple[Difference, list[str]]:
        """Return the difference without ignored changes, and the patterns that matched them."""
        if how.kind != "changed" or not (self.ignore or self.tolerance):
            return how, []
        reasons = [self._reason(change) for change in how.changes]
        changes = tuple(change for change, reason in zip(how.changes, reasons, strict=True) if not reason)
        left = Difference("changed", changes, how.fixed) if changes else SAME
        return left, [reason for reason in dict.fromkeys(reasons) if reason]

    def accepting(self, group: Sequence[str], event: str, seen: Seen) -> int | None:
        """Return the number of the entry that accepts an event's difference, by the key of its group and its name."""
        return next((n for n, entry in enumerate(self.accepted) if entry.takes(group, event, seen)), None)

    def _reason(self, change: Change) -> str:
        if change.path not in self._verdicts:
            self._verdicts[change.path] = next((path for path in self.ignore if matches(path, change.path)), "")
        if self._verdicts[change.path] or {json_type(change.before), json_type(change.after)} != {"number"}:
            return self._verdicts[change.path]
        by = abs(change.after - change.before)
        most = max(1, abs(change.before), abs(change.after))
        return next((p for p, t in self.tolerance.items() if by <= t * most and matches(p, change.path)), "")
