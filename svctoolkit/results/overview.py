"""One line for each destination of an event: its outcome there, its requests, and the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from svctoolkit import display
from svctoolkit.displayed import shorten
from svctoolkit.json_types import Json
from svctoolkit.results._entries import EventResult
from svctoolkit.results._model import DestinationResult
from svctoolkit.results._rows import Step, steps

#: Every fate and its display style, worst first. `ok` is an event that would have been sent if sending had been on.
FATES: dict[str, display.Kind] = {
    "failed": "error",
    "dropped": "warning",
    "disabled": "plain",
    "unmapped": "plain",
    "filtered": "plain",
    "ok": "ok",
    "delivered": "ok",
}
_BADNESS = {fate: place for place, fate in enumerate(FATES)}
_WIDTH = 160  # maximum characters of an answer


class Line(NamedTuple):
    """The outcome of an event at a destination. Secrets are masked."""

    fate: str
    requests: str
    reason: str


def line(result: DestinationResult) -> Line:
    """Return the line of one destination. If a transformation returned several events, the worst outcome counts."""
    text = result.masker.text
    if result.error is not None:
        return Line("disabled", "", text(result.error))
    if result.unmapped:
        return Line("unmapped", "", text(result.unmapped))
    fates = [_fate(result, entry) for entry in result.data]
    fate, reason = min(fates, key=lambda pair: _BADNESS[pair[0]], default=("filtered", "no event"))
    count = sum(other == fate for other, _ in fates)
    if count < len(fates):
        reason = f"{count} of {len(fates)} events: {reason}".removesuffix(": ")
    return Line(fate, _requests(result), text(reason))


def _fate(result: DestinationResult, entry: EventResult) -> tuple[str, str]:
    all_steps = list(steps(entry, result.masker.text))
    for step in all_steps:
        if step.status in ("failed", "dropped"):
            return step.status, f"{step.stage}: {_reason(result, step)}"
    if entry.dest_transformed_payload == []:
        return "filtered", "the mapping sends nothing for this event"
    sent = any(step.stage == "send_to_destination" for step in all_steps)
    return ("delivered", "") if sent else ("ok", "")


def _reason(result: DestinationResult, step: Step) -> str:
    if step.http_status is None:
        return step.error
    answer = _one_line(result.mask(step.output))
    return f"HTTP {step.http_status}: {answer}" if answer else f"HTTP {step.http_status}"


def _one_line(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return "" if value in (None, {}) else shorten(" ".join(text.split()), _WIDTH)


def _requests(result: DestinationResult) -> str:
    statuses = [str(status) for entry in result.data for status in entry.statuses]
    payloads = sum(len(entry.payloads) for entry in result.data)
    if not statuses:
        return f"{payloads}, not sent" if payloads else ""
    return f"{len(statuses)}: HTTP {', '.join(_runs(statuses))}"


def _runs(statuses: list[str]) -> Iterator[str]:
    """Yield each status once, with its number of occurrences if it occurs more than once."""
    for status in dict.fromkeys(statuses):
        count = statuses.count(status)
        yield f"{status} ({count} times)" if count > 1 and len(set(statuses)) > 1 else status
