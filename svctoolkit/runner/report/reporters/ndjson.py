"""`ndjson`: JSON lines during the run, each with a `kind`: started, outcome, coverage, finished."""

from __future__ import annotations

import json
from typing import Any

from svctoolkit.runner.attempts.outcome import Covered, Notice, Outcome, Started
from svctoolkit.runner.report.reporters import _data
from svctoolkit.runner.report.reporters._contract import Output


class Ndjson:
    """Writes one line per notice, immediately."""

    def __init__(self, output: Output) -> None:
        self._stream = output.stream

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self._line("started", {"total": len(notice.scenarios)})
        elif isinstance(notice, Outcome):
            self._line("outcome", _data.outcome(notice))
        elif isinstance(notice, Covered):
            self._line("coverage", _data.coverage(notice.coverage))
        else:
            self._line("finished", _data.summary(notice))

    def _line(self, kind: str, values: dict[str, Any]) -> None:
        text = json.dumps({"kind": kind, **values}, ensure_ascii=False, separators=(",", ":"), default=repr)
        self._stream.write(text + "\n")
        self._stream.flush()


reporter = Ndjson
