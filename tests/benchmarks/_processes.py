"""Resource use of commands: time, CPU time and memory, including all their child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_WATCH = Path(__file__).with_name("_watch.py")


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of wall time and CPU time, MiB of the largest process, and the command's output."""

    wall: float
    cpu: float
    peak: float
    output: str


def spent(command: Sequence[str], *, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> Spent:
    """Run a command to its end. Raises `RuntimeError` with the end of its output if it fails."""
    with tempfile.NamedTemporaryFile() as told:
        watched = [sys.executable, "-S", str(_WATCH), told.name, *command]
        done = subprocess.run(
            watched, cwd=folder, env=_environment(environment or {}), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-500:]}")
        wall, cpu, peak = json.loads(Path(told.name).read_text())
    return Spent(wall, cpu, peak, done.stdout)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process, with bytecode enabled: users do not compile every module at every start."""
    return {name: value for name, value in {**os.environ, **given}.items() if name != "PYTHONDONTWRITEBYTECODE"}


def best(
    command: Sequence[str], times: int, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Spent:
    """The run with the least CPU time."""
    runs = (spent(command, folder=folder, environment=environment) for _ in range(times))
    return min(runs, key=lambda one: one.cpu)


def peers(module: str) -> dict[str, str] | None:
    """The environment in which a peer's module can be imported; None if it is not installed.

    Peers may be in the environment of these tests, or in the folder that `SVCTOOLKIT_PEERS` names.
    """
    folder = os.environ.get("SVCTOOLKIT_PEERS", "")
    if folder and Path(folder, *module.split(".")).is_dir():
        return {"PYTHONPATH": os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))}
    try:
        return {} if find_spec(module) else None
    except ModuleNotFoundError:
        return None


def cpu_of(process: int) -> float:
    """CPU seconds of a running process, to the nanosecond; /proc counts hundredths."""
    return time.clock_gettime((~process << 3) | 2)  # the ID of its clock, as Linux computes it: clock_getcpuclockid(3)


def cpu_with_children(process: int) -> float:
    """The same, plus ended children in hundredths of seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return cpu_of(process) + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
