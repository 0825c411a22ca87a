"""A replay in plain text: the number of events for each outcome, with examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.replay.results.attention import label, news, personal_lines, quiet_lines, story_lines, verdict_lines
from svctoolkit.replay.results.base import BaseResult
from svctoolkit.replay.results.gates import assumed_text, source_text
from svctoolkit.replay.results.results import Comparison
from svctoolkit.replay.results.stories import day_bars, number_lines, stories
from svctoolkit.replay.results.text import count_words, describe, example_line, plural_s
from svctoolkit.replay.tally.tally import Group

_MOST = 20  # stories, or groups per destination
_MOST_OF_STORY = 12  # groups
_REJECTS = 5
_MOST_EDITS = 8


def text(result: BaseResult) -> str:
    """Return the summary of a replay or a comparison."""
    return "\n".join(lines(result))


def lines(result: BaseResult, most: int = _MOST) -> Iterator[str]:
    """Yield the verdict, the totals, what needs attention (at most `most` stories, or groups per destination), and the
    rest.
    """
    yield from verdict_lines(result)
    yield head(result)
    yield from personal_lines(result)
    yield from result.lost.lines()
    urgent = news(result)
    yield from _stories(result, most) if isinstance(result, Comparison) else _destinations(result, urgent, most)
    if len(result.counts) > 1 or result.groups:
        yield from quiet_lines(result, urgent)
    yield from notes(result)


def _destinations(result: BaseResult, urgent: Mapping[str, Sequence[Group]], most: int) -> Iterator[str]:
    for destination, groups in urgent.items():
        yield f"{destination}" + (f"  {count_words(result.counts[destination])}" if len(result.counts) > 1 else "")
        width = max(len(label(group)) for group in groups[:most])
        for group in groups[:most]:
            yield f"  {label(group):<{width}}  {describe(group)}"
            yield from (f"  {'':<{width}}  {example}" for example in map(example_line, group.examples))
        if len(groups) > most:
            yield f"  and {len(groups) - most:,} more groups"


def _stories(result: BaseResult, most: int) -> Iterator[str]:
    told = stories(result.groups)
    for story in told[:most]:
        yield story.title
        shown = set[str]()
        for text, groups in list(story_lines(story).items())[:_MOST_OF_STORY]:
            yield f"  {text}"
            if story.severity == "accepted":  # reviewed before: without examples
                continue
            yield from (f"    {line}" for line in number_lines(groups[0]))
            yield from (f"    {line}" for line in map(example_line, groups[0].examples) if line not in shown)
            shown.update(map(example_line, groups[0].examples))  # the same event at several destinations
        if len(story.groups) > _MOST_OF_STORY:
            yield f"  and {len(story.groups) - _MOST_OF_STORY:,} more groups"
        if story.severity != "accepted" and (bars := day_bars(story.days)):
            yield f"  {bars}"
    if len(told) > most:
        yield f"and {len(told) - most:,} more causes"


def head(result: BaseResult) -> str:
    """Return `12,000 events, 2 destinations: 12 changed, 3 newly dropped, 11,985 same`.

    For a replay, it also has how many events lose a value: `25 delivered; 10 with lost values`.
    """
    many = len(result.counts)
    totals: dict[str, int] = {}
    for counts in result.counts.values():
        for what, count in counts.items():
            totals[what] = totals.get(what, 0) + count
    of = f"{result.events:,} event{plural_s(result.events)}, {many} destination{plural_s(many)}"
    lossy = sum(result.tally.lossy.values())
    lost = f"; {lossy:,} with lost values" if lossy else ""
    return f"{of}: {count_words(totals)}{lost}" if totals else of


def _without_difference(result: BaseResult, edited: Sequence[str]) -> Iterator[str]:
    """Yield what a comparison without any difference shows: that nothing was edited, or that no event needs it."""
    if edited:
        yield f"no event shows a difference, although these were edited: {_first(edited)}"
    elif not result.unreached.edits:
        files = f" of the workspace was edited, but these files were: {_first(result.changed_files)}"
        nothing = "both sides are the same: no code, setting, connection, tracking plan or policy"
        yield nothing + (files if result.changed_files else " was edited")


def _first(edits: Sequence[str]) -> str:
    more = f" and {len(edits) - _MOST_EDITS} more" if len(edits) > _MOST_EDITS else ""
    return f"{', '.join(edits[:_MOST_EDITS])}{more}"


def notes(result: BaseResult) -> Iterator[str]:
    """Yield notes on the reliability of the numbers."""
    if not result.complete:
        yield "interrupted: the results cover only a part of the events"
    if result.sample < 1:
        yield f"a sample: {result.events:,} of {result.records - result.rejected:,} events were run"
        for destination, of in result.estimates.items():
            shares = ", ".join(f"{estimate} {what}" for what, estimate in of.items())
            yield f"{destination}: estimated for all events: {shares} (95% confidence)"
    for destination, paths in result.tally.unstable.items():
        for path, count in sorted(paths.items(), key=lambda item: -item[1])[:5]:
            yield f"{destination}: {path} differs between two runs of the same code ({count:,} events); not compared"
    for destination, patterns in result.tally.ignored.items():
        for path, count in sorted(patterns.items(), key=lambda item: -item[1])[:5]:
            yield f"{destination}: {path} is not compared ({count:,} events differ there)"
    if result.edited is not None and not result.groups and result.complete:
        yield from _without_difference(result, result.edited)
    if result.unreached.edits:
        yield str(result.unreached)
    if result.tally.assumed:
        yield assumed_text(result.tally.assumed)
    if result.sourceless:
        yield source_text(result.sourceless, result.source_rules)
    yield from result.unchecked
    for each in result.exceeded:
        yield str(each)
    for entry in result.expired:
        yield f"{entry}: accepted until {entry.expires}, has expired and counts again ({entry.reason})"
    if result.more_groups:
        yield f"{result.more_groups:,} events are in no group, because there are too many groups"
    if result.rejected:
        yield f"{result.rejected:,} record{plural_s(result.rejected)} rejected"
        yield from (f"  {reject.place}: {reject.reason}" for reject in result.rejects[:_REJECTS])
        if result.rejected > _REJECTS:
            yield f"  and {result.rejected - _REJECTS:,} more"
