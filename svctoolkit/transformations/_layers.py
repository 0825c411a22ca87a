"""The layers of the sandbox: their descriptions, and what the kernel shows of them from outside."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping

import msgspec

from svctoolkit.errors import TransformationError

_PROCESS = {"process": "a separate process with an empty environment, killed when it exceeds its time"}
_LINUX = {
    "seccomp": "no files, network, processes, or system calls beyond those for computing",
    "no_new_privileges": "no child process can gain privileges",
    "privileges": "an ordinary user without capabilities",
    "landlock": "no file can be opened",
    "namespaces": "an isolated network without any connection",
    "limits": "limits on memory, files and processes, enforced by the kernel",
    "parent_death": "ends with its parent, even if that is killed",
    **_PROCESS,
}
_DARWIN = {
    "seatbelt": "no files, network, processes or system services",
    "limits": "limits on CPU time, files and processes, enforced by the kernel",
    **_PROCESS,
}
_OTHERS = {"isolation": "no files, network or processes", **_PROCESS}
_ENGINE = {"engine": "V8: code has no access to the machine, and its heap is limited"}
#: Without these, Python code can do whatever the user can: no layer called isolation exists on other systems.
_ESSENTIAL_FOR_PYTHON = {"linux": ("seccomp", "no_new_privileges", "limits"), "darwin": ("seatbelt", "limits")}
#: if set to 1, this process and its child processes trust every transformation; `--trust-code` sets it
TRUST_VARIABLE = "SVCTOOLKIT_TRUST_CODE"
TRUST = (
    "If you trust the code, record it with `svctoolkit trust FILE` or Workspace.trust(). To trust all code, use "
    "--trust-code, or in Python transformations.trust_code()"
)
_OPEN_FILES = 64  # the worker's own limit


def possible_layers(language: str, platform: str = sys.platform) -> dict[str, str]:
    """Return the layers that a language can have on a platform (`sys.platform`), with their descriptions.

    JavaScript has V8 as a layer everywhere; on macOS and Windows it is the only one besides the process.
    """
    if language == "javascript":
        return _ENGINE | (_LINUX if platform == "linux" else _PROCESS)
    return {"linux": _LINUX, "darwin": _DARWIN}.get(platform, _OTHERS)


def essential_layers(language: str, platform: str = sys.platform) -> tuple[str, ...]:
    """Return the layers without which only trusted code runs.

    V8 gives code no access to files, network or processes, so JavaScript needs no layer of the operating system.
    """
    if language == "javascript":
        return ("engine",)
    return _ESSENTIAL_FOR_PYTHON.get(platform, ("isolation",))


class Layers(msgspec.Struct, frozen=True):
    """The layers of the sandbox for one language: `active` and `missing`, each with its description.

    `essential` is whether the layers hold that contain hostile code: without them, only trusted code runs.
    """

    active: Mapping[str, str]
    missing: Mapping[str, str]
    platform: str
    needed: tuple[str, ...] = essential_layers("python", "linux")

    @property
    def essential(self) -> bool:
        return all(name in self.active for name in self.needed)

    def __str__(self) -> str:
        words = [f"User code runs in a sandbox of {len(self.active)} layers ({self.platform}):"]
        words += [f"  holds: {name.replace('_', ' ')}: {what}" for name, what in self.active.items()]
        words += [f"  missing: {name.replace('_', ' ')}: {what}" for name, what in self.missing.items()]
        if not self.essential:
            words.append("  Without the essential layers, run only code that you trust.")
        return "\n".join(words)

    def notice(self) -> str:
        """Return a sentence about the layers that do not hold on this machine; empty if all hold."""
        if not self.missing:
            return ""
        names = ", ".join(name.replace("_", " ") for name in self.missing)
        text = f"user transformations run here in a sandbox without {names} ({self.platform})"
        return text if self.essential else f"{text}: run only code that you trust"

    def lacking(self) -> str:
        """Return the essential layers that are missing, in words."""
        return ", ".join(name.replace("_", " ") for name in self.needed if name not in self.active)


def layers_of(reported: Mapping[str, str], language: str = "python", platform: str = sys.platform) -> Layers:
    """Return the layers that a worker for `language` reports on a platform."""
    on = {name for name, how in reported.items() if how} | {"process", "engine"}
    possible = possible_layers(language, platform)
    return Layers(
        {name: _with_detail(what, reported.get(name, "")) for name, what in possible.items() if name in on},
        {name: what for name, what in possible.items() if name not in on},
        f"{platform}, {os.uname().release}" if hasattr(os, "uname") else platform,
        essential_layers(language, platform),
    )


class SandboxWarning(UserWarning):
    """A layer of the sandbox does not hold on this machine."""


_notices: set[str] = set()  # notices that have been issued


def check(reported: Mapping[str, str], language: str, is_trusted: Callable[[], bool]) -> None:
    """Issue a `SandboxWarning` once for layers that do not hold here. Called before a worker gets code.

    Raises `TransformationError` (kind `sandbox`) if an essential layer is missing and the code is not trusted.
    """
    layers = layers_of(reported, language)
    if not layers.essential and not is_trusted():
        raise TransformationError(f"{layers.notice()}. {TRUST}", name="SandboxError", kind="sandbox")
    if notice := first_notice(layers):
        with contextlib.suppress(SandboxWarning):  # if warnings are errors, the code must not fail because of it
            # any thread may get here first, so the warning refers to no line of the user's code
            warnings.warn_explicit(notice, SandboxWarning, "svctoolkit", 1)


def first_notice(layers: Layers) -> str:
    """Return `layers.notice()` the first time, then an empty string, so that a process says it once."""
    notice = layers.notice()
    if notice in _notices:
        return ""
    _notices.add(notice)
    return notice


def trust_code() -> None:
    """Run code even if an essential layer is missing, from now on, in this process and its child processes."""
    os.environ[TRUST_VARIABLE] = "1"


def code_is_trusted() -> bool:
    """Whether all code is trusted (`trust_code`, `--trust-code`)."""
    return os.environ.get(TRUST_VARIABLE) == "1"


def _with_detail(what: str, how: str) -> str:
    return f"{what} ({how})" if how and how != "set" else what


def unconfirmed(process: int, reported: Mapping[str, str]) -> list[str]:
    """Return the layers that a worker reports but the kernel does not show. Linux only; empty elsewhere.

    Seccomp and privileges are checked on every thread. Landlock and the parent-death signal are not visible from
    outside: the worker has tested the first and read back the second.
    """
    if not sys.platform.startswith("linux"):
        return []
    return [name for name, how in reported.items() if how and name in _SIGNS and not _SIGNS[name](process)]


def _threads_show(process: int, *lines: str) -> bool:
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{thread}/status", encoding="ascii", errors="replace") as status:
                text = status.read()
        except (FileNotFoundError, ProcessLookupError):
            continue  # that thread has ended
        if not all(f"\n{line}\n" in text for line in lines):
            return False
    return True


def _has_limits(process: int) -> bool:
    bounds = _limits(process)
    memory = {bounds.get("Max address space"), bounds.get("Max data size")}
    files = bounds.get("Max open files", "")
    has_memory = any(bound and bound.isdigit() for bound in memory)
    return bounds.get("Max file size") == "0" and has_memory and files.isdigit() and int(files) <= _OPEN_FILES


def _limits(process: int) -> dict[str, str]:
    """Return the hard limits of a process by their names in /proc."""
    with open(f"/proc/{process}/limits", encoding="ascii", errors="replace") as table:
        rows = [(line[:26].strip(), line[26:].split()) for line in table]
    return {name: values[1] for name, values in rows if len(values) > 1}


def _has_own_network(process: int) -> bool:
    """Whether it has its own network: each network namespace has its own device list, in a world-readable file."""
    return os.stat(f"/proc/{process}/net/dev").st_ino != os.stat("/proc/self/net/dev").st_ino


_SIGNS = {
    "seccomp": lambda process: _threads_show(process, "Seccomp:\t2"),
    "no_new_privileges": lambda process: _threads_show(process, "NoNewPrivs:\t1"),
    "privileges": lambda process: _threads_show(process, f"CapPrm:\t{0:016x}", f"CapEff:\t{0:016x}"),
    "limits": _has_limits,
    "namespaces": _has_own_network,
}


def unconfirmed_of_child(process: int, reported: Mapping[str, str]) -> list[str]:
    """Like `unconfirmed`, for a child that has locked itself down further: no processes, bounded CPU."""
    lost = unconfirmed(process, reported)
    if sys.platform.startswith("linux") and reported.get("limits"):
        bounds = _limits(process)
        if bounds.get("Max processes") != "0" or not bounds.get("Max cpu time", "").isdigit():
            lost.append("limits")
    return lost
