"""Tracking plans: what events may look like, checked offline as RudderStack checks it.

>>> from svctoolkit.plans import of_service
>>> schema = {"properties": {"properties": {"properties": {"total": {"type": "number"}}, "required": ["total"]}}}
>>> plan = of_service({"id": "tp", "events": [{"name": "Order Done", "eventType": "track", "rules": schema}]})
>>> plan.check({"type": "track", "event": "Order Done", "properties": {"total": "3"}})
<passes: Datatype-Mismatch: must be number>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svctoolkit.plans.model import Plan, Verdict, change_event, mark_event
from svctoolkit.plans.project import Link, Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.settings import FORWARDING, Settings, setting_problems
from svctoolkit.plans.violation import VIOLATION_TYPES, Violation

if TYPE_CHECKING:
    from svctoolkit.plans.formats import FORMATS as FORMATS
    from svctoolkit.plans.formats import load as load
    from svctoolkit.plans.formats import of_service as of_service

__all__ = [
    "FORMATS",
    "FORWARDING",
    "VIOLATION_TYPES",
    "Link",
    "Plan",
    "Project",
    "Rule",
    "Settings",
    "Verdict",
    "Violation",
    "change_event",
    "load",
    "mark_event",
    "of_service",
    "setting_problems",
]

_READERS = ("FORMATS", "load", "of_service")


def __getattr__(name: str) -> Any:
    if name not in _READERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # lazily: reading plans imports YAML

    return getattr(import_module(f"{__name__}.formats"), name)
