"""A replay as HTML: from the counts to the groups, and from a group to the changes in its events. No scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.replay.results.attention import label, news, personal_lines, quiet_lines
from svctoolkit.replay.results.groups import GROUP_COLUMNS, Groups
from svctoolkit.replay.results.results import _Result
from svctoolkit.replay.results.summary import head, notes, text
from svctoolkit.replay.results.text import anchor, count_words, describe
from svctoolkit.replay.tally.tally import Example, Group

_MOST = 500  # groups per destination
_KINDS: dict[str, display.Kind] = {
    "changed": "warning",
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


shows(_Result, "text")(text)


@shows(_Result, "document")
def page(result: _Result) -> str:
    """Return a complete page."""
    return display.document("Replay", head(result), display.page(*_blocks(result)))


@shows(_Result)
def body(result: _Result) -> Html:
    """Return the notebook display."""
    return display.page(Html(f"<p><b>{escape(head(result))}</b></p>"), *_blocks(result))


@shows(Groups)
def groups_page(groups: Groups) -> Html:
    """Return one row per group."""
    return display.page(display.table([*GROUP_COLUMNS, "place", "event id", "example"], groups.rows()))


def _blocks(result: _Result) -> Iterator[Html]:
    yield from (display.message(line, "error") for line in personal_lines(result))
    yield from (Html(f"<p>{escape(line)}</p>") for line in result.lost.lines())
    urgent = news(result)
    for destination, groups in urgent.items():
        more = f"and {len(groups) - _MOST:,} more groups" if len(groups) > _MOST else ""
        counts = count_words(result.counts[destination])
        summary = [Html(f"<p>{escape(counts)}</p>"), *map(_group, groups[:_MOST]), more]
        place = Html(f'<a id="{anchor(destination)}"></a>')
        yield display.section(destination, place, *summary)
    yield from (Html(f'<p class="dim">{escape(line)}</p>') for line in quiet_lines(result, urgent))
    for destination in (key for key in result.counts if key not in urgent):
        groups = [group for group in result.groups if group.destination == destination]
        if groups:
            yield Html(display.more(destination, *map(_group, groups[:_MOST])))
    yield from (display.message(note, "plain") for note in notes(result))


def _group(group: Group) -> Html:
    kind = "error" if group.personal else _KINDS[group.kind]
    title = Html(f"{display.pill(label(group), kind)} {escape(describe(group))}")
    return display.more(title, *map(_example, group.examples))


def _example(example: Example) -> Html:
    place = f"{example.place}  {example.event_id}" if example.event_id else example.place
    if example.changes:
        return display.table(["path", "before", "after"], example.changes, caption=place)
    if example.before:
        return display.table(["before", "after"], [(example.before, example.after)], caption=place)
    return display.table(["error"], [(example.after,)], caption=place)
