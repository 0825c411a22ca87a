"""The record of a run of suites: its exit code, and what later runs need of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Exit
from svctoolkit.inputs import Inputs

if TYPE_CHECKING:
    from svctoolkit.runner import CheckedLines, Finished, Notice, Scenario


class RunRecord:
    """What a run leaves behind: its exit `code`, the `times` of its scenarios, and what later runs compare with."""

    def __init__(self, scenarios: Sequence[Scenario], args: argparse.Namespace, shared: Inputs) -> None:
        self._scenarios, self._args, self._shared = scenarios, args, shared
        self.code = Exit.OK
        self.times: list[tuple[float, str]] = []
        self._ran: dict[str, bool] = {}  # by name, whether it has passed each time
        self._inputs: dict[str, list[Inputs]] = {}

    def complete(self, notice: Notice) -> Notice:
        """Return the notice with what reports show about earlier runs: changed inputs, and lines that are checked."""
        from msgspec import structs

        from svctoolkit import runner
        from svctoolkit.runner.suite import last_run as last

        if isinstance(notice, runner.Finished):
            failed = [name for name, ok in self._ran.items() if not ok]
            return structs.replace(notice, changed=last.Passed.load().changed_since(failed) if failed else ())
        if isinstance(notice, runner.Covered):
            passed = [s for s in self._scenarios if self._ran.get(s.name) and not (s.xfail or s.skip)]
            return structs.replace(notice, coverage=replace(notice.coverage, checked=_checked_lines(passed)))
        return notice

    def add(self, notice: Notice) -> None:
        """Count an outcome, and update the exit code to the worst so far."""
        from svctoolkit import runner
        from svctoolkit.runner.suite.dependencies import inputs_of

        if isinstance(notice, runner.Outcome):
            name = notice.scenario.name
            self._ran[name] = notice.ok and self._ran.get(name, True)
            self._inputs[name] = [*inputs_of(notice.scenario), notice.inputs, self._shared]
            self.times.append((notice.milliseconds, name))
        elif isinstance(notice, runner.Covered):
            self.code = max(self.code, _low(notice.coverage.percent, self._args.fail_under))
        elif isinstance(notice, runner.Finished):
            # A part of all scenarios may well be skipped.
            partial = self._args.changed or self._args.failed or self._args.shard
            self.code = _code(notice, self.code, skipped=not partial and all(s.skip for s in self._scenarios))

    def keep(self) -> None:
        """Store which scenarios failed, and the inputs of those that passed."""
        from svctoolkit.runner.suite import last_run as last

        last.keep(self._ran)
        last.Passed.load().keep({name: inputs for name, inputs in self._inputs.items() if self._ran[name]})


def _checked_lines(passed: Sequence[Scenario]) -> CheckedLines | None:
    """Return which lines of code scenarios check, if `svctoolkit mutate` has judged them here."""
    from svctoolkit.mutation.cache import FILE, Cache
    from svctoolkit.mutation.checked import checked_lines

    return checked_lines(passed, Cache()) if FILE.is_file() else None


def _code(finished: Finished, covered: Exit, *, skipped: bool) -> Exit:
    if finished.interrupted:
        return Exit.INTERRUPTED
    if finished.counts["error"]:
        return Exit.INTERNAL
    if finished.counts["failed"]:
        return Exit.FAILED
    if skipped:
        from svctoolkit.cli import _terminal

        _terminal.err("every scenario has `skip`, so nothing was tested (exit code 5)")
        return Exit.NOTHING
    return covered


def _low(percent: float, least: float | None) -> Exit:
    if least is None or percent >= least:
        return Exit.OK
    from svctoolkit.cli import _terminal

    _terminal.err(f"coverage is {percent:.1f} %, below --fail-under {least:g} %")
    return Exit.FAILED
