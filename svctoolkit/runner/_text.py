"""Why a scenario failed, for people: every difference with its place, few lines."""

from __future__ import annotations

from svctoolkit.runner._checks import STAGES
from svctoolkit.runner._verify import trouble
from svctoolkit.runner.compare import printable
from svctoolkit.runner.run import Outcome
from svctoolkit.secrets import Masker

MOST = 20


def explanation(outcome: Outcome) -> str:
    """The lines that say why `outcome` is not ok; the first is enough to find the place. Secrets are masked."""
    scenario = outcome.scenario
    if not outcome.differences:
        what = f"it passes, but is marked xfail: {outcome.reason}" if outcome.status == "failed" else outcome.reason
        return printable(f"{scenario.where}: {what}")
    document = scenario.suite.document
    lines = []
    shown_line = ""
    for difference in outcome.differences[:MOST]:
        place = (*scenario.place[:2], "expect", *difference.expectation)
        lines.append(f"{document.where(place)}: {difference}")
        excerpt = document.excerpt(place)
        if excerpt != shown_line:
            lines.append(excerpt)
        shown_line = excerpt
    if len(outcome.differences) > MOST:
        lines.append(f"... and {len(outcome.differences) - MOST} more differences")
    return printable(Masker(scenario.suite.workspace.secrets()).masked("\n".join(lines + _hints(outcome))))


def _hints(outcome: Outcome) -> list[str]:
    first = {d.path[0] for d in outcome.differences if d.path}
    stage = next((stage for stage in STAGES if stage in first), None)
    hints = [f"the first stage that differs is {stage}"] if stage and len(first) > 1 else []
    said = trouble(outcome.answer) if outcome.answer else ""
    return hints + ([said] if said and said.partition(": ")[2] not in str(outcome.differences) else [])
