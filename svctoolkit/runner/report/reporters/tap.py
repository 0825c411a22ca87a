"""`tap`: the Test Anything Protocol, version 14; failures have a YAML block."""

from __future__ import annotations

import json

from svctoolkit.runner.attempts.outcome import Covered, Notice, Outcome, Started
from svctoolkit.runner.report.reporters._contract import Output
from svctoolkit.runner.report.text import explanation


class Tap:
    """Writes one line per scenario, immediately."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._number = 0

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self._line(f"TAP version 14\n1..{len(notice.scenarios)}")
        elif isinstance(notice, Outcome):
            self._outcome(notice)
        elif not isinstance(notice, Covered) and notice.interrupted:
            self._line("Bail out! interrupted")

    def _outcome(self, outcome: Outcome) -> None:
        self._number += 1
        expected = outcome.status == "xfailed"
        masker = outcome.scenario.suite.masker
        reason = str(masker.mask(outcome.reason))
        directive = {"skipped": f" # SKIP {reason}", "xfailed": f" # TODO {reason}"}.get(outcome.status, "")
        title = str(masker.mask(f"{outcome.scenario.name}: {outcome.scenario.title}")).replace("#", "\\#")
        self._line(f"{'ok' if outcome.ok and not expected else 'not ok'} {self._number} - {title}{directive}")
        if outcome.deviates:
            self._line(f"  ---\n  message: {json.dumps(explanation(outcome), ensure_ascii=False)}")
            self._line(f"  at: {json.dumps(outcome.scenario.where)}\n  ...")

    def _line(self, text: str) -> None:
        self._output.stream.write(text + "\n")


reporter = Tap
