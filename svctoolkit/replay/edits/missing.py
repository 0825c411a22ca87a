"""What a run did to the events of days on which a policy misses some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from svctoolkit.replay.results.text import decision_text
from svctoolkit.replay.tally.tally import Group

_NOT_DELIVERED: Final = frozenset({"dropped", "filtered", "unmapped", "failed", "newly dropped", "newly failing"})
_MOST_CAUSES: Final = 3


def explain_missing(groups: Sequence[Group]) -> None:
    """Set `decides` of the breaches that miss events of a day: what else happened to events of this day, and why."""
    for group in groups:
        if group.kind == "breach" and not group.examples and group.days:
            (day,) = group.days
            group.decides = _what_happened(group, day, groups)


def _what_happened(missing: Group, day: str, groups: Sequence[Group]) -> str:
    found = [
        group
        for group in groups
        if group.destination == missing.destination
        and group.kind in _NOT_DELIVERED
        and group.days.get(day)
        and (not missing.events or any(name in group.events for name in missing.events))
    ]
    if not found:
        return "cause unknown: no event of that day was dropped or failed in this run"
    found.sort(key=lambda group: -group.days[day])
    causes = [f"{group.days[day]:,} {group.kind} ({_reason(group)})" for group in found[:_MOST_CAUSES]]
    more = [f"{len(found) - _MOST_CAUSES} more causes"] if len(found) > _MOST_CAUSES else []
    return f"of that day: {', '.join(causes + more)}"


def _reason(group: Group) -> str:
    """Return the edit, the line of code or the setting that decides, otherwise the rule and its message."""
    if group.because is not None and group.because.edits:
        return group.because.text
    if group.decides:
        return decision_text(group.stage, group.decides)
    return group.after_label or group.before_label or group.path
