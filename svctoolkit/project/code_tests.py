"""The tests that a Rudder CLI project has for its transformations, as suites of the imported project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svctoolkit import runner
from svctoolkit.json_types import Json
from svctoolkit.workspace import Workspace
from svctoolkit.workspace.rudder_v1 import tested_in


def code_tests(workspace: Workspace, folder: Path) -> dict[str, list[dict[str, Json]]]:
    """Return the scenarios of each transformation with tests, by its key in the workspace.

    Raises `ConfigError` for tests that cannot be read.
    """
    keys = {item.id: key for key, item in workspace.transformations.items()}
    found: dict[str, list[dict[str, Json]]] = {}
    for file in _files(folder):
        _, scenarios = runner.collect([str(file)])
        for scenario in scenarios:
            step = scenario.steps[0]
            key = keys.get(str(step.spec.transformation))
            if key is not None:
                found.setdefault(key, []).append(_written(key, scenario.title, step.spec.event, step.expect))
    return found


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(here, n) for n in sorted(names) if n.endswith((".yaml", ".yml")) and tested_in(Path(here, n)))


# Any: an event or several
def _written(key: str, title: str, event: Any, expect: Mapping[str, Json]) -> dict[str, Json]:
    return {"name": title, "transformation": key, "event": event, "expect": dict(expect)}
