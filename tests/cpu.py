"""The CPU time of each test, and of the processes that it starts.

    TESTS_CPU=cpu.tsv pytest; python -m tests.cpu cpu.tsv

prints the twenty tests with the most CPU time, names those that take more than a test should, and fails if one takes
four times as much. With `--seconds` it also writes the sums of files for `tests.shares`. Each pytest process
appends a line for each test, so that workers need not send them. Fixtures that several tests share
have a line of their own. The CPU time of a process that lives on counts for the test that runs at the time.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import shares

#: The variable with the path of the file that gets the lines.
FILE = "TESTS_CPU"
#: CPU seconds of one test, with its processes. Wall time says nothing on a busy machine.
MOST = 15.0
#: times as much fails: a machine that is slow or busy takes up to that much more CPU time for the same
TOO_MUCH = 4
SHOWN = 20
#: CPU seconds of a file that is listed for the shares of workers.
LEAST = 1.0
#: What does not belong to a test: imports and collection; the end of a process; the process that distributes tests.
OTHERS = COLLECTION, END, CONTROLLER = "(collection)", "(end)", "(controller)"

_TICKS = os.sysconf("SC_CLK_TCK")


class Cpu(NamedTuple):
    """CPU seconds of this process, and of its children with their descendants."""

    own: float
    children: float

    @property
    def total(self) -> float:
        return self.own + self.children

    def __add__(self, other: Cpu) -> Cpu:  # type: ignore[override]
        return Cpu(self.own + other.own, self.children + other.children)

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.own - other.own, self.children - other.children)


def used() -> Cpu:
    """What this process has used up to now. Children that run are read where Linux lists them, else when they end."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    running = sum(_running("self"))
    return Cpu(own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime + running)


def _running(process: str) -> Iterator[float]:
    for child in _children(process):
        try:
            times = Path(f"/proc/{child}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        yield sum(map(int, times[11:15])) / _TICKS  # utime, stime, and those of the children that it waited for
        yield from _running(child)


def _children(process: str) -> Iterator[str]:
    """The children of all threads: the thread that started a child is its parent."""
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:
        return
    for thread in threads:
        try:
            yield from Path(f"/proc/{process}/task/{thread}/children").read_text(encoding="ascii").split()
        except OSError:
            continue


class Plugin:
    """Appends a line to a file for each test of this process, and for each fixture that several tests share."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1, encoding="utf-8")
        self._before = self._of_test = Cpu(0, 0)

    def pytest_collection_finish(self) -> None:
        self._write(COLLECTION, self._since())

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        self._of_test += self._since()
        try:
            return (yield)
        finally:
            self._write(f"{request.node.nodeid or 'session'}::fixture {fixturedef.argname}", self._since())

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(nodeid, self._of_test + self._since())
        self._of_test = Cpu(0, 0)

    def pytest_unconfigure(self) -> None:
        self._write(END, self._since())
        self._file.close()

    def _since(self) -> Cpu:
        """What this process has used since the last call."""
        now = used()
        taken, self._before = now - self._before, now
        return taken

    def _write(self, name: str, cpu: Cpu) -> None:
        self._file.write(f"{cpu.own:.4f}\t{cpu.children:.4f}\t{name}\n")


class ControllerPlugin:
    """Appends a line for the process that distributes the tests. Its children, the workers, append theirs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_unconfigure(self) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{used().own:.4f}\t0\t{CONTROLLER}\n")


def register(config: pytest.Config) -> None:
    """Measure the tests of this process."""
    path = Path(os.environ[FILE])
    if getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ControllerPlugin(path))
    else:
        del os.environ[FILE]  # a pytest that a test starts is a child, and has no lines
        config.pluginmanager.register(Plugin(path))


def measured(paths: Iterable[Path]) -> dict[str, Cpu]:
    """The CPU time of each name in files that the plugins wrote; that of a test that ran twice is the longer one."""
    figures: dict[str, Cpu] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            own, children, name = line.split("\t", 2)
            cpu, other = Cpu(float(own), float(children)), figures.get(name, Cpu(0, 0))
            figures[name] = other + cpu if name in OTHERS else max(cpu, other, key=lambda each: each.total)
    return figures


def report(figures: dict[str, Cpu]) -> Iterator[str]:
    """The sums, and the twenty tests with the most CPU time."""
    whole = sum(figures.values(), Cpu(0, 0))
    yield f"CPU: {whole.total:.0f} s, {whole.children / max(whole.total, 0.01):.0%} in other processes"
    yield "own s  children s"
    for name in OTHERS:
        if cpu := figures.get(name):
            yield f"{cpu.own:5.1f} {cpu.children:11.1f}  {name}"
    tests = sorted(
        ((cpu, name) for name, cpu in figures.items() if name not in OTHERS), key=lambda each: -each[0].total
    )
    for cpu, name in tests[:SHOWN]:
        yield f"{cpu.own:5.1f} {cpu.children:11.1f}  {name}"


def by_file(figures: dict[str, Cpu]) -> dict[str, float]:
    """The CPU seconds of each file, for `tests.shares`; those with little are left out."""
    seconds: dict[str, float] = {}
    for name, cpu in figures.items():
        file = name.partition("::")[0]
        seconds[file] = seconds.get(file, 0) + cpu.total
    return {file: round(number, 1) for file, number in sorted(seconds.items()) if number > LEAST and file not in OTHERS}


def is_test(name: str) -> bool:
    return name not in OTHERS and "::fixture " not in name


def main(arguments: list[str]) -> int:
    paths = [argument for argument in arguments if argument != "--seconds"]
    figures = measured(map(Path, paths))
    if len(paths) < len(arguments):
        shares.SECONDS.write_text(json.dumps(by_file(figures), indent=0) + "\n", encoding="utf-8")
    print(*report(figures), sep="\n")
    heavy = [name for name, cpu in figures.items() if is_test(name) and cpu.total > MOST]
    for name in heavy:
        print(f"{name}: more than {MOST:.0f} s of CPU; split it, or test a smaller input", file=sys.stderr)
    return 1 if any(figures[name].total > TOO_MUCH * MOST for name in heavy) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
