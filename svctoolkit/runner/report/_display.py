"""How suites and what came of them show themselves. Secrets are masked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.runner.report import view

if TYPE_CHECKING:
    from svctoolkit.runner.attempts.outcome import Finished, Outcome
    from svctoolkit.runner.coverage.collector import Coverage
    from svctoolkit.runner.suite.model import Scenario, Suite


def suite(found: Suite) -> Html:
    """Its scenarios."""
    rows = [[one.id, found.masker.masked(one.title), ", ".join(one.tags), one.line] for one in found.scenarios]
    caption = f"{found.masker.masked(found.title)}, {found.name}"
    return display.page(display.table(["id", "scenario", "tags", "line"], rows, caption=caption))


def scenario(found: Scenario) -> Html:
    """What is given and what is expected, step by step."""
    masker = found.suite.masker
    parts = []
    for number, step in enumerate(found.steps, 1):
        expected = display.tree(masker.masked(step.expect), f"step {number}: expected", open_depth=3)
        parts.append(display.columns(display.facts({"does": step.kind}), expected))
    return display.page(display.section(masker.masked(found.title), *parts))


def outcome(found: Outcome) -> Html:
    """Whether it is well, why it is not, and what was seen."""
    return display.page(view.outcome(found))


def finished(found: Finished) -> Html:
    """The counts."""
    done = "interrupted" if found.interrupted else "finished"
    rows = [(view.status(status), count) for status, count in found.counts.items()]
    caption = f"{found.total} scenarios, {done} in {found.seconds:.2f} s"
    return display.page(display.table(["status", "scenarios"], rows, caption=caption))


def coverage(found: Coverage) -> Html:
    """What the scenarios touch and miss."""
    return display.page(view.coverage(found))
