"""Bring a page up to date that joins a running kernel, such as a dashboard, a reloaded notebook or a second window.

Such a page copies the state of all widgets and listens to their changes only when it has made its own models of them.
What a worker thread changes in between does not reach it.
"""

from __future__ import annotations

from typing import Any

_CONSTANT = frozenset({"_esm", "_css", "_bundle"})  # scripts and styles, large


# Any: widgets, which have no types
def send_again(widget: Any) -> None:
    """Send the current state of a widget and of all within it to every page."""
    for each in (widget, widget.layout):
        _send(each)
    for child in getattr(widget, "children", ()):
        send_again(child)


def _send(widget: Any) -> None:
    names = set(widget.keys) - _CONSTANT
    while True:
        before = widget.get_state(names)
        widget.send_state(names)
        if widget.get_state(names) == before:  # else a thread has changed it, and the older state may be sent last
            return
