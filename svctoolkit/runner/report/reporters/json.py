"""`json`: one JSON document at the end of the run: `scenarios`, `summary`, and `coverage` if requested."""

from __future__ import annotations

import json
from typing import Any

from svctoolkit.runner.attempts.outcome import Covered, Finished, Notice, Outcome
from svctoolkit.runner.report.reporters import _data
from svctoolkit.runner.report.reporters._contract import Output


class Json:
    """Writes the document at the end of the run."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._scenarios: list[dict[str, Any]] = []
        self._coverage: dict[str, Any] = {}

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome):
            self._scenarios.append(_data.outcome(notice))
        elif isinstance(notice, Covered):
            self._coverage = {"coverage": _data.coverage(notice.coverage)}
        elif isinstance(notice, Finished):
            document = {"version": 1, "summary": _data.summary(notice), **self._coverage, "scenarios": self._scenarios}
            self._output.stream.write(json.dumps(document, ensure_ascii=False, indent=2, default=repr) + "\n")


reporter = Json
