"""`github`: GitHub Actions annotations: one for each cause, at the line of code or else of the expectation."""

from __future__ import annotations

from svctoolkit.runner.attempts.outcome import Finished, Notice, Outcome
from svctoolkit.runner.report.annotations import group_command
from svctoolkit.runner.report.groups import group_by_cause
from svctoolkit.runner.report.reporters._contract import Output


class GitHub:
    """Writes one workflow command for each cause at the end: GitHub shows about ten of a step."""

    def __init__(self, output: Output) -> None:
        self._stream = output.stream
        self._failed: list[Outcome] = []

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome) and notice.deviates:
            self._failed.append(notice)
        elif isinstance(notice, Finished):
            for group in group_by_cause(self._failed):
                self._stream.write(group_command(group))


reporter = GitHub
