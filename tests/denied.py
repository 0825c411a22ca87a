"""Run a command whose system calls are denied, as containers do: `python -m tests.denied CALLS COMMAND`.

CALLS are comma-separated names from the sandbox's filter table, or of calls used only by the locks themselves; each
then fails with EPERM.
"""

from __future__ import annotations

import ctypes
import os
import sys

from svctoolkit.transformations.worker import seccomp

#: system call numbers on x86-64 and elsewhere
_OF_THE_LOCKS = {"landlock_create_ruleset": (444, 444), "unshare": (272, 97), "capset": (126, 91)}


def deny(names: list[str]) -> None:
    """Deny these calls for this process and everything that it starts."""
    seccomp._CALLS.update(_OF_THE_LOCKS)
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # "no new privileges" allows any user to set a filter
    f = seccomp._Filter()
    f.add(seccomp._LOAD, 0)
    for name in names:
        f.on(name, f.refuse)
    f.allow()
    assert seccomp.Installer(f.bytes()).install()


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])
