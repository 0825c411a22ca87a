"""Permanently removes every right of this process that a transformation does not need.

Linux only, with the standard library: privileges, namespaces, landlock, resource limits, and a seccomp filter.
`before_threads` runs before the engine starts (its settings are per thread, and new threads inherit them),
`after_start` once it has started, `ChildLock` in each forked child. Each returns what the worker has tested or read
back; the host checks independently, from outside, what the kernel reports.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Collection, Mapping

import seccomp  # type: ignore[import-not-found]  # in this folder; this file runs as a script

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_prctl, _setrlimit = _libc.prctl, resource.setrlimit

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_NEW_NAMESPACES = {"user": 0x10000000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
_NOBODY = 65534

_CAPSET = {"x86_64": 126, "aarch64": 91}


def _landlock() -> str:
    """Forbid opening, executing or changing any file, by any path."""
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
    if seccomp.MACHINE in _CAPSET and _libc.syscall(_CAPSET[seccomp.MACHINE], header, nothing) == 0:
        return status
    return status if status.startswith("user") else ""


def _namespaces() -> str:
    own = []
    for name, flag in _NEW_NAMESPACES.items():
        if name == "user" and os.geteuid() == 0:
            continue  # root can leave the others without its own user namespace
        if _libc.unshare(flag) == 0:
            own.append(name)
    return ", ".join(own) if "net" in own else ""


def before_threads(parent: int, without: Collection[str] = ()) -> dict[str, str]:
    """Apply the locks that hold for this thread and those it starts. Returns their descriptions; empty if one fails.

    `parent` is the process that this one must not outlive.
    """
    active: dict[str, str] = {"no_new_privileges": "set" if _forbid_new_privileges() else ""}
    steps = {"namespaces": _namespaces, "privileges": _privileges, "landlock": _landlock}
    for name, step in steps.items():
        active[name] = "" if name in without else step()
    # must follow the change of user, which clears both
    active["parent_death"] = "set" if _end_with(parent) else ""
    return active


def protect_template(parent: int) -> None:
    """Keep a template, which runs no user code, out of reach of other processes: no debugger, no outliving its host."""
    _forbid_new_privileges()
    _end_with(parent)


def _forbid_new_privileges() -> bool:
    return bool(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def _end_with(parent: int) -> bool:
    """Forbid inspection by other processes, and end with the thread of `parent` that started this process.

    Returns whether the kernel will end it.
    """
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    is_set = _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0
    if os.getppid() != parent:
        os._exit(0)
    return bool(is_set)


def memory_use(status: int) -> dict[str, int]:
    """Return the bytes of address space and of private data in use, and close the descriptor of /proc/self/status.

    Landlock hides the file, so it is opened before and read after the engine has started: V8 uses half a gigabyte of
    address space for each isolate.
    """
    lines = dict(line.split(":", 1) for line in os.pread(status, 8192, 0).decode().splitlines())
    os.close(status)
    return {name: int(lines[name].split()[0]) << 10 for name in ("VmSize", "VmData")}


def after_start(memory: int, used: Mapping[str, int], *, kind: str, without: Collection[str] = ()) -> dict[str, str]:
    """Apply resource limits, then seccomp (`kind` as there). `memory` is the limit for user code, in bytes.

    An engine with a JIT reserves terabytes of address space, so its limit counts private data instead, and it
    may start threads. A parent must be able to fork; its children give that right up.
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
    """Set resource limits. Returns whether all of them hold: a container may refuse to set them."""
    try:
        for limit, value in limits.items():
            most = resource.getrlimit(limit)[1]
            bound = value if most == resource.RLIM_INFINITY else min(value, most)  # the parent process may allow less
            _setrlimit(limit, (bound, bound))
            if resource.getrlimit(limit) != (bound, bound):
                return False
    except (OSError, ValueError):
        return False
    return True


class ChildLock:
    """Adds to the parent's locks (`active`) in a forked child: no processes, bounded CPU, a separate filter.

    The filter is built once, in the parent: building it in the child would cost more than the fork.
    """

    def __init__(self, active: Mapping[str, str]) -> None:
        self._parent, self._limited = os.getpid(), bool(active["limits"])
        self._filter = seccomp.Installer(seccomp.program("child")) if active["seccomp"] else None

    def close(self, seconds: float) -> None:
        """Apply the locks, with `seconds` of CPU left. If one fails that worked in the parent, the process ends."""
        whole = int(seconds) + 2
        if self._limited:
            _setrlimit(resource.RLIMIT_CPU, (whole, whole))
            _setrlimit(resource.RLIMIT_NPROC, (0, 0))
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a fork clears it
        if os.getppid() != self._parent or (self._filter is not None and not self._filter.install()):
            os._exit(1)
