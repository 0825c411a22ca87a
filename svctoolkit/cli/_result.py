"""Test results as text: one line per stage, then the requests and their answers. Secrets are masked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svctoolkit.cli._terminal import fit, plain, style, width
from svctoolkit.errors import ToolkitError
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.results import ABSENT, DestinationResult, EventResult, Row, rows

if TYPE_CHECKING:
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.pipeline import Stages

_STYLES = {
    "ok": "green",
    "none": "dim",
    "off": "dim",
    "dropped": "yellow",
    "failed": "red",
    "aborted": "dim",
    "unmapped": "dim",
}
_LINES = 24  # shown of one body on a terminal, so that the stage lines stay visible


def indented_json(value: Json) -> str:
    """Indented JSON with unescaped non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def report(results: Sequence[DestinationResult], event: Mapping[str, Json], stages: Stages, note: str) -> str:
    """The results of one event, destination by destination."""
    view = Event(event)
    name = f' "{plain(view.name)}"' if view.name else ""
    head = f"{style(plain(view.type), 'bold')}{name}" + (style(f"  {plain(note)}", "dim") if note else "")
    return "\n".join([head, *(line for result in results for line in ("", *_destination(result, stages)))])


def _destination(result: DestinationResult, stages: Stages) -> Iterator[str]:
    kind = f"  {plain(result.destination)}" if result.destination else ""
    yield f"{style(plain(result.destination_name), 'bold')}{kind}  {style(plain(result.destination_id), 'dim')}"
    if result.error is not None:
        yield f"  {style(plain(result.error), 'yellow')}"
    for number, entry in enumerate(result.data, 1):
        if number > 1:
            yield ""
        if len(result.data) > 1:
            yield style(f"  event {number} of {len(result.data)} from the transformation", "dim")
        yield from _strip(replace(result, data=[entry]), stages)
        yield from _user_output(result, entry)
        yield from _exchanges(result, entry)
    if result.lost:
        yield ""
    for loss in result.lost:
        yield f"  {style('lost', 'yellow')} {plain(result.masker.mask(loss.text))}"


def _strip(result: DestinationResult, stages: Stages) -> Iterator[str]:
    """One line per stage: status, time and a note."""
    by_stage: dict[str | None, list[Row]] = {}
    for row in rows([result]):
        by_stage.setdefault(row.stage, []).append(row)
    for stage in stages.__slots__:
        rows_of_stage = by_stage.get(stage, [])
        if not getattr(stages, stage) or (result.unmapped and stage == "send_to_destination"):
            more = "enable with --send" if stage == "send_to_destination" and not result.unmapped else ""
            yield _line(stage, "off", None, more)
        elif rows_of_stage:
            worst = next((row for row in rows_of_stage if row.status == "failed"), rows_of_stage[0])
            yield _line(
                stage,
                worst.status,
                rows_of_stage[0].milliseconds,
                result.masker.mask(_note(stage, rows_of_stage, worst)),
            )
        elif stage == "dest_transform":
            yield _line(stage, "ok", result.data[0].milliseconds.get(stage), "no payload: nothing to send")
        else:
            yield _line(stage, "none", None, "nothing to send")


def _line(stage: str, status: str, milliseconds: float | None, text: str) -> str:
    spent = "" if milliseconds is None else f"{milliseconds:.{1 if milliseconds >= 1 else 2}f} ms"
    styles = (_STYLES.get(status, "bold"),)
    rest = fit(f"  {stage:<19}  {status:<8}  {spent:>9}  {text}".rstrip())
    return rest.replace(status, style(status, *styles), 1) if rest.find(status) == 23 else rest


def _note(stage: str, rows_of_stage: Sequence[Row], worst: Row) -> str:
    if worst.status == "none":
        return "no user transformation; event unchanged"
    if worst.error or worst.status == "unmapped":
        return plain(worst.error or str(worst.output))
    if stage == "dest_transform":
        return "1 payload" if len(rows_of_stage) == 1 else f"{len(rows_of_stage)} payloads"
    return ", ".join(str(row.http_status) for row in rows_of_stage if row.http_status is not None)


def _user_output(result: DestinationResult, entry: EventResult) -> Iterator[str]:
    """The log of the user's code, and its output event if no request shows it."""
    for log in entry.logs:
        yield f"    {style('log', 'cyan')} {plain(result.masker.mask(log.text))}"
    event = entry.user_transformed_payload
    if event is not ABSENT and event and "error" not in event and not entry.dest_transformed_payload:
        yield from ("", *_body(result.mask(event)))


def _exchanges(result: DestinationResult, entry: EventResult) -> Iterator[str]:
    answers, statuses = entry.answers, entry.statuses
    for number, payload in enumerate(entry.payloads):
        yield ""
        yield from _request(result, entry.requests[number] if number < len(entry.requests) else payload)
        if number < len(answers):
            status = statuses[number] if number < len(statuses) else 0
            colour = "green" if 200 <= status < 300 else "red"
            yield "    " + style(f"answer {status}" if status else "answer", colour)
            yield from _body(result.mask(answers[number]))


def _request(result: DestinationResult, payload: Any) -> Iterator[str]:
    """The HTTP request of a payload, or the payload itself if it has no request."""
    from svctoolkit import delivery

    try:
        request: HttpRequest = delivery.request(payload) if isinstance(payload, Mapping) else payload
    except ToolkitError as error:
        yield f"    {style(plain(result.masker.mask(str(error))), 'yellow')}"
        yield from _body(result.mask(payload))
        return
    masked = delivery.mask_request(request, result.masker)
    yield f"    {style(masked.method, 'bold', 'cyan')} {style(plain(masked.url), 'cyan')}"
    for name, value in masked.headers.items():
        yield f"    {style(plain(name), 'dim')}: {plain(value)}"
    if masked.body:
        yield from _body(_parse_payload(masked.body))


def _parse_payload(body: bytes) -> Any:
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _body(value: Any) -> Iterator[str]:
    lines = (value if isinstance(value, str) else laid_out(value, width() - 4)).splitlines()
    visible = lines[:_LINES] if sys.stdout is not None and sys.stdout.isatty() else lines
    for line in visible:
        yield f"    {plain(line)}"
    if len(lines) > len(visible):
        yield style(f"    … {len(lines) - len(visible)} more lines; --json shows all of them", "dim")


def laid_out(value: Json, columns: int, indent: int = 0, before: int = 0) -> str:
    """JSON with each object and list on one line if it fits in `columns`, less `before` columns on the first line."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + before + len(flat) <= columns or not value or not isinstance(value, (dict, list)):
        return flat
    inner = indent + 2
    if isinstance(value, dict):
        keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        items = [key + laid_out(v, columns, inner, len(key) + 1) for key, v in zip(keys, value.values(), strict=True)]
    else:
        items = [laid_out(v, columns, inner, 1) for v in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = ",\n".join(" " * inner + item for item in items)
    return f"{opening}\n{lines}\n{' ' * indent}{closing}"
