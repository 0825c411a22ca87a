"""One build's side of a comparison: `python -P _stepped.py NAME QUICK EVENTS`, with the build in PYTHONPATH.

Each line of the input asks for the next figure, which is printed as JSON, so that two builds can take turns.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def main(name: str, quick: str, events: str) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else a benchmark prints
    _check("svctoolkit")
    options = import_module("tests.benchmarks._figures").Options(quick == "1", int(events))
    figures = iter(import_module(f"tests.benchmarks.{name}").run(options))
    for _ in sys.stdin:
        figure = next(figures, None)
        if figure is None:
            break
        print(json.dumps([figure.name, figure.value, figure.unit]), file=answers, flush=True)


def _check(package: str) -> None:
    """Raise `RuntimeError` if an installed package would be measured instead of this build."""
    spec = find_spec(package)
    origin = spec.origin if spec is not None and spec.origin else ""
    build = Path(os.environ["PYTHONPATH"].partition(os.pathsep)[0])
    if build not in Path(origin).parents:
        raise RuntimeError(f"{package} is imported from {origin}, not from {build}")


if __name__ == "__main__":
    main(*sys.argv[1:])
