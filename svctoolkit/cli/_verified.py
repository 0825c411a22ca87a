"""Run the suites and replay the samples of the current project, as CI would: `python -m svctoolkit.cli._verified`.

It is a separate process because it must have neither the variables nor the time zone of the shell that started it.
Standard output has one JSON object: exit code and messages of each command, and the report of the run.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from svctoolkit.cli._main import main
from svctoolkit.errors import ToolkitError
from svctoolkit.workspace import Workspace

EVENTS, POLICIES = "suites/events", "policies.yaml"


# Any: reports of commands as JSON
def verified() -> dict[str, Any]:
    """Return what the commands of a workflow say about the project in the current folder."""
    if not Path("suites").is_dir():
        return {"check": _said("check")}
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as folder:
        report = Path(folder, "report.json")
        ran = _said("run", "--trust-code", "--report", f"json={report}")
        scenarios = json.loads(report.read_bytes())["scenarios"] if report.is_file() else []
    for scenario in scenarios:
        del scenario["steps"]  # events and results, which are not read here
    policies = ["--policies", POLICIES] if Path(POLICIES).is_file() else []
    if not Path(EVENTS).is_dir() or not _has_destinations():
        return {"run": ran, "scenarios": scenarios}
    return {"run": ran, "scenarios": scenarios, "replay": _said("replay", EVENTS, *policies, "--trust-code")}


def _has_destinations() -> bool:
    """Whether a replay has any destination; a workspace that cannot be loaded is reported by the run."""
    with warnings.catch_warnings(), suppress(ToolkitError):
        warnings.simplefilter("ignore")
        return any(item.enabled for item in Workspace.load("workspace.yaml").destinations.values())
    return False


def _said(*arguments: str) -> dict[str, Any]:
    """Run a command; return its exit code, and what it writes to standard error."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return {"code": code, "errors": err.getvalue()}


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    json.dump(verified(), sys.stdout)
