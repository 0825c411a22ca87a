"""Callbacks for the end of the process and for forks, for objects that are still alive then."""

from __future__ import annotations

import atexit
import os
import sys
import threading
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
_FOLLOWED: list[object] = []
#: `multiprocessing` calls finalizers with a negative priority after the process's own children have ended.
_LAST = -100


def at_exit(member: T, call: Callable[[T], None]) -> None:
    """Call `call(member)` when the process ends, perhaps twice: again after children of `multiprocessing` have ended.

    Also in such children, which end without `atexit`; not after `os._exit` or a signal.
    """
    _EXITS[member] = call
    _follow_multiprocessing()


def start_thread(thread: threading.Thread) -> None:
    """Start the thread. Raises `RuntimeError` when the interpreter is shutting down.

    Then the last `__del__` methods run. Python 3.11 would wait there for the new thread, which never begins.
    """
    if sys.is_finalizing():
        raise RuntimeError("the interpreter is shutting down")
    thread.start()


def is_spawned() -> bool:
    """Return whether `multiprocessing` started this process."""
    multiprocessing, main = sys.modules.get("multiprocessing"), sys.modules.get("__mp_main__")
    # While the child imports the program's main file, `parent_process` is not known yet.
    is_importing = main is not None and main.__name__ == "__mp_main__"
    return is_importing or (multiprocessing is not None and multiprocessing.parent_process() is not None)


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


def _follow_multiprocessing() -> None:
    # Whatever starts children with it has imported it.
    util = sys.modules.get("multiprocessing.util")
    if util is None or _FOLLOWED:
        return
    _FOLLOWED.append(util)

    def finalize(end: Callable[[], None]) -> None:
        util.Finalize(None, end, exitpriority=_LAST)

    # A child that is starting forgets its finalizers, and then calls this.
    util.register_after_fork(_end, finalize)
    finalize(_end)


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
    os.register_at_fork(after_in_child=_follow_multiprocessing)
