"""Warn about values that user code puts into an event but JSON cannot represent: they become null or `{}`."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.widgets.transformation_editor.trial import Trials


def losses(trials: Trials) -> Html:
    """A warning with each value in the output that JSON cannot represent; empty without any."""
    rows = [
        (loss.path, loss.kind, loss.becomes)
        for trial in trials
        for of_event in trial.output.losses
        for loss in of_event
    ]
    if not rows:
        return Html()
    warning = "JSON cannot represent every value in the output: destinations receive different values."
    return Html(display.message(warning, "warning") + display.table(("where", "value", "becomes"), rows))
