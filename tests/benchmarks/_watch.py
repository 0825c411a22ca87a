"""A small process that runs a command and tells what it took: `python -S _watch.py FILE COMMAND...`.

It loads next to nothing, because a process counts the memory of the one that started it as its own.
"""

import ctypes
import os
import resource
import sys
import time

_SUBREAPER = 36


def watch(told: str, command: list[str]) -> int:
    """Run the command, wait for all processes that it leaves behind, and write seconds, CPU seconds and MiB."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # processes whose parent ends become children of this one
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
