"""The order of a report: what needs attention first, and what is as expected in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from svctoolkit.replay.results.base import BaseResult
from svctoolkit.replay.results.stories import Story
from svctoolkit.replay.results.text import count_words, describe_outcome, enumerate_words, plural_s
from svctoolkit.replay.tally.exposure import KIND_WORDS
from svctoolkit.replay.tally.tally import Group

_RANKS = (
    "breach", "newly failing", "failed", "lossy", "newly dropped", "dropped", "changed", "unmapped", "newly delivered",
    "no longer failing", "filtered", "accepted",
)  # fmt: skip
_QUIET = ("filtered", "accepted")  # kinds that are as configured, or as reviewed
_FEW = 8  # quiet destinations that are named for one reason
PERSONAL = "PERSONAL DATA"


def label(group: Group) -> str:
    """Return the kind of a group as shown to users."""
    return PERSONAL if group.personal else group.kind


def by_attention(groups: Iterable[Group]) -> list[Group]:
    """Return new personal data first, then failures, drops, changes, and the rest; of a kind, the largest first."""
    return sorted(groups, key=lambda group: (not group.personal, _RANKS.index(group.kind), -group.count))


def news(result: BaseResult) -> dict[str, list[Group]]:
    """Return the destinations that need attention, the most urgent first, with their groups in the same order."""
    ordered: dict[str, list[Group]] = {}
    for group in by_attention(result.groups):
        ordered.setdefault(group.destination, []).append(group)
    return {key: groups for key, groups in ordered.items() if any(group.kind not in _QUIET for group in groups)}


def personal_lines(result: BaseResult) -> list[str]:
    """Return one line per destination that plain personal data newly reaches; one for those with the same data."""
    reached: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for destination, kinds in result.tally.personal.items():
        by_count: dict[int, list[str]] = {}
        for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])):
            by_count.setdefault(count, []).append(KIND_WORDS[kind])
        parts = tuple((enumerate_words(words), count) for count, words in by_count.items())
        reached.setdefault(parts, []).append(destination)
    return [
        f"{PERSONAL}: plain {words} now reach {_names(keys)} in {count:,} event{plural_s(count)}"
        + (" each" if len(keys) > 1 else "")
        + "".join(f"; plain {words} in {count:,}" for words, count in others)
        for ((words, count), *others), keys in reached.items()
    ]


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys[:_FEW]) + (f" and {len(keys) - _FEW} more" if len(keys) > _FEW else "")


def story_lines(story: Story) -> dict[str, list[Group]]:
    """Return the lines of a story, each with its groups: the same at several destinations is one line."""
    alike: dict[str, list[Group]] = {}
    for group in story.groups:
        alike.setdefault(f"{label(group)}  {describe_outcome(group)}", []).append(group)
    lines: dict[str, list[Group]] = {}
    for text, groups in alike.items():
        kind, _, what = text.partition("  ")
        lines[f"{kind}  {_names([group.destination for group in groups])}: {what}"] = groups
    return lines


def verdict_lines(result: BaseResult) -> list[str]:
    """Return whether a check passes, and the conditions and policies that fail it; empty if nothing was checked."""
    if result.verdict is None:
        return []
    if not result.verdict:
        return ["passed: no failure condition is met"]
    many = len(result.verdict)
    conditions = [f"  {breach.condition}: {breach.text}" for breach in result.verdict]
    return [f"failed: {many} failure condition{plural_s(many)} met", *conditions]


def quiet_lines(result: BaseResult, others: Mapping[str, Sequence[Group]]) -> Iterator[str]:
    """Yield one line for the destinations that are not among `others`, by what happens to their events."""
    by_outcome: dict[str, list[str]] = {}
    for key, counts in result.counts.items():
        if key not in others:
            reasons = {group.after for group in result.groups if group.destination == key and group.kind == "filtered"}
            why = f" ({reasons.pop()})" if len(reasons) == 1 and set(counts) == {"filtered"} else ""
            by_outcome.setdefault(count_words(counts) + why, []).append(key)
    for outcome, keys in by_outcome.items():
        yield f"{_names(keys)}: {outcome}{' each' if len(keys) > 1 else ''}"
