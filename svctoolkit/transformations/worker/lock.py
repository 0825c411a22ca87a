"""Takes away from this process, for good, everything that a transformation has no use for.

Linux only, with the standard library: privileges, namespaces, landlock, resource limits, and a seccomp filter that
allows the system calls that computing needs and refuses all others. `before_threads` comes before the engine starts
(what it sets is per thread, and new threads inherit it), `after_start` right before the first line of user code.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import struct
from collections.abc import Callable, Collection

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PR_SET_VMA = 0x53564D41
_NEW_NAMESPACES = {"user": 0x10000000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
_NOBODY = 65534

# Numbers of system calls on x86_64 and on aarch64 (which all newer ones share); None where there is none.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "brk": (12, 214),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close": (3, 57),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fstat": (5, 80),
    "futex": (202, 98),
    "getegid": (108, 177),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getrandom": (318, 278),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "getuid": (102, 174),
    "ioctl": (16, 29),
    "lseek": (8, 62),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mincore": (27, 232),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "pkey_alloc": (330, 289),
    "pkey_free": (331, 290),
    "pkey_mprotect": (329, 288),
    "poll": (7, None),
    "ppoll": (271, 73),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "read": (0, 63),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_yield": (24, 124),
    "set_robust_list": (273, 99),
    "sigaltstack": (131, 132),
    "tgkill": (234, 131),
    "time": (201, None),
    "times": (100, 153),
    "write": (1, 64),
}
_FOR_JIT = {"pkey_alloc", "pkey_free", "pkey_mprotect", "sched_getparam", "sched_getscheduler"}
_CONDITIONAL = {"clone", "clone3", "ioctl", "mmap", "mprotect", "prctl", "prlimit64", "tgkill"}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06


def _refuse(number: int) -> int:
    return 0x00050000 | number


class _Filter:
    """A classic BPF program for seccomp, put together step by step."""

    def __init__(self) -> None:
        self.column = 0 if platform.machine() == "x86_64" else 1
        self._program: list[bytes] = []

    def add(self, code: int, value: int, then: int = 0, otherwise: int = 0) -> None:
        self._program.append(struct.pack("HBBI", code, then, otherwise, value & 0xFFFFFFFF))

    def end(self, verdict: int) -> None:
        self.add(_RETURN, verdict)

    def on(self, name: str, rule: Callable[[], None]) -> None:
        """What happens to one system call: `rule` adds steps that end in a verdict."""
        number = _CALLS[name][self.column]
        if number is None:
            return
        at = len(self._program)
        self.add(_EQUAL, 0)
        rule()
        self._program[at] = struct.pack("HBBI", _EQUAL, 0, len(self._program) - at - 1, number)

    def argument(self, index: int) -> None:
        """Loads the low half of an argument of the call."""
        self.add(_LOAD, 16 + 8 * index)

    def bytes(self) -> bytes:
        return b"".join(self._program)


def _program(*, jit: bool, threads: bool) -> bytes:
    """The allow-list: what is not named here fails with EPERM."""
    f = _Filter()

    def allow() -> None:
        f.end(_ALLOW)

    def refuse() -> None:
        f.end(_refuse(errno.EPERM))

    def not_executable() -> None:
        f.argument(2)
        f.add(_ANY_BIT, 4, 0, 1)
        refuse()
        allow()

    def own_process() -> None:
        f.argument(0)
        f.add(_EQUAL, os.getpid(), 1, 0)
        refuse()
        allow()

    def deny_new_limits() -> None:
        for half in (32, 36):  # both halves of the pointer to the new limits
            f.add(_LOAD, half)
            f.add(_EQUAL, 0, 1, 0)
            refuse()
        allow()

    def a_thread() -> None:
        f.argument(0)
        f.add(_ANY_BIT, 0x10000, 1, 0)  # CLONE_THREAD
        refuse()
        allow()

    def name_memory_only() -> None:
        f.argument(0)
        f.add(_EQUAL, _PR_SET_VMA, 1, 0)
        refuse()
        allow()

    f.add(_LOAD, 4)
    f.add(_EQUAL, _AUDIT_ARCH[platform.machine()], 1, 0)
    f.end(_KILL)
    f.add(_LOAD, 0)
    if platform.machine() == "x86_64":  # the x32 numbers would pass beside the list
        f.add(_AT_LEAST, 0x40000000, 0, 1)
        f.end(_KILL)
    for name in _CALLS.keys() - _CONDITIONAL - (set() if jit else _FOR_JIT):
        f.on(name, allow)
    f.on("mmap", allow if jit else not_executable)
    f.on("mprotect", allow if jit else not_executable)
    f.on("tgkill", own_process)
    f.on("prlimit64", deny_new_limits)
    f.on("ioctl", lambda: f.end(_refuse(errno.ENOTTY)))
    f.on("clone3", lambda: f.end(_refuse(errno.ENOSYS)))  # its flags are in memory: libc then uses clone
    if threads:
        f.on("clone", a_thread)
    if jit:
        f.on("prctl", name_memory_only)
    refuse()
    return f.bytes()


def _seccomp(*, jit: bool, threads: bool) -> str:
    """Filters every thread of the process (TSYNC); V8 runs the code on a thread of its own."""
    if platform.machine() not in _SECCOMP:
        return ""
    program = _program(jit=jit, threads=threads)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    pointer = ctypes.create_string_buffer(header, len(header))
    status = _libc.syscall(
        ctypes.c_long(_SECCOMP[platform.machine()]), ctypes.c_long(1), ctypes.c_long(1), ctypes.byref(pointer)
    )
    return "on every thread" if status == 0 else ""


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
    return f"version {version}" if status == 0 else ""


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


def after_start(memory: int, used: dict[str, int], *, jit: bool, without: Collection[str] = ()) -> dict[str, str]:
    """Resource limits, then seccomp. `memory` is what user code may take, in bytes.

    An engine with a JIT reserves terabytes of address space, so there the limit counts private data instead, and it
    may start threads.
    """
    active: dict[str, str] = {}
    if "limits" not in without:
        kind, base = (resource.RLIMIT_DATA, used["VmData"]) if jit else (resource.RLIMIT_AS, used["VmSize"])
        limits = {
            kind: base + memory,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 64,
            resource.RLIMIT_MEMLOCK: 0,
            resource.RLIMIT_MSGQUEUE: 0,
            **({} if jit else {resource.RLIMIT_NPROC: 0}),
        }
        for limit, value in limits.items():
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(limit, (value, value))
        active["limits"] = "memory, files, processes"
    active["seccomp"] = "" if "seccomp" in without else _seccomp(jit=jit, threads=jit)
    return active
