"""Tracking plans: what events may look like, checked offline as RudderStack checks it.

>>> from svctoolkit.plans import of_service
>>> schema = {"properties": {"properties": {"properties": {"total": {"type": "number"}}, "required": ["total"]}}}
>>> plan = of_service({"id": "tp", "events": [{"name": "Order Done", "eventType": "track", "rules": schema}]})
>>> plan.check({"type": "track", "event": "Order Done", "properties": {"total": "3"}})
<passes: Datatype-Mismatch: must be number>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svctoolkit.plans.covering import PlanCoverage, cover
    from svctoolkit.plans.formats import FORMATS, load, of_service
    from svctoolkit.plans.model import Plan, Verdict, change_event, mark_event
    from svctoolkit.plans.project import Link, Project
    from svctoolkit.plans.rule import Rule
    from svctoolkit.plans.settings import FORWARDING, Settings, setting_problems
    from svctoolkit.plans.violation import VIOLATION_TYPES, Violation

#: Imported on first use: most workspaces have no tracking plan.
_HOME = {
    "FORMATS": "formats",
    "FORWARDING": "settings",
    "VIOLATION_TYPES": "violation",
    "Link": "project",
    "Plan": "model",
    "PlanCoverage": "covering",
    "Project": "project",
    "Rule": "rule",
    "Settings": "settings",
    "Verdict": "model",
    "Violation": "violation",
    "change_event": "model",
    "cover": "covering",
    "load": "formats",
    "mark_event": "model",
    "of_service": "formats",
    "setting_problems": "settings",
}

__all__ = [
    "FORMATS",
    "FORWARDING",
    "VIOLATION_TYPES",
    "Link",
    "Plan",
    "PlanCoverage",
    "Project",
    "Rule",
    "Settings",
    "Verdict",
    "Violation",
    "change_event",
    "cover",
    "load",
    "mark_event",
    "of_service",
    "setting_problems",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
