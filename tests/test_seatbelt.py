"""The locks of macOS, with a fake system library: what is called, and what follows if it fails.

The fake "sandbox" forbids new descriptors, which is what the lock's own test can see on any POSIX system.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from svctoolkit.transformations._layers import layers_of

if sys.platform == "win32":
    pytest.skip("forks", allow_module_level=True)
import resource

from svctoolkit.transformations.worker import seatbelt


def system(status: int = 0, *, forbids: bool = True) -> Any:
    """A library whose `sandbox_init` returns a status, and forbids to open files if it is 0."""

    def sandbox_init(profile: bytes, flags: int, _error: object) -> int:
        right = (profile, flags) == (b"pure-computation", 1)
        if status == 0 and forbids and right:
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        return status if right else -1

    return SimpleNamespace(sandbox_init=sandbox_init)


def in_child(lock: seatbelt.ChildLock) -> int:
    """The exit status of a child that locks itself: 0 if it could still open a file, 7 if not."""
    child = os.fork()
    if child == 0:
        lock.close(2.0)
        try:
            os.open("/", os.O_RDONLY)
        except OSError:
            os._exit(7)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_enters_the_profile_for_pure_computation() -> None:
    """Both layers are reported after a child has tried them, and this process stays as it was."""
    lock = seatbelt.ChildLock(system(), b"pure-computation")

    assert lock.layers == {"seatbelt": "set", "limits": "set"}
    assert layers_of(lock.layers, "python", "darwin").essential
    assert in_child(lock) == 7
    os.close(os.open("/", os.O_RDONLY))


@pytest.mark.parametrize(("status", "forbids"), [(-1, True), (0, False)], ids=["fails", "does nothing"])
def test_a_lock_that_does_not_hold_is_not_reported(status: int, forbids: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system refuses, or accepts and does nothing: the layers are missing, so Python asks for trust."""
    # A worker has few open files; this process, which has run other tests, may have more than the limit.
    monkeypatch.setattr(seatbelt, "_OPEN_FILES", 4096)
    lock = seatbelt.ChildLock(system(status, forbids=forbids), b"pure-computation")

    assert lock.layers == {"seatbelt": "", "limits": ""}
    assert not layers_of(lock.layers, "python", "darwin").essential
    assert in_child(lock) == (1 if status else 0)  # a lock that fails ends the child before it gets code


def test_missing_layers_of_macos_are_named() -> None:
    """Neither Linux's layers nor V8 appear for Python on macOS; Windows says that nothing isolates it."""
    darwin, windows = layers_of({}, "python", "darwin"), layers_of({}, "python", "win32")

    assert darwin.lacking() == "seatbelt, limits"
    assert windows.lacking() == "isolation"
    assert layers_of({}, "javascript", "win32").essential
    assert layers_of({}, "javascript", "darwin").notice() == ""
