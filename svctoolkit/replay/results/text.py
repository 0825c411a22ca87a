"""A replay as plain text: what happened to how many, with examples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from svctoolkit.replay.tally.alignment import ORDER
from svctoolkit.replay.tally.differences import KINDS, PAYLOAD, STATUSES
from svctoolkit.replay.tally.tally import Example, Group

if TYPE_CHECKING:
    from svctoolkit.replay.results.results import _Result

_MOST = 20  # groups of one destination
_REJECTS = 5
_NAMES = 3


def text(result: _Result) -> str:
    """The summary of a replay or a comparison."""
    return "\n".join(lines(result))


def lines(result: _Result, most: int = _MOST) -> Iterator[str]:
    """One line that says all, then the groups of each destination, with at most `most` groups each."""
    yield head(result)
    for destination in result.counts:
        groups = [group for group in result.groups if group.destination == destination]
        if groups or len(result.counts) > 1:
            yield f"{destination}" + (f"  {count_words(result.counts[destination])}" if len(result.counts) > 1 else "")
        width = max((len(group.kind) for group in groups[:most]), default=0)
        for group in groups[:most]:
            yield f"  {group.kind:<{width}}  {describe(group)}"
            yield from (f"  {'':<{width}}  {example}" for example in map(example_line, group.examples))
        if len(groups) > most:
            yield f"  and {len(groups) - most:,} more groups"
    yield from notes(result)


def head(result: _Result) -> str:
    """`12,000 events, 2 destinations: 12 changed, 3 newly dropped, 11,985 same`."""
    many = len(result.counts)
    totals: dict[str, int] = {}
    for counts in result.counts.values():
        for what, count in counts.items():
            totals[what] = totals.get(what, 0) + count
    of = f"{result.events:,} event{_s(result.events)}, {many} destination{_s(many)}"
    return f"{of}: {count_words(totals)}" if totals else of


def count_words(counts: Mapping[str, int]) -> str:
    """What is not the same first, the largest number first."""
    usual = ("same", "delivered", "accepted")
    order = sorted(counts, key=lambda what: (what in usual, -counts[what], (*KINDS, *STATUSES).index(what)))
    return ", ".join(f"{counts[what]:,} {what}" for what in order)


def describe(group: Group) -> str:
    """What happened to a group, in words, and what decides it."""
    what = _describe(group)
    return f"{what}; {decision_text(group.stage, group.decides)}" if group.decides else what


def decision_text(stage: str, decides: str) -> str:
    """What decides that events end at a stage, in words: `decided by setting trackAnonymous`."""
    setting = "settings" if "," in decides else "setting"
    word = f"by {setting}" if stage != "user_transform" else "at" if ":" in decides else "by transformation"
    return f"decided {word} {decides}"


def _describe(group: Group) -> str:
    events = f"{group.count:,} event{_s(group.count)} of {_names(group)}"
    if group.kind in STATUSES:
        return f"{group.after} in {events}"
    if group.kind == "lossy":
        return f"{group.path} {group.before} in {events}: {group.after}"
    if not group.path:
        return f"{group.before_label} -> {group.after_label} in {events}"
    if group.path == PAYLOAD:
        return f"{'another payload' if group.before == 'nothing' else 'a payload less'} in {events}"
    if group.path.endswith(ORDER):
        return f"{group.path.removesuffix(ORDER)}: another order in {events}"
    if group.before == group.after:
        return f"{group.path}: another {group.before}{_spread(group)} in {events}"
    return f"{group.path}: {group.before_label} -> {group.after_label} in {events}"


def _names(group: Group) -> str:
    if len(group.events) == 1:
        return group.event
    largest = sorted(group.events.items(), key=lambda item: -item[1])[:_NAMES]
    more = ", …" if len(group.events) > _NAMES else ""
    return f"{group.event} ({', '.join(f'{name} {count:,}' for name, count in largest)}{more})"


def _spread(group: Group) -> str:
    """`, -1 to 9, 4 on average`: how much a number has changed."""
    numbers = group.numbers
    if numbers is None or numbers.count < 2:
        return ""
    least, total, greatest = numbers.difference
    by = (
        f"{least:+.6g}"
        if least == greatest
        else f"{least:+.6g} to {greatest:+.6g}, {total / numbers.count:+.6g} on average"
    )
    return f" ({by})"


def anchor(destination: str) -> str:
    """What links into the page call a destination."""
    return "d-" + re.sub(r"[^A-Za-z0-9_-]", "-", destination)


def example_line(example: Example) -> str:
    if not example.before and not example.after:
        return example.place
    if not example.before:
        return f"{example.place}  {example.after}"
    return f"{example.place}  {example.before}" + (f" -> {example.after}" if example.after else " is gone")


def notes(result: _Result) -> Iterator[str]:
    """What a reader has to know to trust the numbers."""
    if not result.complete:
        yield "interrupted: this is about a part of the events"
    if result.sample < 1:
        yield f"a sample: {result.events:,} of {result.records - result.rejected:,} events were run"
        for destination, of in result.estimates.items():
            shares = ", ".join(f"{estimate} {what}" for what, estimate in of.items())
            yield f"{destination}: of all events probably {shares} (95%)"
    for destination, paths in result.tally.unstable.items():
        for path, count in sorted(paths.items(), key=lambda item: -item[1])[:5]:
            yield f"{destination}: {path} differs between two runs of the same code ({count:,} events); not compared"
    for destination, patterns in result.tally.ignored.items():
        for path, count in sorted(patterns.items(), key=lambda item: -item[1])[:5]:
            yield f"{destination}: {path} is not compared ({count:,} events differ there)"
    for entry in result.expired:
        yield f"{entry}: was accepted until {entry.expires}, and counts again ({entry.reason})"
    if result.more_groups:
        yield f"{result.more_groups:,} events are in no group: there are too many groups"
    if result.rejected:
        yield f"{result.rejected:,} record{_s(result.rejected)} rejected"
        yield from (f"  {reject.place}: {reject.reason}" for reject in result.rejects[:_REJECTS])
        if result.rejected > _REJECTS:
            yield f"  and {result.rejected - _REJECTS:,} more"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
