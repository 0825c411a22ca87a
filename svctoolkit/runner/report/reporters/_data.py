"""An outcome as plain JSON values, secrets masked: what the reports for programs and the page are made of."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from svctoolkit.runner.attempts.outcome import Finished, Outcome
from svctoolkit.runner.coverage.collector import Coverage
from svctoolkit.runner.report.text import diverged, explanation
from svctoolkit.runner.suite.model import Step

_INPUT = ("destination", "source", "transformation", "event", "send", "calls", "request", "stages", "destinationConfig")


def outcome(told: Outcome) -> dict[str, Any]:
    """One outcome. `differences` have `step` (from 1), `where` (file:line:col), `path`, `expected`, `got`."""
    scenario, document = told.scenario, told.scenario.suite.document
    made = {
        "name": scenario.name,
        "id": scenario.id,
        "title": scenario.title,
        "suite": scenario.suite.title,
        "file": scenario.suite.name,
        "line": scenario.line,
        "tags": list(scenario.tags),
        "status": told.status,
        "reason": told.reason,
        "milliseconds": round(told.milliseconds, 3),
        "diverged": next((stage for step in told.steps if (stage := diverged(step))), ""),
        "differences": [
            {
                "step": number,
                "where": document.where(step.place(d)),
                "path": ".".join(map(str, d.path)),
                "expected": d.expected,
                "got": d.got,
            }
            for number, step in enumerate(told.steps, 1)
            for d in step.differences
        ],
        "explanation": "" if told.ok else explanation(told),
        "steps": [
            {"given": given(step.step), "seen": step.seen, "milliseconds": round(step.milliseconds, 3)}
            for step in told.steps
        ],
    }
    masked: dict[str, Any] = scenario.suite.masker.masked(made)
    return masked


def given(step: Step) -> dict[str, Any]:
    """What goes in."""
    values = {name: getattr(step.given, name) for name in _INPUT}
    made: dict[str, Any] = msgspec.to_builtins({k: v for k, v in values.items() if v is not UNSET})
    return made


def finished(told: Finished) -> dict[str, Any]:
    """The summary of a run."""
    return {
        "counts": dict(told.counts),
        "total": told.total,
        "seconds": round(told.seconds, 3),
        "interrupted": told.interrupted,
    }


def coverage(told: Coverage) -> dict[str, Any]:
    """Coverage: percent, and by group what is covered and what is missing."""
    return {
        "percent": round(told.percent, 2),
        "groups": [
            {"name": g.name, "covered": len(g.covered), "total": g.total, "missing": sorted(g.missing)}
            for g in told.groups
        ],
    }
