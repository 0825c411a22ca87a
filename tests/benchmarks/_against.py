"""Compares this build with another one: both run the same benchmark and take turns after each figure.

Other programs disturb both alike, so the ratios are right on a busy machine, too.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import median
from types import TracebackType

from tests.benchmarks._builds import Build, Revision
from tests.benchmarks._figures import Options
from tests.benchmarks._report import number

_STEPPED = Path(__file__).with_name("_stepped.py")


@dataclass(frozen=True, slots=True)
class Value:
    """What one build measured for one figure."""

    name: str
    value: float | None
    unit: str


#: by the name of a figure: one for each round
Measured = dict[str, list[Value]]


class Failed(Exception):
    """A benchmark does not work with `build`."""

    def __init__(self, build: Build, reason: str) -> None:
        super().__init__(reason)
        self.build = build


class Steps:
    """A benchmark in another process, which waits after each figure. Iterating raises `Failed` with its last words."""

    def __init__(self, build: Build, benchmark: str, options: Options) -> None:
        self._build = build
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        size = ("1" if options.quick else "0", str(options.events))
        self._process = subprocess.Popen(
            [build.python, "-P", str(_STEPPED), benchmark, *size],
            cwd=build.folder,
            env=build.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self._process.kill()
        self._process.communicate()
        self._errors.close()

    def __iter__(self) -> Iterator[Value]:
        while line := self._next():
            yield Value(*json.loads(line))
        if self._process.wait():
            self._errors.seek(0)
            raise Failed(self._build, self._errors.read().strip().rpartition("\n")[2])

    def _next(self) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._process.stdout.readline()


def ratios(benchmark: str, mine: Build, other: Revision, options: Options, rounds: int) -> Iterator[str]:
    """The lines of a table: each figure of this build, and its ratio to the other's.

    Both are measured by the benchmark of this tree. If it does not work with the other build, for instance because a
    package has moved since, the other is measured by its own. Raises `Failed` if this build cannot be measured.
    """
    measured, reasons = _measure(benchmark, mine, (other.shared, other.own), options, rounds)
    yield from (f"this tree's benchmark does not work there: {reason}" for reason in reasons[:1])
    yield from (f"neither does its own: {reason}" for reason in reasons[1:])
    for name, values in measured[0].items():
        yield _line(name, values, measured[1].get(name, []))


def _measure(
    benchmark: str, mine: Build, others: Sequence[Build], options: Options, rounds: int
) -> tuple[tuple[Measured, Measured], list[str]]:
    """What this build and the first of the others that works have measured, and why those before it do not work."""
    reasons = []
    for other in others:
        try:
            return _alternate(benchmark, (mine, other), options, rounds), reasons
        except Failed as error:
            if error.build is mine:
                raise
            reasons.append(str(error))
    return (_alone(benchmark, mine, options), {}), reasons


def _alone(benchmark: str, build: Build, options: Options) -> Measured:
    with Steps(build, benchmark, options) as steps:
        return {value.name: [value] for value in steps}


def _alternate(benchmark: str, builds: tuple[Build, Build], options: Options, rounds: int) -> tuple[Measured, Measured]:
    measured: tuple[Measured, Measured] = {}, {}
    for n in range(rounds):
        order = (0, 1) if n % 2 == 0 else (1, 0)  # the first one to be measured may find colder caches
        with (
            Steps(builds[order[0]], benchmark, options) as first,
            Steps(builds[order[1]], benchmark, options) as second,
        ):
            for values in zip_longest(first, second):
                for side, value in zip(order, values, strict=True):
                    if value is not None and len(measured[side].setdefault(value.name, [])) == n:
                        measured[side][value.name].append(value)
    return measured


def _line(name: str, ours: list[Value], theirs: list[Value]) -> str:
    pairs = [(a.value, b.value) for a, b in zip(ours, theirs, strict=False) if a.value is not None and b.value]
    values = [one.value for one in ours if one.value is not None]
    text = f"{name:<52} {number(median(values)) if values else '-':>10} {ours[0].unit:<9}"
    if not pairs:
        return f"{text} {'':>7}    not measured there"
    found = [a / b for a, b in pairs]
    text += f" {_ratio(median(found)):>7} of {number(median(b for _, b in pairs))}"
    return text + (f" ({_ratio(min(found))} to {_ratio(max(found))})" if len(found) > 1 else "")


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
