"""The secrets of a workspace, those that it had before included."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from threading import Lock
from typing import Any

from svctoolkit.secrets import Masker

_MOST = 10_000  # as many as the recorder keeps requests
_lock = Lock()


class KnownSecrets:
    """Collects the secrets of one workspace as its configuration changes.

    What a configuration no longer has may still stand in what was recorded while it had it, and may still let people
    in. Nothing of this is pickled.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: tuple[Any, tuple[str, ...], Masker] = (None, (), Masker(()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (KnownSecrets, ())

    # Any: compared, and nothing else
    def update(self, state: Any, secrets: Iterable[str]) -> tuple[tuple[str, ...], Masker]:
        """The secrets so far, and what hides them. `secrets`, those of now, are read where `state` has changed."""
        entry = self._known
        if entry[0] != state:  # comparing costs a hundredth of reading every configuration
            with _lock:
                texts = tuple(dict.fromkeys([*self._known[1], *secrets]))[-_MOST:]
                # a copy: who changes a configuration may change the object itself, which would be equal to itself
                entry = self._known = deepcopy(state), texts, Masker.of(texts)
        return entry[1], entry[2]
