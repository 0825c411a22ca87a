"""An outcome as plain JSON values with secrets masked, for the machine-readable reports and the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import UNSET, structs

from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.outcome import Finished, Outcome, StepOutcome
from svctoolkit.runner.coverage.collector import Coverage
from svctoolkit.runner.report.text import explanation, first_wrong_stage, origin_text
from svctoolkit.runner.suite.model import Step

_INPUT = (
    "destination",
    "source",
    "transformation",
    "event",
    "send",
    "calls",
    "delete",
    "request",
    "python",
    "arguments",
    "stages",
    "destinationConfig",
)


def outcome(notice: Outcome) -> dict[str, Json]:
    """Return one outcome. `differences` have `step` (from 1), `where` (file:line:col), `path`, `expected`, `got`.

    Their `origin` is where the value came from, if that is known: the members of `ValueOrigin`, and `text`.
    For a step that differs, `causes` explain its events: `destination`, `fate`, `stage`, `reason`, `text`, `rule`, and
    `help`, the command that explains the rule (empty without one).
    """
    scenario, document = notice.scenario, notice.scenario.suite.document
    values = {
        "name": scenario.name,
        "id": scenario.id,
        "title": scenario.title,
        "suite": scenario.suite.title,
        "file": scenario.suite.name,
        "line": scenario.line,
        "tags": list(scenario.tags),
        "status": notice.status,
        "reason": notice.reason,
        "milliseconds": round(notice.milliseconds, 3),
        "diverged": next((stage for step in notice.steps if (stage := first_wrong_stage(step))), ""),
        "differences": [
            {
                "step": number,
                "where": document.where(step.place(d)),
                "path": ".".join(map(str, d.path)),
                "expected": d.expected,
                "got": d.got,
                "origin": _origin(step, d) if notice.deviates else None,
            }
            for number, step in enumerate(notice.steps, 1)
            for d in step.differences
        ],
        "causes": [
            {"step": number, "text": str(cause), **structs.asdict(cause), "help": cause.help}
            for number, step in enumerate(notice.steps, 1)
            for cause in step.causes
        ],
        "explanation": explanation(notice) if notice.deviates else "",
        "steps": [
            {"given": input_values(step.step), "results": step.results, "milliseconds": round(step.milliseconds, 3)}
            for step in notice.steps
        ],
    }
    masked: dict[str, Any] = scenario.suite.masker.mask(values)
    return masked


def _origin(step: StepOutcome, difference: Difference) -> dict[str, Json] | None:
    origin = step.origin(difference)
    return None if origin is None else {**asdict(origin), "text": origin_text(step, difference)}


def input_values(step: Step) -> dict[str, Json]:
    """Return the input of a step."""
    values = {name: getattr(step.spec, name) for name in _INPUT}
    plain: dict[str, Any] = msgspec.to_builtins({k: v for k, v in values.items() if v is not UNSET})
    return plain


def summary(notice: Finished) -> dict[str, Json]:
    """Return the summary of a run."""
    return {
        "counts": dict(notice.counts),
        "total": notice.total,
        "seconds": round(notice.seconds, 3),
        "interrupted": notice.interrupted,
        "changed": list(notice.changed),
    }


def coverage(notice: Coverage) -> dict[str, Json]:
    """Return coverage: the percentage, and what is covered and missing by group.

    `checked_lines` are those of user code that scenarios check, and that they only run; None if that is not known.
    """
    lines = notice.checked
    return {
        "percent": round(notice.percent, 2),
        "groups": [
            {"name": g.name, "covered": len(g.covered), "total": g.total, "missing": sorted(g.missing)}
            for g in notice.groups
        ],
        "lost": list(notice.lost),
        "checked_lines": {"checked": list(lines.checked), "unchecked": list(lines.unchecked)} if lines else None,
    }
