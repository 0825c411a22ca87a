"""How the outcome of a transformation shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html

if TYPE_CHECKING:
    from svctoolkit.transformations._contract import Output


def output(found: Output) -> Html:
    """The events that came out, or the error with its line; and what the code logged."""
    parts = [display.tree(event, f"event {number}") for number, event in enumerate(found.events, 1)]
    if found.error is not None:
        line = f"\n{found.error.source_line.strip()}" if found.error.source_line else ""
        parts = [display.message(f"{found.error}{line}", "error")]
    elif not parts:
        parts = [display.message("the event is dropped", "warning")]
    if found.logs:
        lines = "\n".join(f"{log.level}: {log.text}" for log in found.logs)
        parts.append(display.more(f"Log ({len(found.logs)})", display.code(lines), is_open=True))
    return display.page(*parts)
