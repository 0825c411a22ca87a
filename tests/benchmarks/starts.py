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
PROGRAMS = {
    "import svctoolkit": "import svctoolkit",
    "import svctoolkit.destinations": "import svctoolkit.destinations",
    "import svctoolkit.sdk": "import svctoolkit.sdk",
    "first call of a JavaScript transformation": _CALL.format(
        code="export const transformEvent = (event) => event", language="javascript"
    ),
    "first call of a Python transformation": _CALL.format(
        code="def transformEvent(event, metadata):\n    return event\n", language="python"
    ),
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
