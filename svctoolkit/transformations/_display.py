"""Rich display of a transformation's output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.transformations._contract import Output

if TYPE_CHECKING:
    from svctoolkit.transformations._contract import Output


@shows(Output)
def output(outcome: Output) -> Html:
    """Show the resulting events, or the error with its line, and the log."""
    blocks = [display.tree(event, f"event {number}") for number, event in enumerate(outcome.events, 1)]
    if outcome.error is not None:
        line = f"\n{outcome.error.source_line.strip()}" if outcome.error.source_line else ""
        blocks = [display.message(f"{outcome.error}{line}", "error")]
    elif not blocks:
        blocks = [display.message("the event is dropped", "warning")]
    blocks += [display.message(str(loss), "warning") for of_event in outcome.losses for loss in of_event]
    if outcome.logs:
        lines = "\n".join(f"{log.level}: {log.text}" for log in outcome.logs)
        blocks.append(display.more(f"Log ({len(outcome.logs)})", display.code(lines), is_open=True))
    return display.page(*blocks)
