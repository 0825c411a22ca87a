"""A replay as HTML: from the numbers to groups, and from a group to what is different in its events. No scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.errors import ConfigError
from svctoolkit.replay._parts import Example, Group
from svctoolkit.replay._text import counted, head, notes, said

if TYPE_CHECKING:
    from svctoolkit.replay._results import _Result

_MOST = 500  # groups of one destination
_TABLE = '<table style="border-collapse:collapse;table-layout:fixed;width:100%">'
_CELL = (
    "padding:.2em .75em .2em 0;text-align:left;vertical-align:top;overflow-wrap:anywhere;"
    "border-bottom:1px solid rgba(128,128,128,.3)"
)
_SIGNS = {
    "changed": ("~", "#b7791f"),
    "newly dropped": ("⊘", "#e05252"),
    "newly delivered": ("✓", "#2e9e5b"),
    "newly failing": ("✗", "#e05252"),
    "no longer failing": ("✓", "#2e9e5b"),
    "failed": ("✗", "#e05252"),
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


def body(result: _Result, *, whole: bool = True) -> str:
    """The part of a page that a notebook shows."""
    parts = [f"<p><b>{escape(head(result))}</b></p>"] if whole else []
    for destination, counts in result.counts.items():
        parts.append(f"<h3>{escape(destination)}</h3><p>{escape(counted(counts))}</p>")
        groups = [group for group in result.groups if group.destination == destination]
        parts += map(_group, groups[:_MOST])
        if len(groups) > _MOST:
            parts.append(f"<p>and {len(groups) - _MOST:,} more groups</p>")
    parts += (f"<p>{escape(note)}</p>" for note in notes(result))
    return f"<div>{''.join(parts)}</div>"


def _group(group: Group) -> str:
    sign, colour = _SIGNS[group.kind]
    mark = f'<span aria-hidden="true" style="color:{colour}">{sign}</span> {group.kind}'
    inside = "".join(map(_example, group.examples))
    return (
        f'<details style="margin:.25em 0"><summary>{mark}: {escape(said(group))}</summary>'
        f'<div style="margin:.25em 0 .75em 1.5em">{inside}</div></details>'
    )


def _example(example: Example) -> str:
    place = f"{example.place}  {example.event_id}" if example.event_id else example.place
    return f'<p style="margin:.5em 0 0"><code>{escape(place)}</code></p>{"".join(_details(example))}'


def _details(example: Example) -> Iterator[str]:
    """What is different in one event, as a table; without paths where nothing can be compared."""
    if example.changes:
        yield _TABLE + _row("th", "path", "before", "after")
        for path, before, after in example.changes:
            yield _row("td", _code(path).replace(".", ".<wbr>"), _code(before), _code(after))
    elif example.before:
        yield _TABLE + _row("th", "before", "after")
        yield _row("td", _code(example.before), _code(example.after))
    else:
        yield _TABLE + _row("th", "error") + _row("td", _code(example.after))
    yield "</table>"


def _row(tag: str, *cells: str) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return "<tr>" + "".join(f'<{tag}{scope} style="{_CELL}">{cell}</{tag}>' for cell in cells) + "</tr>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else "<i>nothing</i>"


def written(path: Path, text: str) -> None:
    """Write a page. Raises `ConfigError`."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error
