"""Callbacks for the end of the process and for forks, for objects that are still alive then."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class _Fork(NamedTuple):
    before: Callable[[Any], None] | None
    parent: Callable[[Any], None] | None
    child: Callable[[Any], None] | None


_EXITS: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_FORKS: WeakKeyDictionary[Any, _Fork] = WeakKeyDictionary()


def at_exit(member: T, call: Callable[[T], None]) -> None:
    """Call `call(member)` when the interpreter ends."""
    _EXITS[member] = call


def at_fork(
    member: T,
    *,
    child: Callable[[T], None],
    before: Callable[[T], None] | None = None,
    parent: Callable[[T], None] | None = None,
) -> None:
    """Call `before(member)` before the process forks, then `parent(member)` and `child(member)` where they belong."""
    _FORKS[member] = _Fork(before, parent, child)


def _end() -> None:
    for member, call in list(_EXITS.items()):
        call(member)


def _forking(moment: int) -> Callable[[], None]:
    def notify() -> None:
        for member, calls in list(_FORKS.items()):
            call = calls[moment]
            if call is not None:
                call(member)

    return notify


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking(0), after_in_parent=_forking(1), after_in_child=_forking(2))
