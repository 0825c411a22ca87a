"""Takes away from this process, for good, everything that a transformation has no use for.

Linux only, with the standard library: privileges, namespaces, landlock, resource limits, and a seccomp filter.
`before_threads` comes before the engine starts (what it sets is per thread, and new threads inherit it), `after_start`
when it has started, `ChildLock` in each child that a parent has forked. What each returns is what the worker has tried
out or read back; the host looks for itself, from outside, at what the kernel shows of it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Collection, Mapping

import seccomp  # type: ignore[import-not-found]  # beside this file, which runs as a script

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_prctl, _setrlimit = _libc.prctl, resource.setrlimit

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_NEW_NAMESPACES = {"user": 0x10000000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
_NOBODY = 65534

_CAPSET = {"x86_64": 126, "aarch64": 91}


def _landlock() -> str:
    """No file may be opened, run or changed any more, whatever its path."""
    version = _libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return ""
    files = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        files |= (1 << bit) if version >= since else 0
    network, scopes = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    rules = struct.pack("QQQ", files, network, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _libc.syscall(444, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    if ruleset < 0:
        return ""
    status = _libc.syscall(446, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)
    return f"version {version}" if status == 0 and not _can_open("/") else ""


def _can_open(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


def _privileges() -> str:
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    status = "no capabilities"
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
            status = "user nobody, no capabilities"
        except OSError:
            pass
    header, nothing = struct.pack("Ii", 0x20080522, 0), b"\0" * 24
    if platform.machine() in _CAPSET and _libc.syscall(_CAPSET[platform.machine()], header, nothing) == 0:
        return status
    return status if status.startswith("user") else ""


def _namespaces() -> str:
    own = []
    for name, flag in _NEW_NAMESPACES.items():
        if name == "user" and os.geteuid() == 0:
            continue  # root needs none of its own to leave the others
        if _libc.unshare(flag) == 0:
            own.append(name)
    return ", ".join(own) if "net" in own else ""


def before_threads(parent: int, without: Collection[str] = ()) -> dict[str, str]:
    """Locks that hold for this thread and those it starts. Which hold, in words; empty where one does not.

    `parent` is the process that this one must not outlive.
    """
    active: dict[str, str] = {}
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        active["no_new_privileges"] = "set"
    steps = {"namespaces": _namespaces, "privileges": _privileges, "landlock": _landlock}
    for name, step in steps.items():
        active[name] = "" if name in without else step()
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    # after the change of user, which clears it
    active["parent_death"] = "set" if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0 else ""
    if os.getppid() != parent:
        os._exit(0)
    return active


def memory_use(status: int) -> dict[str, int]:
    """Bytes of address space and of private data in use, from a descriptor of /proc/self/status, which it closes.

    Landlock hides the file, so it is opened before and read when the engine has started: V8 takes half a gigabyte of
    address space for each isolate.
    """
    lines = dict(line.split(":", 1) for line in os.pread(status, 8192, 0).decode().splitlines())
    os.close(status)
    return {name: int(lines[name].split()[0]) << 10 for name in ("VmSize", "VmData")}


def after_start(memory: int, used: Mapping[str, int], *, kind: str, without: Collection[str] = ()) -> dict[str, str]:
    """Resource limits, then seccomp (`kind` as there). `memory` is what user code may take, in bytes.

    An engine with a JIT reserves terabytes of address space, so there the limit counts private data instead, and it
    may start threads. A parent must be able to fork; its children give that up.
    """
    of_memory, base = (resource.RLIMIT_DATA, used["VmData"]) if kind == "jit" else (resource.RLIMIT_AS, used["VmSize"])
    limits = {
        of_memory: base + memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    limited = "limits" not in without and _limit(limits)
    filtered = "seccomp" not in without and seccomp.is_known() and seccomp.Installer(seccomp.program(kind)).install()
    return {"limits": "memory, files" if limited else "", "seccomp": "on every thread" if filtered else ""}


def _limit(limits: Mapping[int, int]) -> bool:
    """Sets resource limits. Whether all of them hold: a container may refuse to set them."""
    try:
        for limit, value in limits.items():
            most = resource.getrlimit(limit)[1]
            bound = value if most == resource.RLIM_INFINITY else min(value, most)  # whoever started us may allow less
            _setrlimit(limit, (bound, bound))
            if resource.getrlimit(limit) != (bound, bound):
                return False
    except (OSError, ValueError):
        return False
    return True


class ChildLock:
    """What a forked child adds to the locks of its parent (`active`): no processes, bounded CPU, a filter of its own.

    The filter is put together once, in the parent: in the child it would cost more than the fork.
    """

    def __init__(self, active: Mapping[str, str]) -> None:
        self._parent, self._limited = os.getpid(), bool(active["limits"])
        self._filter = seccomp.Installer(seccomp.program("child")) if active["seccomp"] else None

    def close(self, seconds: float) -> None:
        """`seconds` of CPU are left to this process. Where one fails that its parent could close, the process ends."""
        whole = int(seconds) + 2
        if self._limited:
            _setrlimit(resource.RLIMIT_CPU, (whole, whole))
            _setrlimit(resource.RLIMIT_NPROC, (0, 0))
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a fork clears it
        if os.getppid() != self._parent or (self._filter is not None and not self._filter.install()):
            os._exit(1)
