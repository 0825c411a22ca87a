"""How results show themselves: as plain text with a line per stage, and as HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.results import blocks
from svctoolkit.results._rows import Row, rows
from svctoolkit.secrets import Masker

if TYPE_CHECKING:
    from svctoolkit.results._deliveries import SharedDeliveries
    from svctoolkit.results._model import DestinationResult, EventResult

_WIDTH = 100


def text(result: DestinationResult) -> str:
    """The destination, then one line per stage: status, time, and what came out, cut to one line."""
    head = f"{result.destination_name} ({result.destination or result.destination_id})"
    losses = [f"  warning: {result.masker.text(str(loss))}" for entry in result.data for loss in entry.losses]
    return "\n".join([head, *(_line(row) for row in rows([result])), *losses])


def words(entry: EventResult) -> str:
    """How the stages of an entry ended."""
    return ", ".join(f"{step.name} {step.status}" for step in blocks.bare_steps(entry))


def strip(entry: EventResult) -> Html:
    """How the stages of an entry ended, as a page."""
    return display.page(display.strip(blocks.bare_steps(entry)))


def page(results: Sequence[DestinationResult]) -> Html:
    return blocks.page(results)


def deliveries(result: SharedDeliveries, masker: Masker) -> Html:
    """A line for each batch: its events, its requests, and why it is apart."""
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
    """What came out of a stage, in a few words."""
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
