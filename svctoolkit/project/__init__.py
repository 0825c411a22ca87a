"""Turn a workspace exported by RudderStack into a project: files to run, test and keep under version control.

report = import_workspace(Path("workspaceConfig.json"), Path("shop"))
print(report.text())

sources, rudderstack    read exports, from files or the API     code, tracking    find the user's code, and plans
environments            two exports as one workspace            names, accounts   readable keys, placeholder accounts
states, report          what runs locally, and what does not    files, lock       write all files, or none
suites, source_suites,  starter suites, and their snapshots     literals, probes  values that code and settings react to
suite_files
drift                   apply a newer export                    workflows         CI
"""

from __future__ import annotations

from svctoolkit.project.drift import Change, Sync, sync
from svctoolkit.project.imports import import_workspace
from svctoolkit.project.report import Report

__all__ = ["Change", "Report", "Sync", "import_workspace", "sync"]
