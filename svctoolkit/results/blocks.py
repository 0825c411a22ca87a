"""Render results as parts of a page: pipeline strips, payloads, requests. Secrets are masked.

>>> from svctoolkit import display
>>> shown = display.page(strip(result, result.data[0]))  # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit import display
from svctoolkit.delivery import mask_request
from svctoolkit.display import Html
from svctoolkit.displayed import shorten
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.results import overview
from svctoolkit.results._entries import EventResult
from svctoolkit.results._model import DestinationResult
from svctoolkit.results._rows import STAGES, Row, Stage, rows
from svctoolkit.results._types import ABSENT, error_of
from svctoolkit.results.contrast import Traits

if TYPE_CHECKING:
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.secrets import Masker
    from svctoolkit.simulations import Loss

__all__ = [
    "Answered",
    "bare_steps",
    "common",
    "exchanges",
    "loss_table",
    "page",
    "page_with",
    "requests",
    "steps",
    "strip",
    "values",
]

_WORST = ("failed", "aborted", "dropped", "disabled", "unmapped", "none", "ok")
_TREES = "Event and payloads"
_LOSS_HEAD = ("destination", "what", "rule", "says", "events", "value", "source")
_WIDTH = 200  # characters of a value
_MOST = 50  # entries per page; a browser would hang on a page with thousands


class Answered(NamedTuple):
    """The answer of a destination."""

    status: int
    headers: dict[str, str]
    body: Any


def page(results: Sequence[DestinationResult]) -> Html:
    """Return every result with its strips; payloads and requests can be opened, and are open if there is only one.

    Several results become one table with rows that open.
    """
    alone = len(results) == 1 and len(results[0].data) == 1
    blocks = [_overview(results)] if len(results) > 1 else [_result(result, alone) for result in results]
    if len(results) > _MOST:
        blocks.append(display.message(f"{len(results) - _MOST:,} more destinations are not shown", "info"))
    return display.page(*blocks) if blocks else display.page(display.message("no destinations", "info"))


def page_with(result: DestinationResult, payloads: Html) -> Html:
    """Return one result as `page` shows it, with `payloads` instead of its trees."""
    return display.page(_result(result, False, payloads))


def strip(result: DestinationResult, entry: EventResult) -> Html:
    """Return the three stages of one event: status, time and a note."""
    return display.strip(steps(result, entry))


def steps(result: DestinationResult, entry: EventResult) -> list[display.Step]:
    """Return three steps, one for each stage; a stage that was off is `disabled`."""
    all_rows = list(rows([replace(result, data=[entry])]))
    return [_step(stage, [row for row in all_rows if row.stage == stage]) for stage in STAGES]


def bare_steps(entry: EventResult) -> list[display.Step]:
    """Return the stages of an entry with status and time only, so that nothing in them can be secret."""
    return [step._replace(note="") for step in steps(DestinationResult("", ""), entry)]


def values(result: DestinationResult, entry: EventResult) -> dict[str, Json]:
    """Return the event, and the event, payloads and answers that the stages returned, by name, for trees and diffs.

    If a stage returned several, they are numbered: `dest_transform 1`, `dest_transform 2`.
    """
    named = {"event": entry.event}
    outputs = (entry.user_transformed_payload, entry.dest_transformed_payload, entry.destination_response)
    for stage, value in zip(STAGES, outputs, strict=True):
        if value is ABSENT or error_of(value) is not None:
            continue
        items = value if isinstance(value, list) and stage != "user_transform" else [value]
        for number, item in enumerate(items, 1):
            named[f"{stage} {number}" if len(items) > 1 else stage] = item
    safe: dict[str, Any] = {name: result.mask(value) for name, value in named.items()}
    return safe


def exchanges(result: DestinationResult, entry: EventResult) -> list[Html]:
    """Return each request as it was sent, with its answer; empty for a result from a remote server."""
    pairs = []
    for request, status, answer in zip(requests(result, entry), entry.statuses, entry.answers, strict=False):
        pairs.append(display.exchange(request, Answered(status, {}, result.mask(answer))))
    return pairs


def requests(result: DestinationResult, entry: EventResult) -> list[HttpRequest]:
    """Return the requests of an event as `HttpRequest`."""
    return [mask_request(request, result.masker) for request in entry.requests]


def _overview(results: Sequence[DestinationResult]) -> Html:
    """Return a row for each destination: the event's outcome, its requests, and the reason."""
    lines = [overview.line(result) for result in results]
    counts = Counter(line.fate for line in lines)
    several = len({result.destination_id for result in results}) < len(results)  # destinations repeat: several events
    what = display.quantity(len(lines), "result" if several else "destination")
    caption = f"{what}: {', '.join(f'{counts[fate]:,} {fate}' for fate in overview.FATES if counts[fate])}"
    cells = [
        [_title(result), *_events(result, several), display.pill(line.fate, overview.FATES[line.fate]), *line[1:]]
        for result, line in zip(results[:_MOST], lines, strict=False)
    ]
    inside = [Html("".join(_entries(result, len(result.data) == 1))) for result in results[:_MOST]]
    head = ["destination", *(["event"] if several else []), "fate", "requests", "reason"]
    return display.table(head, cells, caption=caption, inside=inside)


