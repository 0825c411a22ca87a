"""The secrets of a workspace, including former ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from threading import Lock
from typing import Any

from svctoolkit.secrets import Masker

_MOST = 10_000  # the number of requests that the recorder keeps
_lock = Lock()


class KnownSecrets:
    """Collects the secrets of one workspace as its configuration changes.

    Requests that were recorded before a change may contain former secrets, which may still be valid. Nothing of this is
    pickled.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: tuple[Any, tuple[str, ...], Masker] = (None, (), Masker(()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (KnownSecrets, ())

    # Any: compared, and nothing else
    def update(self, state: Any, secrets: Callable[[], Iterable[str]]) -> tuple[tuple[str, ...], Masker]:
        """Return all secrets so far, and their masker. The current `secrets()` are read only if `state` has changed."""
        entry = self._known
        if entry[0] != state:  # comparing is 100 times faster than reading every configuration
            with _lock:
                texts = tuple(dict.fromkeys([*self._known[1], *secrets()]))[-_MOST:]
                # a copy, because a configuration may be changed in place, and would then be equal to itself
                entry = self._known = deepcopy(state), texts, Masker.of(texts)
        return entry[1], entry[2]
