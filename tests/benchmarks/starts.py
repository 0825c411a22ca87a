"""Cold starts: CPU time and memory of new processes, compared with an interpreter that does nothing."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import best
from tests.benchmarks.suites import SCENARIO, WORKSPACE

_CALL = """
from svctoolkit import transformations
print(transformations.load({code!r}, {language!r}).run([{{"type": "track"}}], [{{}}]))
"""
_CODES = {
    "JavaScript": "export const transformEvent = (event) => event",
    "Python": "def transformEvent(event, metadata):\n    return event\n",
}
#: transformations of different workspaces, so that each has its own sandbox
_CALLS = """
from svctoolkit import transformations
for number in range({count}):
    transformations.load({code!r}, {language!r}, scope=str(number)).run([{{"type": "track"}}], [{{}}])
"""
_MORE = 8
PROGRAMS = {
    "import svctoolkit": "import svctoolkit",
    "import svctoolkit.destinations": "import svctoolkit.destinations",
    "import svctoolkit.sdk": "import svctoolkit.sdk",
    **{
        f"first call of a {language} transformation": _CALL.format(code=code, language=language.lower())
        for language, code in _CODES.items()
    },
}
_MODULE = [sys.executable, "-m", "svctoolkit"]


def run(options: Options) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder, times = Path(name), options.many(7, 1)
        (folder / "one.suite.yaml").write_text(f"{WORKSPACE}scenarios:\n{SCENARIO.format(n=1)}")
        bare = best([sys.executable, "-c", "pass"], times, folder)
        commands = {
            "svctoolkit --version": [*_MODULE, "--version"],
            "svctoolkit run, first result": [*_MODULE, "run", "one.suite.yaml"],
            **{what: [sys.executable, "-c", program] for what, program in PROGRAMS.items()},
        }
        for what, command in commands.items():
            took = best(command, times, folder)
            yield Figure(what, took.cpu * 1000, "ms CPU", "python -c pass", bare.cpu * 1000)
            yield Figure(f"{what}, largest process", took.peak, "MiB", "python -c pass", bare.peak)
        for language in _CODES:
            again = next_workspace(language, times, folder)
            yield Figure(
                f"first call of another workspace's {language}", again, "ms CPU", "python -c pass", bare.cpu * 1000
            )


def next_workspace(language: str, times: int, folder: Path) -> float:
    """Milliseconds of CPU time, sandboxes included, for one more workspace with code in a process that has one."""

    def spent(count: int) -> float:
        program = _CALLS.format(code=_CODES[language], language=language.lower(), count=count)
        return best([sys.executable, "-c", program], times, folder).cpu * 1000

    return (spent(1 + _MORE) - spent(1)) / _MORE
