"""Which locks hold on this machine, in words, and the check of a worker from outside."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of the sandbox: `active` and `missing`, each with what it is for.

    `essential` is whether those hold that keep hostile code in: without them, serve on loopback only.
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


def layers_of(reported: Mapping[str, str]) -> Layers:
    """The layers that a worker says it has."""
    on = {name for name, how in reported.items() if how} | {"process"}
    return Layers(
        {name: _with_detail(name, reported.get(name, "")) for name in LAYERS if name in on},
        {name: what for name, what in LAYERS.items() if name not in on},
        f"{sys.platform}, {os.uname().release}" if hasattr(os, "uname") else sys.platform,
    )


def _with_detail(name: str, how: str) -> str:
    return f"{LAYERS[name]} ({how})" if how and how != "set" else LAYERS[name]


@functools.cache
def layers() -> Layers:
    """Which layers of the sandbox hold on this machine. Starts one small process, once (about 50 ms)."""
    from svctoolkit.transformations._worker import Worker

    worker = Worker("probe")
    try:
        return layers_of(worker.layers)
    finally:
        worker.end()


def threads_without_locks(process: int) -> list[int]:
    """The threads of a worker that the kernel does not show as locked. Linux; elsewhere there is nothing to see."""
    unlocked = []
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{thread}/status", encoding="ascii", errors="replace") as status:
                text = status.read()
        except (FileNotFoundError, ProcessLookupError):
            continue  # that thread has ended
        if "\nSeccomp:\t2\n" not in text or "\nNoNewPrivs:\t1\n" not in text:
            unlocked.append(int(thread))
    return unlocked
