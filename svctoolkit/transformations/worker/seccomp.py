"""The seccomp filters of the workers: lists of allowed system calls; all others fail with EPERM.

Linux only, with the standard library. There are three filters, by the task of the process:

- `jit`: V8, which starts threads and makes memory executable;
- `parent`: the Python worker, which never runs user code, and forks a child for each call;
- `child`: runs one call of user code in Python. It only computes, reads and writes.

A filter is never removed; another one can only forbid more. The child adds its filter to its parent's.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

MACHINE = os.uname().machine  # `platform` would import much more, and a locked process may not ask
_PR_SET_PDEATHSIG, _PR_SET_VMA = 1, 0x53564D41
_CLONE_THREAD = 0x10000
_PROT_EXEC = 4
_OWN_ID = 0x5EC0C0DE  # placeholder for the ID of the process that installs the filter
_FORK_FLAGS = 0x012000FF  # CHILD_SETTID, CHILD_CLEARTID and the signal: the flags of libc's fork()

# Numbers of system calls on x86_64 and on aarch64 (whose numbers all newer machines share); None if it does not exist.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "brk": (12, 214),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close": (3, 57),
    "dup3": (292, 24),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fstat": (5, 80),
    "futex": (202, 98),
    "fork": (57, None),
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
    "kill": (62, 129),
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
    "recvmsg": (47, 212),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_yield": (24, 124),
    "seccomp": (317, 277),
    "set_robust_list": (273, 99),
    "sigaltstack": (131, 132),
    "tgkill": (234, 131),
    "time": (201, None),
    "times": (100, 153),
    "wait4": (61, 260),
    "write": (1, 64),
}
_FOR_JIT = {"pkey_alloc", "pkey_free", "pkey_mprotect", "sched_getparam", "sched_getscheduler"}
_FOR_CHILDREN = {"dup3", "fork", "kill", "recvmsg", "seccomp", "wait4"}
_CONDITIONAL = {"clone", "clone3", "ioctl", "mmap", "mprotect", "prctl", "prlimit64", "tgkill"}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06


class _Filter:
    """A classic BPF program, built step by step. Rules end in a verdict."""

    def __init__(self) -> None:
        self.column = 0 if MACHINE == "x86_64" else 1
        self._program: list[bytes] = []

    def add(self, code: int, value: int, then: int = 0, otherwise: int = 0) -> None:
        self._program.append(struct.pack("HBBI", code, then, otherwise, value & 0xFFFFFFFF))

    def end(self, verdict: int) -> None:
        self.add(_RETURN, verdict)

    def on(self, name: str, rule: Callable[[], None]) -> None:
        """Add the rule for one system call."""
        number = _CALLS[name][self.column]
        if number is None:
            return
        at = len(self._program)
        self.add(_EQUAL, 0)
        rule()
        self._program[at] = struct.pack("HBBI", _EQUAL, 0, len(self._program) - at - 1, number)

    def argument(self, index: int) -> None:
        """Load the low half of an argument of the call."""
        self.add(_LOAD, 16 + 8 * index)

    def allow(self) -> None:
        self.end(_ALLOW)

    def refuse(self, number: int = errno.EPERM) -> None:
        self.end(_ERROR | number)

    def allow_unless_bits(self, index: int, bits: int) -> None:
        """Refuse the call if an argument has any of these bits."""
        self.argument(index)
        self.add(_ANY_BIT, bits, 0, 1)
        self.refuse()
        self.allow()

    def allow_if_bits(self, index: int, bits: int) -> None:
        self.argument(index)
        self.add(_ANY_BIT, bits, 1, 0)
        self.refuse()
        self.allow()

    def allow_if(self, index: int, value: int) -> None:
        self.argument(index)
        self.add(_EQUAL, value, 0, 1)
        self.allow()
        self.refuse()

    def allow_if_null(self, index: int) -> None:
        """Allow the call if a pointer is null, in both of its halves."""
        for half in (16 + 8 * index, 20 + 8 * index):
            self.add(_LOAD, half)
            self.add(_EQUAL, 0, 1, 0)
            self.refuse()
        self.allow()

    def bytes(self) -> bytes:
        return b"".join(self._program)


def is_known() -> bool:
    """Whether the system call numbers of this machine type are known."""
    return MACHINE in _AUDIT_ARCH


def program(kind: str) -> bytes:
    """Return the filter for `jit`, `parent` or `child`. The child's has a placeholder for its process ID."""
    jit, parent = kind == "jit", kind == "parent"
    f = _Filter()
    f.add(_LOAD, 4)
    f.add(_EQUAL, _AUDIT_ARCH[MACHINE], 1, 0)
    f.end(_KILL)
    f.add(_LOAD, 0)
    if MACHINE == "x86_64":  # x32 numbers would bypass the list
        f.add(_AT_LEAST, 0x40000000, 0, 1)
        f.end(_KILL)
    for name in _CALLS.keys() - _CONDITIONAL - (set() if jit else _FOR_JIT) - (set() if parent else _FOR_CHILDREN):
        f.on(name, f.allow)
    for name in ("mmap", "mprotect"):
        f.on(name, f.allow if jit else lambda: f.allow_unless_bits(2, _PROT_EXEC))
    f.on("tgkill", f.allow if parent else lambda: f.allow_if(0, os.getpid() if jit else _OWN_ID))
    # a child lowers its limits before it installs its filter; afterwards they can only be read
    f.on("prlimit64", (lambda: f.allow_if(0, 0)) if parent else lambda: f.allow_if_null(2))
    f.on("ioctl", lambda: f.refuse(errno.ENOTTY))
    f.on("clone3", lambda: f.refuse(errno.ENOSYS))  # its flags are in memory, out of reach; libc falls back to clone
    if jit:
        f.on("clone", lambda: f.allow_if_bits(0, _CLONE_THREAD))
        f.on("prctl", lambda: f.allow_if(0, _PR_SET_VMA))
    if parent:
        f.on("clone", lambda: f.allow_unless_bits(0, ~_FORK_FLAGS))
        f.on("prctl", lambda: f.allow_if(0, _PR_SET_PDEATHSIG))
    f.refuse()
    return f.bytes()


class Installer:
    """Prepares a filter for `install`, which is called once. Preparing it before a fork keeps the child fast."""

    def __init__(self, filter_program: bytes) -> None:
        code = ctypes.create_string_buffer(filter_program, len(filter_program))
        constants = [ctypes.c_uint32.from_buffer(code, at) for at in range(4, len(code), 8)]  # one per instruction
        self._own_ids = [constant for constant in constants if constant.value == _OWN_ID]
        header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(code))
        pointer = ctypes.create_string_buffer(header, len(header))
        mode, every_thread = ctypes.c_long(1), ctypes.c_long(1)
        number = ctypes.c_long(_CALLS["seccomp"][_Filter().column] or 0)
        self._arguments = number, mode, every_thread, ctypes.byref(pointer)
        self._kept = code, pointer  # keep alive: the kernel reads them

    def install(self) -> bool:
        """Filter every thread of this process (V8 uses its own). Returns whether the kernel accepted the filter."""
        for constant in self._own_ids:
            constant.value = os.getpid()
        return bool(_libc.syscall(*self._arguments) == 0)
