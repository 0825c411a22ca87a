"""The layers of the sandbox, in words, and what the kernel shows of them from outside."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from svctoolkit.errors import TransformationError

LAYERS = {
    "seccomp": "no files, network, processes or other system calls than computing needs",
    "no_new_privileges": "nothing that it starts can gain rights",
    "privileges": "an ordinary user without capabilities",
    "landlock": "no file can be opened, by any path",
    "namespaces": "a network of its own, without any connection",
    "limits": "bounds on memory, files and processes, kept by the kernel",
    "parent_death": "ends with its parent, also when that is killed",
    "process": "a process of its own, with an empty environment, ended when it exceeds its time",
}
ESSENTIAL = ("seccomp", "no_new_privileges", "limits")
#: set to 1, every transformation is trusted by this process and those that it starts; `--trust-code` sets it
TRUST_VARIABLE = "SVCTOOLKIT_TRUST_CODE"
TRUST = (
    "Say so with --trust-code, with `limits: {trust: true}` in the workspace, or in Python with Limits(trust=True) or "
    "transformations.trust_code()"
)
_OPEN_FILES = 64  # what a worker sets for itself


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of the sandbox: `active` and `missing`, each with what it is for.

    `essential` is whether those hold that keep hostile code in: without them, code runs only where it is trusted.
    """

    active: Mapping[str, str]
    missing: Mapping[str, str]
    platform: str

    @property
    def essential(self) -> bool:
        return all(name in self.active for name in ESSENTIAL)

    def __str__(self) -> str:
        words = [f"User code runs in a sandbox of {len(self.active)} layers ({self.platform}):"]
        words += [f"  holds: {name.replace('_', ' ')}: {what}" for name, what in self.active.items()]
        words += [f"  missing: {name.replace('_', ' ')}: {what}" for name, what in self.missing.items()]
        if not self.essential:
            words.append("  Without the essential layers, run only code that you trust.")
        return "\n".join(words)

    def notice(self) -> str:
        """One sentence on what does not hold on this machine; empty where everything does."""
        if not self.missing:
            return ""
        names = ", ".join(name.replace("_", " ") for name in self.missing)
        text = f"user transformations run here in a sandbox without {names} ({self.platform})"
        return text if self.essential else f"{text}: run only code that you trust"


def layers_of(reported: Mapping[str, str]) -> Layers:
    """The layers that a worker says it has."""
    on = {name for name, how in reported.items() if how} | {"process"}
    return Layers(
        {name: _with_detail(name, reported.get(name, "")) for name in LAYERS if name in on},
        {name: what for name, what in LAYERS.items() if name not in on},
        f"{sys.platform}, {os.uname().release}" if hasattr(os, "uname") else sys.platform,
    )


class SandboxWarning(UserWarning):
    """Something of the sandbox does not hold on this machine."""


_notices: set[str] = set()  # that have been given


def check(reported: Mapping[str, str], *, trust: bool) -> None:
    """Before a worker gets code: says once what does not hold here, as a `SandboxWarning`.

    Raises `TransformationError` (kind `sandbox`) where something essential is missing and nobody trusts the code.
    """
    layers = layers_of(reported)
    if not layers.essential and not trust and not code_is_trusted():
        raise TransformationError(f"{layers.notice()}. {TRUST}", name="SandboxError", kind="sandbox")
    if notice := first_notice(layers):
        with contextlib.suppress(SandboxWarning):  # where warnings are errors, it is no error of the code
            # any thread may be the first to get here: no line of the user's is the one that it is about
            warnings.warn_explicit(notice, SandboxWarning, "svctoolkit", 1)


def first_notice(layers: Layers) -> str:
    """`layers.notice()`, for whoever asks first; empty afterwards, so that this process says it once."""
    notice = layers.notice()
    if notice in _notices:
        return ""
    _notices.add(notice)
    return notice


def trust_code() -> None:
    """From now on code runs also where an essential layer is missing, in this process and those that it starts."""
    os.environ[TRUST_VARIABLE] = "1"


def code_is_trusted() -> bool:
    """Whether somebody has said so for all of it (`trust_code`, `--trust-code`)."""
    return os.environ.get(TRUST_VARIABLE) == "1"


def _with_detail(name: str, how: str) -> str:
    return f"{LAYERS[name]} ({how})" if how and how != "set" else LAYERS[name]


def unconfirmed(process: int, reported: Mapping[str, str]) -> list[str]:
    """The layers that a worker says it has, and the kernel does not show. Linux; elsewhere there is nothing to see.

    Seccomp and privileges are looked at on every thread. Landlock and the parent-death signal are not to be seen from
    outside: the worker has tried the one and read back the other.
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
    """The hard limits of a process by their names in /proc."""
    with open(f"/proc/{process}/limits", encoding="ascii", errors="replace") as table:
        rows = [(line[:26].strip(), line[26:].split()) for line in table]
    return {name: values[1] for name, values in rows if len(values) > 1}


def _has_own_network(process: int) -> bool:
    """Each network namespace has its own list of devices; this one is a file that anybody may look at."""
    return os.stat(f"/proc/{process}/net/dev").st_ino != os.stat("/proc/self/net/dev").st_ino


_SIGNS = {
    "seccomp": lambda process: _threads_show(process, "Seccomp:\t2"),
    "no_new_privileges": lambda process: _threads_show(process, "NoNewPrivs:\t1"),
    "privileges": lambda process: _threads_show(process, f"CapPrm:\t{0:016x}", f"CapEff:\t{0:016x}"),
    "limits": _has_limits,
    "namespaces": _has_own_network,
}


def unconfirmed_of_child(process: int, reported: Mapping[str, str]) -> list[str]:
    """As `unconfirmed`, of a child that has locked itself further: no processes, bounded CPU."""
    lost = unconfirmed(process, reported)
    if sys.platform.startswith("linux") and reported.get("limits"):
        bounds = _limits(process)
        if bounds.get("Max processes") != "0" or not bounds.get("Max cpu time", "").isdigit():
            lost.append("limits")
    return lost
