"""A pipeline drawn as a row of steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from svctoolkit.display._html import Html, Kind, html

Status = Literal["ok", "none", "dropped", "failed", "aborted", "disabled", "unmapped", "filtered"]
_LOOKS: dict[Status, tuple[str, Kind]] = {
    "ok": ("✓", "ok"),
    "none": ("–", "plain"),
    "dropped": ("⊘", "warning"),
    "failed": ("✗", "error"),
    "aborted": ("⋯", "plain"),
    "disabled": ("○", "plain"),
    "unmapped": ("○", "plain"),
    "filtered": ("⊘", "info"),
}


class Step(NamedTuple):
    """One step of a pipeline. `note` is a short text, such as an HTTP status or an error."""

    name: str
    status: Status
    milliseconds: float | None = None
    note: object = ""


def status(word: Status, note: object = "") -> Html:
    """The status of a stage as sign, word and colour, with a note such as the HTTP status."""
    sign, kind = _LOOKS[word]
    more = f" {html(note)}" if note else ""
    return Html(f'<span class="pill {kind}"><span aria-hidden="true">{sign}</span> {word}{more}</span>')


def strip(steps: Iterable[Step]) -> Html:
    """The steps in order, each with name, status, time and note."""
    return Html(f'<ol class="strip" aria-label="stages">{"".join(map(_step, steps))}</ol>')


def _step(step: Step) -> str:
    spent = "" if step.milliseconds is None else f' <span class="dim">{step.milliseconds:,.1f} ms</span>'
    note = f'<div class="dim">{html(step.note)}</div>' if step.note else ""
    return f'<li class="{_LOOKS[step.status][1]}"><b>{html(step.name)}</b> {status(step.status)}{spent}{note}</li>'
