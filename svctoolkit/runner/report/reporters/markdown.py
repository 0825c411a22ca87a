"""`markdown`: a summary for a job or a pull request: counts, then failures grouped by cause."""

from __future__ import annotations

import re
from collections import Counter

from svctoolkit.runner.attempts.outcome import Finished, Notice, Outcome
from svctoolkit.runner.report.ending import Ending
from svctoolkit.runner.report.groups import Group, group_by_cause
from svctoolkit.runner.report.reporters._contract import Output
from svctoolkit.runner.report.text import explanation

_MOST = 30  # groups; GitHub shows at most 1 MB of a summary
_LONGEST = 3_000  # characters of one group
_NAMES = {
    "passed": "passed",
    "failed": "failed",
    "error": "broken",
    "skipped": "skipped",
    "xfailed": "expected to fail",
    "warned": "warned",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&])")


class Markdown:
    """Writes the summary at the end of the run."""

    def __init__(self, output: Output) -> None:
        self._stream = output.stream
        self._deviating: list[Outcome] = []
        self._counts: Counter[str] = Counter()
        self._ending = Ending()

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome):
            self._counts[notice.status] += 1
            self._ending.add(notice)
            if notice.deviates:
                self._deviating.append(notice)
        elif isinstance(notice, Finished):
            self._write(notice)

    def _write(self, finished: Finished) -> None:
        counts = ", ".join(f"{self._counts[status]} {name}" for status, name in _NAMES.items() if self._counts[status])
        sign = "❌" if finished.interrupted or not all(outcome.ok for outcome in self._deviating) else "✅"
        head = f"### {sign} Suites: {counts or 'nothing ran'}{', interrupted' if finished.interrupted else ''}"
        groups = group_by_cause(self._deviating)
        ending = "\n".join(f"- {_escape(line)}" for line in self._ending.lines(groups, finished))
        parts = [head, *([ending] if ending else []), *map(_text, groups[:_MOST])]
        if len(groups) > _MOST:
            parts.append(f"and {len(groups) - _MOST} more causes")
        self._stream.write("\n\n".join(parts) + "\n")


def _text(group: Group) -> str:
    """Return a cause with its scenarios; of a single scenario all of its differences."""
    if group.cause and len(group.outcomes) > 1:
        return f"**{_escape(group.title)}**\n{_block(chr(10).join(group.lines()))}"
    outcome = group.outcomes[0]
    mask = outcome.scenario.suite.masker.mask
    return f"**{_escape(str(mask(outcome.scenario.name)))}**\n{_block(str(mask(explanation(outcome))))}"


def _block(text: str) -> str:
    """Return a code block, which nothing in the text can end."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n..."
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=2) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


reporter = Markdown
