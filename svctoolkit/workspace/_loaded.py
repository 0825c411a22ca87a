"""Announces workspaces that have been loaded from a file, before anything uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace

_LISTENERS: list[Callable[[Workspace], None]] = []


@contextmanager
def on_load(listener: Callable[[Workspace], None]) -> Iterator[None]:
    """Call `listener` for every workspace that this process loads from a file inside the block.

    `svctoolkit mutate --runner pytest` changes workspaces so that tests load themselves. The listener may change the
    workspace in place.
    """
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def announce(workspace: Workspace) -> None:
    """Call the listeners for a workspace whose `file` is set."""
    for listener in _LISTENERS:
        listener(workspace)
