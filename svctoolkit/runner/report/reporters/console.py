"""`console`: one line per suite, a full explanation of each failure, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from svctoolkit.displayed import printable
from svctoolkit.runner.attempts.outcome import Covered, Finished, Notice, Outcome, Started
from svctoolkit.runner.report.ending import Ending
from svctoolkit.runner.report.reporters._contract import Output
from svctoolkit.runner.suite.model import Suite

if TYPE_CHECKING:
    from svctoolkit.runner.coverage.collector import Coverage

_COLOURS = {"passed": "32", "failed": "31", "error": "31", "skipped": "33", "xfailed": "33", "warned": "33"}
_NAMES = {
    "passed": "passed",
    "failed": "failed",
    "error": "broken",
    "skipped": "skipped",
    "xfailed": "expected to fail",
    "warned": "warned",
}


class Console:
    """Writes to a stream. Progress is only shown on a terminal."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._suite: Suite | None = None
        self._counts: Counter[str] = Counter()
        self._failed: list[Outcome] = []  # and those that only warn
        self._left_out: dict[tuple[str, str], list[str]] = {}
        self._total = self._done = 0
        self._ending = Ending()
        self._coverage: Coverage | None = None

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self._total = len(notice.scenarios)
        elif isinstance(notice, Outcome):
            self._outcome(notice)
        elif isinstance(notice, Covered):
            self._coverage = notice.coverage
        else:
            self._summarize(notice)

    def _outcome(self, outcome: Outcome) -> None:
        if outcome.scenario.suite is not self._suite:
            self._end_suite()
            self._suite = outcome.scenario.suite
        self._counts[outcome.status] += 1
        self._done += 1
        self._ending.add(outcome)
        if outcome.deviates:
            self._failed.append(outcome)
        elif outcome.reason:
            reason = printable(" ".join(str(outcome.scenario.suite.masker.mask(outcome.reason)).split()))
            self._left_out.setdefault((outcome.status, reason), []).append(outcome.scenario.name)
        if self._output.terminal:
            self._progress(f"{self._done}/{self._total} {outcome.scenario.name}")

    def _end_suite(self) -> None:
        if self._suite is not None:
            self._line(f"{self._suite.name}: {self._count_text(self._counts)}")
        self._counts.clear()

    def _summarize(self, notice: Finished) -> None:
        self._end_suite()
        for (status, reason), names in sorted(self._left_out.items(), reverse=True):
            self._line(f"{self._style(_NAMES[status], status)}: {reason} ({_few(names)})")
        ending = list(self._failures(notice))
        if self._coverage:
            self._line("\n" + "\n".join(_coverage_lines(self._coverage)))
        ran = sum(notice.counts.values())
        waiting = f", {notice.total - ran} not run" if ran < notice.total else ""
        stopped = "interrupted: " if notice.interrupted else ""
        gap = "\n" if self._failed or self._coverage else ""
        if ending:
            self._line("\n" + "\n".join(ending))
        self._line(f"{gap}{stopped}{self._count_text(notice.counts)}{waiting} in {notice.seconds:.2f} s")

    def _failures(self, finished: Finished) -> Iterator[str]:
        """Write the failures, and yield the lines that the report ends with."""
        if not self._failed:
            return
        from svctoolkit.runner.report.groups import group_by_cause  # not needed in most runs, which have no failures

        groups = group_by_cause(self._failed)
        for group in groups:
            first = group.outcomes[0]
            label = self._style(first.status.upper(), first.status)
            if group.cause and len(group.outcomes) > 1:
                self._line(f"\n{label} {group.title}")
                self._line("\n".join(f"  {line}" for line in group.lines()))
                continue
            self._line(f"\n{label} {first.scenario.name}")
            if first.scenario.title != first.scenario.id:
                self._line(f"  {first.scenario.suite.masker.mask(first.scenario.title)}")
            self._line("\n".join(f"  {line}" for line in _explanation_lines(first)))
        yield from self._ending.lines(groups, finished)

    def _count_text(self, counts: Counter[str]) -> str:
        texts = [self._style(f"{counts[s]} {_NAMES[s]}", s) for s in _NAMES if counts[s]]
        return ", ".join(texts) or "nothing was run"

    def _style(self, text: str, status: str) -> str:
        return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if self._output.colour else text

    def _progress(self, text: str) -> None:
        self._output.stream.write(f"\r\x1b[K{text[: self._output.width - 1]}")
        self._output.stream.flush()

    def _line(self, text: str) -> None:
        clear = "\r\x1b[K" if self._output.terminal else ""
        self._output.stream.write(f"{clear}{text}\n")


def _explanation_lines(outcome: Outcome) -> Sequence[str]:
    from svctoolkit.runner.report.text import explanation

    return explanation(outcome).splitlines()


def _coverage_lines(coverage: Coverage) -> Iterator[str]:
    from svctoolkit.runner.coverage.collector import coverage_lines

    return coverage_lines(coverage)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


reporter = Console
