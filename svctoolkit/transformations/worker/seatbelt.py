"""The locks of macOS: Seatbelt and resource limits, in each child that runs a call.

The parent runs no user code, and must be able to fork; `sandbox_init(3)` cannot be undone. Only its documented
interface is used: the named profile `kSBXProfilePureComputation`, which prohibits all services of the system.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Collection
from typing import Any

_NAMED = 1  # SANDBOX_NAMED of <sandbox.h>
_PROFILE = "kSBXProfilePureComputation"
_OPEN_FILES = 64
_LOCKED, _OPEN = 0, 1  # exit status of the child that tries the locks


def library() -> Any:
    """Return the system's library, with `sandbox_init` and the names of its profiles."""
    return ctypes.CDLL("/usr/lib/libSystem.dylib", use_errno=True)


def profile_of(system: Any) -> bytes:
    """Return the name of the profile, which the library exports as text."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(system, _PROFILE)))


class ChildLock:
    """Locks a forked child. `system` is the library, `profile` the name of the profile in it.

    `layers` describes the locks that hold: a child has tried them when this is created.
    """

    def __init__(self, system: Any, profile: bytes, without: Collection[str] = ()) -> None:
        self._init, self._profile = system.sandbox_init, profile
        self._init.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_char_p)]
        self._init.restype = ctypes.c_int
        self._without = without
        holds = _test_in_child(self)
        self.layers = {
            "seatbelt": "set" if holds and "seatbelt" not in without else "",
            "limits": "set" if holds and "limits" not in without else "",
        }

    def close(self, seconds: float) -> None:
        """Apply the locks, with `seconds` of CPU left. If one fails, the process ends."""
        try:
            if "limits" not in self._without:
                _limit(int(seconds) + 2)
            locked = "seatbelt" in self._without or self._enter()
        except (OSError, ValueError):
            locked = False
        if not locked:
            os._exit(1)

    def _enter(self) -> bool:
        error = ctypes.c_char_p()
        return bool(self._init(self._profile, _NAMED, ctypes.byref(error)) == 0)

    def is_closed(self) -> bool:
        """Whether the locks hold in this process: no file can be opened, and no process forked."""
        if "seatbelt" not in self._without:
            with contextlib.suppress(OSError):
                os.close(os.open("/", os.O_RDONLY))
                return False
        return "limits" in self._without or resource.getrlimit(resource.RLIMIT_NPROC) == (0, 0)


def _limit(cpu_seconds: int) -> None:
    """Set resource limits. macOS does not enforce one for memory: the host watches that."""
    for limit, value in (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(limit, (value, value))


def _test_in_child(lock: ChildLock) -> bool:
    """Return whether the locks hold in a child that applies them."""
    child = os.fork()
    if child == 0:
        try:
            lock.close(1.0)
            os._exit(_LOCKED if lock.is_closed() else _OPEN)
        finally:
            os._exit(_OPEN)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _LOCKED
