"""Changes a project in memory, one mistake at a time: does a scenario fail?

project = Project.load(["suites"])
baseline = Baseline()
for outcome, lines in measure(project.scenarios):
    baseline.add(outcome, lines)
require_green(baseline)
for verdict in judge_all(project, baseline, project.changes):
    ...
"""

from __future__ import annotations

from svctoolkit.mutation.baseline import Baseline, measure
from svctoolkit.mutation.cache import Cache
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.project import Project
from svctoolkit.mutation.result import Result
from svctoolkit.mutation.run import judge_all, require_green
from svctoolkit.mutation.verdict import Verdict

__all__ = ["Baseline", "Cache", "Change", "Project", "Result", "Verdict", "judge_all", "measure", "require_green"]
