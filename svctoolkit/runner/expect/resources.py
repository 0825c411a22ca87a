"""What matchers may look at beside a value: the folder of the suite, and the tracking plans of its workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from svctoolkit.plans import Plan


class Resources(NamedTuple):
    """`plans` is asked only when a matcher needs one."""

    folder: Path
    plans: Callable[[], Sequence[Plan]]


def _no_plans() -> Sequence[Plan]:
    return ()


_NOTHING = Resources(Path(), _no_plans)
_CURRENT: ContextVar[Resources] = ContextVar("resources")


def current() -> Resources:
    """Those of the scenario that runs; outside of any, the working directory and no plan."""
    return _CURRENT.get(_NOTHING)


@contextmanager
def use(resources: Resources) -> Iterator[None]:
    """Have matchers look at these."""
    token = _CURRENT.set(resources)
    try:
        yield
    finally:
        _CURRENT.reset(token)
