"""The memory of workers, as the host sees it, and the bound that the calls of one workspace share."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from svctoolkit.errors import TransformationError

#: how many times the memory of one call the concurrent calls of a workspace may use together
SHARED_FACTOR = 4
_TASK_INFO, _TASK_INFO_SIZE = 4, 96  # PROC_PIDTASKINFO and struct proc_taskinfo of <sys/proc_info.h>


# Any: a ctypes library
def resident_bytes(process: int, platform: str = sys.platform, system: Any = None) -> int:
    """Return the resident memory of a process; 0 if it is not visible. `system` is the library of macOS."""
    if platform == "darwin":
        return _of_task(process, system)
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def _of_task(process: int, system: Any) -> int:
    """Return the resident size that `proc_pidinfo` of macOS reports, the second number of its structure."""
    import ctypes  # only here: it takes longer to import than this module's users

    info = (ctypes.c_uint64 * (_TASK_INFO_SIZE // 8))()
    library = system or ctypes.CDLL("/usr/lib/libSystem.dylib")
    size = library.proc_pidinfo(process, _TASK_INFO, ctypes.c_uint64(0), ctypes.byref(info), _TASK_INFO_SIZE)
    return int(info[1]) if size == _TASK_INFO_SIZE else 0


def out_of_memory(memory: int) -> TransformationError:
    """Return the error of a call that exceeds its own limit, in MB."""
    return TransformationError(f"memory limit of {memory} MB exceeded", name="RangeError", kind="memory")


class SharedMemory:
    """The processes that run long calls now, by the scope of their code: those of one scope share a bound.

    No thread is needed: each call checks while it waits, and the one that uses most fails. Short calls are not counted.
    """

    def __init__(self, resident: Callable[[int], int] = resident_bytes) -> None:
        self._resident = resident
        self._before: dict[str, dict[int, int]] = {}  # scope -> process -> bytes that are not the call's
        self._lock = threading.Lock()

    def check(self, scope: str, process: int, memory: int, before: int) -> None:
        """Count a process that used `before` bytes without the call, and check the sum of its scope.

        Raises `TransformationError` if that is over `SHARED_FACTOR` times `memory` MB, and this process uses most. A
        single call has its own limit, which the kernel or V8 enforces.
        """
        with self._lock:
            self._before.setdefault(scope, {})[process] = before
            processes = dict(self._before[scope])
        if len(processes) < 2:
            return
        used = {each: max(0, self._resident(each) - base) for each, base in processes.items()}
        most = SHARED_FACTOR * memory
        if sum(used.values()) > most << 20 and process == max(used, key=lambda each: (used[each], each)):
            text = (
                f"shared memory limit of {most} MB exceeded: {len(used)} calls of this workspace ran at the same time, "
                f"and this one used most, {used[process] >> 20} MB. Run fewer in parallel, or raise limits.memory"
            )
            raise TransformationError(text, name="RangeError", kind="memory")

    def leave(self, scope: str, process: int) -> None:
        """Count a process no longer."""
        if scope not in self._before:  # most calls are short
            return
        with self._lock:
            processes = self._before.get(scope, {})
            processes.pop(process, None)
            if not processes:
                self._before.pop(scope, None)


shared = SharedMemory()
