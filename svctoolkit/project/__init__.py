"""A team's own workspace becomes a project: what the service exports, as files to run, test and keep.

report = import_workspace(Path("workspaceConfig.json"), Path("shop"))
print(report.text())

sources   what an export holds              code     where the user's code comes from
suites    first suites, of samples          files    all of it written, or nothing
report    what runs here, and what does not
"""

from __future__ import annotations

from svctoolkit.project.imports import import_workspace
from svctoolkit.project.report import Report

__all__ = ["Report", "import_workspace"]
