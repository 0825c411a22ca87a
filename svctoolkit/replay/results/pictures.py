"""The pictures of a replay and of a comparison: where events end, and what happened on which day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from svctoolkit.pictures import Days, Flow, Key, Sankey, Tone
from svctoolkit.replay.results.stories import stories
from svctoolkit.replay.results.text import describe_cause
from svctoolkit.replay.tally.tally import Group, Tally, add_counts

_TONES: Final[Mapping[str, Tone]] = {"delivered": "ok", "failed": "bad", "dropped": "warn", "filtered": "dim"}
_KEYS: Final = (*(Key(fate, tone) for fate, tone in _TONES.items()), Key("unmapped", "info"))
#: The kinds of groups of a replay whose events do not arrive, or not whole.
_FAILURES: Final = ("breach", "failed", "dropped", "lossy")
#: The kinds of groups of a comparison that are as reviewed.
_REVIEWED: Final = ("accepted",)


def fates(tally: Tally) -> Sankey:
    """Return how many events went from each source over their name and the stage where they stopped."""
    flows = Counter[Flow]()
    for of in tally.flows:
        stage = of.fate if of.fate == "delivered" or not of.stage else f"{of.fate}: {of.stage}"
        path = (of.source or "unknown source", of.event or "(no name)", stage, of.destination)
        flows[path, _TONES.get(of.fate, "info")] += of.events
    note = "An event counts once for each destination."
    return Sankey("Where events end", ("source", "event", "stage", "destination"), flows, _KEYS, note=note)


def failures_by_day(tally: Tally, releases: Mapping[str, str] | None = None) -> Days:
    """Return the events that failed, were dropped or lost something, by day and cause.

    `releases` maps a name to a day; by default they are the app versions that were first seen after the first day.
    """
    groups = _by_day((f"{of.destination}: {describe_cause(of)}", of) for of in tally.groups if of.kind in _FAILURES)
    return Days("Failures by day", groups, _releases(tally) if releases is None else releases)


def changes_by_day(tally: Tally, releases: Mapping[str, str] | None = None) -> Days:
    """Return the events of a comparison that differ, by day and cause; each cause counts once per event."""
    found = stories(of for of in tally.groups if of.kind not in _REVIEWED)
    groups: dict[str, dict[str, int]] = {}
    for story in found:
        title = story.title if story.because else f"{story.severity}: {describe_cause(story.groups[0])}"
        groups[title] = add_counts(groups.get(title, {}), story.days)
    return Days("Differences by day", groups, _releases(tally) if releases is None else releases)


def _by_day(named: Iterable[tuple[str, Group]]) -> dict[str, dict[str, int]]:
    groups: dict[str, dict[str, int]] = {}
    for name, group in named:
        groups[name] = add_counts(groups.get(name, {}), group.days)
    return groups


def _releases(tally: Tally) -> dict[str, str]:
    """Return the versions that began after the first day: the others were there before the events begin."""
    first = min(tally.releases.values(), default="")
    return {f"app {version}": day for version, day in tally.releases.items() if day > first}
