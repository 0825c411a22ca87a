"""A replay as HTML: from the numbers to groups, and from a group to what is different in its events. No scripts."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import ConfigError
from svctoolkit.replay.results.text import anchor, count_words, describe, head, notes
from svctoolkit.replay.tally.tally import Example, Group

if TYPE_CHECKING:
    from svctoolkit.replay.results.results import _Result

_MOST = 500  # groups of one destination
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
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
"""


def page(result: _Result) -> str:
    """A whole page."""
    title = escape(head(result))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Replay</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>Replay</h1><p>{title}</p>\n"
        f"{body(result, whole=False)}</body></html>\n"
    )


def body(result: _Result, *, whole: bool = True) -> Html:
    """The part of a page that a notebook shows."""
    blocks = [Html(f"<p><b>{escape(head(result))}</b></p>")] if whole else []
    for destination, counts in result.counts.items():
        groups = [group for group in result.groups if group.destination == destination]
        more = f"and {len(groups) - _MOST:,} more groups" if len(groups) > _MOST else ""
        summary = [Html(f"<p>{escape(count_words(counts))}</p>"), *map(_group, groups[:_MOST]), more]
        place = Html(f'<a id="{anchor(destination)}"></a>')
        blocks.append(display.section(destination, place, *summary))
    blocks += (display.message(note, "plain") for note in notes(result))
    return display.page(*blocks)


def _group(group: Group) -> Html:
    title = Html(f"{display.pill(group.kind, _KINDS[group.kind])} {escape(describe(group))}")
    return display.more(title, *map(_example, group.examples))


def _example(example: Example) -> Html:
    place = f"{example.place}  {example.event_id}" if example.event_id else example.place
    if example.changes:
        return display.table(["path", "before", "after"], example.changes, caption=place)
    if example.before:
        return display.table(["before", "after"], [(example.before, example.after)], caption=place)
    return display.table(["error"], [(example.after,)], caption=place)


def write_page(path: Path, text: str) -> None:
    """Write a page, and the folders on its way. Raises `ConfigError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error
