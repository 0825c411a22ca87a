"""Turn a workspace exported by RudderStack into a project: files to run, test and keep under version control.

report = import_workspace(Path("workspaceConfig.json"), Path("shop"))
print(report.text())

sources   read exports                      code     find the user's code
suites    starter suites from samples       files    write all files, or none
report    what runs locally, and what does not
"""

from __future__ import annotations

from svctoolkit.project.imports import import_workspace
from svctoolkit.project.report import Report

__all__ = ["Report", "import_workspace"]
