"""False reds: the unchanged example projects pass in any order, in parallel, and in any time zone.

A hash seed belongs to a process: start several with another `PYTHONHASHSEED`. No command has an argument for the
clock, so the time of day and the date are those of the machine.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from svctoolkit.cli import main
from tests.wrong_greens import projects

#: Hours ahead and behind, half hours, and both sides of the date line.
ZONES = ("UTC", "Pacific/Auckland", "America/St_Johns", "Asia/Kathmandu", "Pacific/Pago_Pago", "Europe/Berlin")


class Run(NamedTuple):
    """One run of all projects: how it differed, and the output of the projects that failed."""

    conditions: str
    failures: Sequence[str]


def runs(folder: Path, count: int, seed: int) -> Iterator[Run]:
    """Write the example projects to a folder, and yield `count` runs of them."""
    folders = [projects.make(name, folder / name) for name in projects.NAMES]
    generator = random.Random(seed)
    for _ in range(count):
        zone, jobs = generator.choice(ZONES), generator.choice([1, 2, 4])
        order = generator.randrange(1_000_000)
        with _time_zone(zone):
            outputs = [_output(here, ["--shuffle", str(order), "--jobs", str(jobs)]) for here in folders]
        yield Run(f"--shuffle {order} --jobs {jobs}, TZ={zone}", [output for output in outputs if output])


def _output(folder: Path, options: Sequence[str]) -> str:
    """Return what `run` prints if it fails; otherwise an empty string."""
    output = StringIO()
    with chdir(folder), redirect_stdout(output), redirect_stderr(output):
        code = main(["run", *options])
    return output.getvalue() if code else ""


@contextmanager
def _time_zone(name: str) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
