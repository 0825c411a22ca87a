"""Describe groups of a replay in plain text: what changed or failed in how many events, with examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from svctoolkit.replay.tally.differences import KINDS, LOST, PAYLOAD, STATUSES
from svctoolkit.replay.tally.exposure import KIND_WORDS
from svctoolkit.replay.tally.tally import Example, Group
from svctoolkit.results.changes import ORDER

_NAMES = 3


def count_words(counts: Mapping[str, int]) -> str:
    """Return the counts as text: differences and failures first, largest number first."""
    usual = ("same", "delivered", "accepted")
    order = sorted(counts, key=lambda what: (what in usual, -counts[what], (*KINDS, *STATUSES).index(what)))
    return ", ".join(f"{counts[what]:,} {what}" for what in order)


def describe(group: Group) -> str:
    """Return a description of a group, what decides its outcome, and the edit that it is due to."""
    because = group.because.text if group.because is not None else ""
    return "; ".join(filter(None, (describe_outcome(group), because)))


def describe_outcome(group: Group) -> str:
    """Return a description of a group, and what decides its outcome: for losses, where the value is in the event."""
    what = _describe(group)
    if group.kind == "breach" or (group.kind == "lossy" and group.stage != "user_transform"):
        # Of a number of events, `decides` is not a member of one event.
        start = "from " if group.examples or group.kind != "breach" else ""
        return f"{what}; {start}{group.decides}" if group.decides else what
    if group.kind == "lossy":
        return what
    # A line that was edited is named once, and says more than its transformation.
    is_named = group.is_edited or (group.because and group.stage == "user_transform" and ":" not in group.decides)
    decides = decision_text(group.stage, group.decides) if group.decides and not is_named else ""
    return "; ".join(filter(None, (what, decides)))


def describe_cause(group: Group) -> str:
    """Return why the events of a group are in it, without their number."""
    if group.kind in STATUSES:
        return group.after
    if group.kind in ("breach", "lossy"):
        return " ".join(filter(None, (group.path, group.before)))
    change = f"{group.before_label} -> {group.after_label}"
    return f"{group.path}: {change}" if group.path else f"{group.kind}: {change}"


def decision_text(stage: str, decides: str) -> str:
    """Return what decides that events stop at a stage: `decided by setting trackAnonymous`."""
    setting = "settings" if "," in decides else "setting"
    word = f"by {setting}" if stage != "user_transform" else "at" if ":" in decides else "by transformation"
    return f"decided {word} {decides}"


def _describe(group: Group) -> str:
    events = f"{group.count:,} event{plural_s(group.count)} of {_names(group)}"
    if group.kind in STATUSES:
        return f"{group.after} in {events}"
    if group.kind == "breach":
        what = f"{group.before}: {' '.join(filter(None, (group.path, group.after)))}"
        return f"{what} in {events}" if group.events else what
    if group.kind == "lossy":
        return _describe_loss(group, events)
    if group.personal:
        kinds = enumerate_words([KIND_WORDS[kind] for kind in group.personal])
        most = max(group.personal.values())
        share = f"{most:,} of {events}" if most < group.count else events
        return f"{group.path or group.kind}: plain {kinds} in {share}"
    if not group.path:
        return f"{group.before_label} -> {group.after_label} in {events}"
    if group.path.startswith(LOST):
        words = "lost now" if group.before == "nothing" else "no longer lost"
        return f"{words} by rule {group.path.removeprefix(LOST)} in {events}"
    if group.path == PAYLOAD:
        return f"{'additional payload' if group.before == 'nothing' else 'missing payload'} in {events}"
    if group.path.endswith(ORDER):
        return f"{group.path.removesuffix(ORDER)}: order changed in {events}"
    if group.before == group.after:
        return f"{group.path}: {group.before} changed{_spread(group)} in {events}"
    return f"{group.path}: {group.before_label} -> {group.after_label} in {events}"


def _describe_loss(group: Group, events: str) -> str:
    if group.stage != "user_transform":
        return f"{group.path} {group.before} in {events}: {group.after}"
    where = f"{group.decides}: {group.before}" if group.decides else group.before
    return f"delivered, but {events} lost {group.path} ({where}): {group.after}"


def _names(group: Group) -> str:
    if len(group.events) == 1:
        return group.event
    largest = sorted(group.events.items(), key=lambda item: -item[1])[:_NAMES]
    more = ", …" if len(group.events) > _NAMES else ""
    return f"{group.event} ({', '.join(f'{name} {count:,}' for name, count in largest)}{more})"


def _spread(group: Group) -> str:
    """Return how much a number has changed: ` (-1 to +9, +4 on average)`."""
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
    """Return the HTML anchor of a destination."""
    return "d-" + re.sub(r"[^A-Za-z0-9_-]", "-", destination)


def example_line(example: Example) -> str:
    if not example.before and not example.after:
        return example.place
    if not example.before:
        return f"{example.place}  {example.after}"
    return f"{example.place}  {example.before}" + (f" -> {example.after}" if example.after else " removed")


def enumerate_words(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def plural_s(count: int) -> str:
    """Return the plural ending for a count."""
    return "" if count == 1 else "s"
