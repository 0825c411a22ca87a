"""A replay as HTML: from the counts to the groups, and from a group to the changes in its events. No scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import printable, shows
from svctoolkit.errors import ConfigError
from svctoolkit.replay.results.attention import label, news, personal_lines, quiet_lines, verdict_lines
from svctoolkit.replay.results.base import BaseResult
from svctoolkit.replay.results.group_contrasts import Contrasts
from svctoolkit.replay.results.groups import GROUP_COLUMNS, Groups
from svctoolkit.replay.results.pictures import change_of_values, changes_by_day, failures_by_day, fates, shifts
from svctoolkit.replay.results.results import Comparison
from svctoolkit.replay.results.stories import Story, day_bars, number_lines, stories
from svctoolkit.replay.results.summary import head, notes, text
from svctoolkit.replay.results.text import anchor, count_words, describe, describe_outcome
from svctoolkit.replay.tally.tally import Example, Group
from svctoolkit.results import blocks
from svctoolkit.results.contrast import Traits

_MOST = 500  # groups per destination
_MOST_PICTURES = 20  # stories with distributions: each has some kilobytes
_MOST_OF_STORY = 6  # distributions
_KINDS: dict[str, display.Kind] = {
    "changed": "warning",
    "breach": "error",
    "newly dropped": "error",
    "newly delivered": "ok",
    "newly failing": "error",
    "no longer failing": "ok",
    "failed": "error",
    "filtered": "info",
    "dropped": "warning",
    "unmapped": "info",
    "lossy": "warning",
    "accepted": "info",
}


shows(BaseResult, "text")(text)


@shows(BaseResult, "document")
def page(result: BaseResult) -> str:
    """Return a complete page."""
    return display.document("Replay", head(result), display.page(*_blocks(result, _contrasts(result))))


@shows(BaseResult)
def body(result: BaseResult) -> Html:
    """Return the notebook display."""
    return display.page(Html(f"<p><b>{escape(head(result))}</b></p>"), *_blocks(result, Contrasts()))


@shows(Contrasts, "text")
def contrasts_text(contrasts: Contrasts) -> str:
    """Return the groups with a line for each property."""
    return printable("\n".join(contrasts.lines()) or "no events failed or were dropped")


@shows(Contrasts)
def contrasts_page(contrasts: Contrasts) -> Html:
    """Return the groups, each with a table of properties."""
    sections = (display.section(e.text, blocks.common(e.traits) or e.traits.lines()[0]) for e in contrasts)
    return display.page(*sections) if contrasts else display.page(display.message(repr(contrasts), "ok"))


@shows(Groups)
def groups_page(groups: Groups) -> Html:
    """Return one row per group."""
    return display.page(display.table([*GROUP_COLUMNS, "place", "event id", "example"], groups.rows()))


def _contrasts(result: BaseResult) -> Contrasts:
    """Return what the groups' events have in common; empty if they cannot be read again."""
    try:
        return result.contrasts()
    except ConfigError:
        return Contrasts()


def _blocks(result: BaseResult, contrasts: Contrasts) -> Iterator[Html]:
    if lines := verdict_lines(result):
        yield display.message("\n".join(lines), "error" if result.verdict else "ok")
    yield from (display.message(line, "error") for line in personal_lines(result))
    yield from (Html(f"<p>{escape(line)}</p>") for line in result.lost.lines())
    yield from overview(result)
    urgent = news(result)
    if isinstance(result, Comparison):
        yield from _stories(result, contrasts)
    else:
        yield from _destinations(result, urgent, contrasts)
    yield from (Html(f'<p class="dim">{escape(line)}</p>') for line in quiet_lines(result, urgent))
    for destination in (key for key in result.counts if key not in urgent):
        groups = [group for group in result.groups if group.destination == destination]
        if groups and not isinstance(result, Comparison):
            inner = (_group(group, contrasts.of(group), describe(group)) for group in groups[:_MOST])
            yield Html(display.more(destination, *inner))
    yield from (display.message(note, "plain") for note in notes(result))


def overview(result: BaseResult) -> Iterator[Html]:
    """Yield the pictures of all events: where they end, or what changes, and failures or differences by day."""
    tally = result.tally
    if isinstance(result, Comparison):
        drawn = [shifts(tally).html(), changes_by_day(tally, result._releases).html()]
    else:
        # A single flow says no more than the counts.
        ends = fates(tally).html() if len(tally.flows) > 1 else Html("")
        drawn = [ends, failures_by_day(tally, result._releases).html()]
    yield from filter(None, drawn)


def _destinations(result: BaseResult, urgent: Mapping[str, Sequence[Group]], contrasts: Contrasts) -> Iterator[Html]:
    for destination, groups in urgent.items():
        more = f"and {len(groups) - _MOST:,} more groups" if len(groups) > _MOST else ""
        counts = count_words(result.counts[destination])
        inner = (_group(group, contrasts.of(group), describe(group)) for group in groups[:_MOST])
        summary = [Html(f"<p>{escape(counts)}</p>"), *inner, more]
        place = Html(f'<a id="{anchor(destination)}"></a>')
        yield display.section(destination, place, *summary)


def _stories(result: BaseResult, contrasts: Contrasts) -> Iterator[Html]:
    linked = set[str]()
    for number, story in enumerate(stories(result.groups)[:_MOST]):
        places = [Html(f'<a id="{anchor(key)}"></a>') for key in story.destinations if key not in linked]
        linked.update(story.destinations)
        drawn = [_drawn(group) for group in story.groups[:_MOST_OF_STORY]] if number < _MOST_PICTURES else []
        below = [Html(""), *drawn[1:]]  # the first one is visible without a click
        inner = [
            _group(group, contrasts.of(group), f"{group.destination}: {describe_outcome(group)}", *below[n : n + 1])
            for n, group in enumerate(story.groups[:_MOST])
        ]
        yield display.section(story.title, *places, _numbers(story), *drawn[:1], *inner)


def _drawn(group: Group) -> Html:
    picture = change_of_values(group)
    return picture.html() if picture is not None else Html("")


def _numbers(story: Story) -> Html:
    """Return when a story happened, and how its numbers changed."""
    lines = [*filter(None, [day_bars(story.days)]), *number_lines(story.groups[0])]
    return Html("".join(f"<pre>{escape(line)}</pre>" for line in lines))


def _group(group: Group, traits: Traits, description: str, *drawn: Html) -> Html:
    kind = "error" if group.personal else _KINDS[group.kind]
    title = Html(f"{display.pill(label(group), kind)} {escape(description)}")
    return display.more(title, *drawn, blocks.common(traits), *map(_example, group.examples))


def _example(example: Example) -> Html:
    place = f"{example.place}  {example.event_id}" if example.event_id else example.place
    if example.changes:
        return display.table(["path", "before", "after"], example.changes, caption=place)
    if example.before:
        return display.table(["before", "after"], [(example.before, example.after)], caption=place)
    return display.table(["error"], [(example.after,)], caption=place)
