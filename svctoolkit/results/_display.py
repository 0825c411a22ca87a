"""Display results as plain text with a line per stage, and as HTML."""

from __future__ import annotations

import json

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import printable, shows
from svctoolkit.json_types import Json
from svctoolkit.results import blocks
from svctoolkit.results._deliveries import SharedDeliveries
from svctoolkit.results._entries import EventResult
from svctoolkit.results._model import DestinationResult, SourceResult
from svctoolkit.results._rows import Row, rows
from svctoolkit.results.changes import Change, Diff
from svctoolkit.results.contrast import Traits
from svctoolkit.results.failures import GROUP_COLUMNS, Failures

_WIDTH = 100


@shows(DestinationResult, "text")
def text(result: DestinationResult) -> str:
    """Return the destination, then one line per stage: status, time, and the output, cut to one line."""
    head = f"{result.destination_name} ({result.destination or result.destination_id})"
    losses = [f"  warning: {result.masker.text(str(loss))}" for entry in result.data for loss in entry.losses]
    lost = [f"  {result.masker.text(loss.text)}" for loss in result.lost]
    return printable("\n".join([head, *(_line(row) for row in rows([result])), *losses, *lost]))


@shows(EventResult, "text")
def words(entry: EventResult) -> str:
    """Return the status of each stage of an entry."""
    return ", ".join(f"{step.name} {step.status}" for step in blocks.bare_steps(entry))


@shows(EventResult)
def strip(entry: EventResult) -> Html:
    """Return the status of each stage of an entry as a page."""
    return display.page(display.strip(blocks.bare_steps(entry)))


@shows(DestinationResult)
def destination_page(result: DestinationResult) -> Html:
    return blocks.page([result])


@shows(SourceResult)
def source_page(results: SourceResult) -> Html:
    return blocks.page(results)


@shows(SharedDeliveries)
def deliveries(result: SharedDeliveries) -> Html:
    """Return a row for each batch: its events, its requests, and why it is separate."""
    masker = result.masker
    kinds: dict[str, display.Kind] = {"sent": "ok", "refused": "error", "dropped": "warning"}
    lines = [
        [
            ", ".join(map(str, item.events)),
            display.pill(item.status, kinds[item.status]),
            masker.text("\n".join(f"{p['method']} {str(p['endpoint']).partition('?')[0]}" for p in item.payloads)),
            masker.text(item.error or item.reason),
        ]
        for item in result
    ]
    caption = f"{len(result.payloads)} requests to {result.destination}"
    return display.page(display.table(["events", "outcome", "requests", "why apart"], lines, caption=caption))


def _line(row: Row) -> str:
    spent = "" if row.milliseconds is None else f"{row.milliseconds:.1f} ms"
    status = row.status if row.http_status is None else f"{row.status} {row.http_status}"
    return f"  {row.stage or '':<20} {status:<10} {spent:>9}  {_cut(row.error or summary(row))}".rstrip()


def summary(row: Row) -> str:
    """Return a short description of the output of a stage."""
    if row.stage == "dest_transform" and isinstance(row.output, dict):
        if "table" in row.output and "endpoint" not in row.output:
            return f"{row.output['table']} {json_line(row.output.get('data'))}"
        return f"{row.output.get('method', '')} {row.output.get('endpoint', '')}"
    return json_line(row.output)


def json_line(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


@shows(Change)
def change_page(change: Change) -> Html:
    """Return the path and both values."""
    return display.page(display.table(["path", "before", "after"], [[change.path, *change.sides()]]))


@shows(Diff)
def diff_page(difference: Diff) -> Html:
    """Return both values side by side."""
    left, right = difference.left, difference.right
    return display.page(display.diff(difference.before, difference.after, left=left, right=right))


@shows(Failures)
def failures_page(failures: Failures) -> Html:
    """Return one row per broken rule, with an example."""
    names = [name.replace("_", " ") for name in GROUP_COLUMNS]
    return display.page(display.table(names, failures.groups(), caption=display.quantity(len(failures), "failure")))


@shows(Traits, "text")
def traits_text(traits: Traits) -> str:
    """Return one line per property."""
    return printable("\n".join(traits.lines()))


@shows(Traits)
def traits_page(traits: Traits) -> Html:
    """Return one row per property."""
    return display.page(blocks.common(traits) or display.message(traits.lines()[0], "info"))
