"""A small process that runs a command and reports its resource use: `python -S _watch.py FILE COMMAND...`.

It imports almost nothing, because a process inherits its parent's memory in the measurement.
"""

import ctypes
import os
import resource
import sys
import time

_SUBREAPER = 36


def watch(told: str, command: list[str]) -> int:
    """Run the command, wait for all its remaining processes, and write seconds, CPU seconds and MiB."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # orphaned processes become children of this one
    started = time.perf_counter()
    _, status = os.waitpid(os.posix_spawnp(command[0], command, os.environ), 0)
    wall = time.perf_counter() - started
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    with open(told, "w", encoding="ascii") as file:
        file.write(f"[{wall}, {usage.ru_utime + usage.ru_stime}, {peak}]")
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(watch(sys.argv[1], sys.argv[2:]))
