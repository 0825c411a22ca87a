"""A process whose system calls are refused by the machine, as containers do it: `python -m tests.denied CALLS COMMAND`.

CALLS are names of the table of the sandbox's filter, or of what only the locks themselves call, with commas between
them; each then fails with EPERM.
"""

from __future__ import annotations

import ctypes
import os
import sys

from svctoolkit.transformations.worker import seccomp

#: numbers on x86-64 and elsewhere
_OF_THE_LOCKS = {"landlock_create_ruleset": (444, 444), "unshare": (272, 97), "capset": (126, 91)}


def deny(names: list[str]) -> None:
    """From now on, for this process and all that it starts."""
    seccomp._CALLS.update(_OF_THE_LOCKS)
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges: then anybody may set a filter
    f = seccomp._Filter()
    f.add(seccomp._LOAD, 0)
    for name in names:
        f.on(name, f.refuse)
    f.allow()
    assert seccomp.Installer(f.bytes()).install()


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])
