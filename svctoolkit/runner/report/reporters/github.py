"""`github`: GitHub Actions annotations on the line of the expectation."""

from __future__ import annotations

from svctoolkit.runner.attempts.outcome import Notice, Outcome
from svctoolkit.runner.report.reporters._contract import Output
from svctoolkit.runner.report.text import github_commands


class GitHub:
    """Writes one workflow command per failed scenario, immediately: the cause first."""

    def __init__(self, output: Output) -> None:
        self._stream = output.stream

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome) and notice.deviates:
            self._stream.write(github_commands(notice))


reporter = GitHub
