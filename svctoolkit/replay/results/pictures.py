"""The pictures of a replay and of a comparison: where events end, and what happened on which day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from svctoolkit.history.sketches import bins
from svctoolkit.pictures import Bin, Days, Flow, Histogram, Key, Sankey, Tone, Values
from svctoolkit.replay.results.stories import stories
from svctoolkit.replay.results.text import describe_cause
from svctoolkit.replay.review.fingerprints import DIGEST
from svctoolkit.replay.tally.tally import Group, Tally, add_counts

_TONES: Final[Mapping[str, Tone]] = {"delivered": "ok", "failed": "bad", "dropped": "warn", "filtered": "dim"}
_KEYS: Final = (*(Key(fate, tone) for fate, tone in _TONES.items()), Key("unmapped", "info"))
_SHIFT_TONES: Final[Mapping[str, Tone]] = {
    "changed": "info", "newly failing": "bad", "newly dropped": "warn", "newly delivered": "ok",
    "no longer failing": "ok", "accepted": "dim",
}  # fmt: skip
_SHIFT_KEYS: Final = (
    Key("newly failing", "bad"), Key("newly dropped", "warn"), Key("newly delivered, or no longer failing", "ok"),
    Key("changed", "info"), Key("accepted", "dim"),
)  # fmt: skip
#: The kinds of groups of a replay whose events do not arrive, or not whole.
_FAILURES: Final = ("breach", "failed", "dropped", "lossy")
_MOST_BINS: Final = 40
_LEAST_SHARE: Final = 0.05  # of the most frequent value
#: The kinds of groups of a comparison that are as reviewed.
_REVIEWED: Final = ("accepted",)


def fates(tally: Tally) -> Sankey:
    """Return how many events went from each source over their name and the stage where they stopped."""
    flows = Counter[Flow]()
    for of in tally.flows:
        path = (of.source or "unknown source", of.event or "(no name)", _end(of.fate, of.stage), of.destination)
        flows[path, _TONES.get(of.fate, "info")] += of.events
    note = "An event counts once for each destination."
    return Sankey("Where events end", ("source", "event", "stage", "destination"), flows, _KEYS, note=note)


def shifts(tally: Tally) -> Sankey:
    """Return how the fates of events differ between both sides; events that are the same are only counted."""
    flows, same = Counter[Flow](), 0
    for of in tally.shifts:
        if of.kind == "same":
            same += of.events
            continue
        before, after = _end(of.before, of.before_stage), _end(of.after, of.after_stage)
        if of.kind == "changed" and before == after:
            after = f"{after}, changed"
        flows[(of.event or "(no name)", of.destination, before, after), _SHIFT_TONES[of.kind]] += of.events
    note = "An event counts once for each destination."
    note += f" {same:,} with the same output are not drawn." if same else ""
    return Sankey("What changes", ("event", "destination", "before", "after"), flows, _SHIFT_KEYS, note=note)


def _end(fate: str, stage: str) -> str:
    return f"{fate}: {stage}" if stage else fate


def failures_by_day(tally: Tally, releases: Mapping[str, str]) -> Days:
    """Return the events that failed, were dropped or lost something, by day and cause.

    `releases` maps a name to a day; if empty, they are the app versions that were first seen after the first day.
    """
    groups = _by_day((f"{of.destination}: {describe_cause(of)}", of) for of in tally.groups if of.kind in _FAILURES)
    return Days("Failures by day", groups, releases or _app_releases(tally))


def changes_by_day(tally: Tally, releases: Mapping[str, str]) -> Days:
    """Return the events of a comparison that differ, by day and cause; each cause counts once per event."""
    found = stories(of for of in tally.groups if of.kind not in _REVIEWED)
    groups: dict[str, dict[str, int]] = {}
    for story in found:
        title = story.title if story.because else f"{story.severity}: {describe_cause(story.groups[0])}"
        groups[title] = add_counts(groups.get(title, {}), story.days)
    return Days("Differences by day", groups, releases or _app_releases(tally))


def change_of_values(group: Group) -> Histogram | Values | None:
    """Return how the values of a changed field are distributed before and after.

    None without values that occur several times: of ids, a picture shows nothing.
    """
    title = f"{group.destination}: {group.path}"
    numbers = group.numbers
    if numbers is not None and numbers.count > 1:
        ranges = bins([numbers.before_buckets, numbers.after_buckets], _MOST_BINS)
        return Histogram(title, [Bin(low, high, *counts) for low, high, counts in ranges])
    before, after = _clear(group.old_values, group.before), _clear(group.values, group.after)
    most = max([*before.values(), *after.values()], default=0)
    if group.kind != "changed" or most < 2 or most < _LEAST_SHARE * group.count:
        return None
    return Values(title, before, after)


def _clear(values: Mapping[str, int], kind: str) -> dict[str, int]:
    """Return the counts of texts and other plain values; objects, lists and long texts are digests, and left out."""
    decoded = {text: msgspec.json.decode(text) for text in values if kind not in ("object", "list")}
    return {
        value if isinstance(value, str) else text: values[text]
        for text, value in decoded.items()
        if not str(value).startswith(DIGEST)
    }


def _by_day(named: Iterable[tuple[str, Group]]) -> dict[str, dict[str, int]]:
    groups: dict[str, dict[str, int]] = {}
    for name, group in named:
        groups[name] = add_counts(groups.get(name, {}), group.days)
    return groups


def _app_releases(tally: Tally) -> dict[str, str]:
    """Return the versions that began after the first day: the others were there before the events begin."""
    first = min(tally.releases.values(), default="")
    return {f"app {version}": day for version, day in tally.releases.items() if day > first}