def _events(result: DestinationResult, several: bool) -> list[str]:
    views = [Event(entry.event) for entry in result.data[:1]] if several else []
    return [result.masker.text(f"{view.type} {view.name}".strip()) for view in views] or [""] * several


def _result(result: DestinationResult, alone: bool, payloads: Html | None = None) -> Html:
    entries = _entries(result, alone, trees=payloads is None)
    if payloads is not None and result.error is None:
        entries.append(display.more(_TREES, payloads, is_open=True))
    return display.section(_title(result), *entries)


def _title(result: DestinationResult) -> Html:
    kind = display.pill(result.destination) if result.destination else ""
    return Html(f"{display.html(result.destination_name)} {kind}")


def _entries(result: DestinationResult, alone: bool, *, trees: bool = True) -> list[Html]:
    """Return the outcome of each event; for a destination that was not run, the reason."""
    if result.error is not None:
        return [display.message(result.masker.mask(result.error), "warning")]
    entries = [block for entry in result.data[:_MOST] for block in _entry(result, entry, alone, trees)]
    if len(result.data) > _MOST:
        entries.append(display.message(f"{len(result.data) - _MOST:,} more events are not shown", "info"))
    return [*entries, *(display.message(result.masker.mask(loss.text), "warning") for loss in result.lost[:_MOST])]


def _entry(result: DestinationResult, entry: EventResult, alone: bool, trees: bool) -> Iterator[Html]:
    if not alone:
        event = Event(entry.event)
        yield Html(f"<p><b>{display.html(event.type)}</b> {display.html(event.name)}</p>")
    yield strip(result, entry)
    for loss in entry.losses[:_MOST]:
        yield display.message(result.masker.text(str(loss)), "warning")
    if trees:
        named = values(result, entry).items()
        columns = display.columns(*(display.tree(value, name, open_depth=1) for name, value in named))
        yield display.more(_TREES, columns, is_open=alone)
    http = exchanges(result, entry)
    if http:
        yield display.more("HTTP", *http)
    if entry.logs:
        lines = "\n".join(f"{log.level}: {log.text}" for log in entry.logs)
        yield display.more("Log of the user transformation", display.code(result.masker.mask(lines)))


def loss_table(losses: Sequence[Loss], masker: Masker, caption: str = "") -> Html:
    """Return losses, or changes, of simulated destinations as a table: each with its rule and the rule's source."""
    rows = [
        (
            masker.mask(loss.destination),
            display.pill(loss.what, "warning"),
            loss.rule,
            loss.says,
            masker.mask(", ".join(loss.events)),
            masker.mask(loss.value if loss.value is None else shorten(masker.mask(loss.value), _WIDTH)),
            loss.source,
        )
        for loss in losses
    ]
    return display.table(_LOSS_HEAD, rows, caption=caption)


def _step(stage: Stage, rows_of_stage: list[Row]) -> display.Step:
    if not rows_of_stage:
        return display.Step(stage, "disabled", note="this stage is off")
    worst = min(rows_of_stage, key=lambda row: _WORST.index(row.status))
    return display.Step(stage, worst.status, rows_of_stage[0].milliseconds, _note(stage, rows_of_stage, worst))


def _note(stage: Stage, rows_of_stage: list[Row], worst: Row) -> str:
    if worst.status == "none":
        return "the destination has no transformation"
    if worst.error or worst.status == "unmapped":
        return worst.error or str(worst.output)
    if stage == "send_to_destination":
        return ", ".join(f"HTTP {row.http_status}" for row in rows_of_stage)
    return f"{len(rows_of_stage)} payloads" if len(rows_of_stage) > 1 else ""


def common(traits: Traits) -> Html:
    """What some events have in common, with the share of both sides; empty without properties."""
    if not traits:
        return Html()
    rows = [(t.what, f"{t.failing:,} of {t.of_failing:,}", f"{t.passing:,} of {t.of_passing:,}") for t in traits]
    return display.table(("in common", *traits.sides), rows)
