"""The groups of a result as stories: one for each cause, over all destinations, the most severe first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.pictures import bins, day_of
from svctoolkit.replay.tally.differences import LOST
from svctoolkit.replay.tally.tally import Group

#: From what must be looked at first to what is as configured.
SEVERITIES: Final = ("policy", "lost", "failing", "personal data", "types", "values", "other", "accepted")
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_STEPS: Final = (
    "-more", "-100%", "-10%", "-1%", "-0.1%", "-1e-6", "-1e-9", "1e-9", "1e-6", "0.1%", "1%", "10%", "100%", "more",
)  # fmt: skip


def severity(group: Group) -> str:
    """Return how urgent a group is. An event that failed and is dropped now is lost: it did not get better.

    One that was dropped and is filtered now is not: it did not arrive before, either.
    """
    if group.kind in ("breach", "accepted"):
        return "policy" if group.kind == "breach" else "accepted"
    if group.path == "fate" and group.before != "failed":
        return "other"
    is_lost_now = group.path == "fate" or (group.path.startswith(LOST) and group.before == "nothing")
    if group.kind in ("newly dropped", "dropped", "lossy") or (group.kind == "changed" and is_lost_now):
        return "lost"
    if group.kind in ("newly failing", "failed"):
        return "failing"
    if group.personal:
        return "personal data"
    if group.kind != "changed":
        return "other"
    return "values" if group.before == group.after else "types"


@dataclass(frozen=True, slots=True)
class Story:
    """Groups with one cause: the edits that they are due to, or else the same place, rule or change.

    `because` is the cause as text, empty if it is not known.
    """

    severity: str
    because: str
    groups: tuple[Group, ...]

    @property
    def destinations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group.destination for group in self.groups))

    @property
    def count(self) -> int:
        """The number of events in the largest group."""
        return max(group.count for group in self.groups)

    @property
    def days(self) -> dict[str, int]:
        """Day (UTC) -> events of the largest group on that day."""
        return max(self.groups, key=lambda group: group.count).days

    @property
    def edited(self) -> tuple[str, int]:
        """The file and line of the first edit in code; an empty name if there is none."""
        for group in self.groups:
            for edit in group.because.edits if group.because is not None else ():
                if edit.file:
                    return edit.file, edit.line
        return "", 0

    @property
    def title(self) -> str:
        """The severity, and the cause if it is known."""
        return f"{self.severity}: {self.because}" if self.because else self.severity

    def to_dict(self) -> dict[str, Json]:
        """Return the story as JSON; its groups as their keys."""
        return {
            "severity": self.severity,
            "because": self.because,
            "destinations": list(self.destinations),
            "groups": [list(group.key) for group in self.groups],
            "days": self.days,
        }


def stories(groups: Iterable[Group]) -> list[Story]:
    """Return one story for each cause, the most severe first, then the one with the most events."""
    by_cause: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        by_cause.setdefault(_cause(group), []).append(group)
    found = []
    for of in by_cause.values():
        of.sort(key=lambda group: (_rank(group), -group.count))
        because = of[0].because.text if of[0].because is not None else ""
        found.append(Story(severity(of[0]), because, tuple(of)))
    return sorted(found, key=lambda story: (_rank(story.groups[0]), -story.count))


def _cause(group: Group) -> tuple[str, ...]:
    because = group.because
    if group.kind == "accepted":
        return (group.kind,)
    if because is not None and because.edits:
        return because.how, *(edit.what for edit in because.edits)
    return group.kind, group.path, group.before, group.after, group.decides


def _rank(group: Group) -> int:
    return SEVERITIES.index(severity(group))


def day_bars(days: dict[str, int]) -> str:
    """Return `by day, 2026-11-01 to 2026-11-06 ▁▁▃█▆▇`: a bar for each day, or longer period; empty for one day."""
    dated = {day: count for text, count in days.items() if (day := day_of(text))}
    if len(dated) < 2:
        return ""
    periods = bins(min(dated), max(dated))
    totals = [0] * len(periods.starts)
    for day, count in dated.items():
        totals[periods.index(day)] += count
    return f"by {periods.unit}, {min(dated)} to {max(dated)}  {_bars(totals)}"


def number_lines(group: Group) -> Iterator[str]:
    """Yield the numbers of a group before and after, and a bar for each size of change."""
    numbers = group.numbers
    if numbers is None or numbers.count < 2:
        return
    for name, (least, total, greatest) in (("before", numbers.before), ("after", numbers.after)):
        spread = f" to {greatest:.6g}, {total / numbers.count:.6g} on average" if least < greatest else ""
        yield f"{name:<6}  {least:.6g}{spread}"
    sizes = [step for step in _STEPS if numbers.relative.get(step)]
    if len(sizes) > 1:
        low, high = _STEPS.index(sizes[0]), _STEPS.index(sizes[-1])
        bars = _bars([numbers.relative.get(step, 0) for step in _STEPS[low : high + 1]])
        yield f"change  {sizes[0]} to {sizes[-1]}  {bars}"


def _bars(counts: Sequence[int]) -> str:
    """Return a bar for each count; a space for none."""
    most = max(counts, default=0)
    return "".join(_LEVELS[(len(_LEVELS) - 1) * count // most] if count else " " for count in counts)
