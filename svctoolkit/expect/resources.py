"""What matchers may use besides the value: the suite's folder, and the tracking plans of its workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from svctoolkit.plans import Plan


class Resources(NamedTuple):
    """A folder, and `plans`, which is called only when a matcher needs a plan."""

    folder: Path
    plans: Callable[[], Sequence[Plan]]


def _no_plans() -> Sequence[Plan]:
    return ()


_NOTHING = Resources(Path(), _no_plans)
_CURRENT: ContextVar[Resources] = ContextVar("resources")


def current() -> Resources:
    """Return the resources of the running scenario; outside a scenario, the working directory and no plans."""
    return _CURRENT.get(_NOTHING)


@contextmanager
def use(resources: Resources) -> Iterator[None]:
    """Use these resources for matchers inside the block."""
    token = _CURRENT.set(resources)
    try:
        yield
    finally:
        _CURRENT.reset(token)
