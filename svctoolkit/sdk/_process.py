"""What every client has to do when the process ends or forks."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class _Duties(NamedTuple):
    at_exit: Callable[[Any], None]
    after_fork: Callable[[Any], None]


_MEMBERS: WeakKeyDictionary[Any, _Duties] = WeakKeyDictionary()


def join(member: T, *, at_exit: Callable[[T], None], after_fork: Callable[[T], None]) -> None:
    """Have these called with `member` when the interpreter ends, and in a forked child, as long as it is in use."""
    _MEMBERS[member] = _Duties(at_exit, after_fork)


def _at_exit() -> None:
    for member, duties in list(_MEMBERS.items()):
        duties.at_exit(member)


def _after_fork() -> None:
    for member, duties in list(_MEMBERS.items()):
        duties.after_fork(member)


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
