"""Warn about values that user code loses: JSON cannot represent them, or they became null or text."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shorten
from svctoolkit.json_types import json_type
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import changes
from svctoolkit.widgets.transformation_editor.trial import Trials

_WIDTH = 60


def losses(trials: Trials) -> Html:
    """A warning with each value in the output that JSON cannot represent, and each that became null or text."""
    rows = [
        (loss.path, loss.kind, loss.becomes)
        for trial in trials
        for of_event in trial.output.losses
        for loss in of_event
    ]
    warning = "JSON cannot represent every value in the output: destinations receive different values."
    lost = display.message(warning, "warning") + display.table(("where", "value", "becomes"), rows) if rows else ""
    retyped = [*_retyped(trials)]
    if not retyped:
        return Html(lost)
    warning = "Values became null or text."
    return Html(lost + display.message(warning, "warning") + display.table(("where", "before", "after"), retyped))


def _retyped(trials: Trials) -> Iterator[tuple[str, str, str]]:
    """Yield the path and both values of changes from another type to null or text. Secrets are masked in trials."""
    for trial in trials:
        for event in trial.output.events:
            for change in changes(trial.event, event):
                if ABSENT in (change.before, change.after) or change.before is None:
                    continue
                before, after = json_type(change.before), json_type(change.after)
                if before != after and after in ("null", "text"):
                    yield change.path, shorten(change.before, _WIDTH), shorten(change.after, _WIDTH)
