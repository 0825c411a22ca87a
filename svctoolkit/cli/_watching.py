"""Rerun suites whenever an input is saved: only files that changed are loaded, and only affected scenarios run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Exit
from svctoolkit.errors import ConfigError
from svctoolkit.inputs import Inputs, recording

if TYPE_CHECKING:
    from svctoolkit.runner import Scenario

_SECONDS = 0.1  # between looks at the files; 500 of them take 2 ms


class Round:
    """One run of several. The first one runs everything, and so do options that need all scenarios, such as reports."""

    def __init__(self, args: argparse.Namespace) -> None:
        from svctoolkit.runner import Loaded

        self.loaded = Loaded()
        #: absolute paths that changed since the last complete run
        self.changed: set[Path] = set()
        self._is_first, self._was_broken = True, False
        self._needs_all = bool(
            args.coverage or args.fail_under is not None or args.fail_fast or set(args.report) - {"console"}
        )

    @property
    def is_partial(self) -> bool:
        return not self._is_first and not self._needs_all

    def choose(self, scenarios: Sequence[Scenario], shared: Inputs) -> Sequence[Scenario]:
        """Return the scenarios that a changed file affects, and those that failed when they last ran."""
        if not self.is_partial or shared.touched(self.changed):
            return scenarios
        from svctoolkit.runner.suite.changed import select_affected
        from svctoolkit.runner.suite.last_run import failures

        failed = failures()
        affected = set(select_affected(scenarios, self.changed, self.loaded.content))
        chosen = [scenario for scenario in scenarios if scenario in affected or scenario.name in failed]
        # A file that is as it was before it was broken affects nothing, but its author wants to see that all is well.
        return scenarios if self._was_broken and not chosen else chosen

    def complete(self) -> None:
        """Note that everything that had to run has run."""
        self.loaded.complete()
        self.changed.clear()
        self._is_first = self._was_broken = False

    def fail(self) -> None:
        """Note that a broken file was reported instead of results."""
        self._was_broken = True


def watch(
    args: argparse.Namespace,
    targets: Sequence[str],
    run: Callable[[Inputs, Round], int],
    sleep: Callable[[float], None] = time.sleep,
) -> Exit:
    """Call `run` at once and after each change, until Ctrl-C, also during a run. Return the exit code.

    `run` returns its exit code, and adds what scenarios read to its first argument.
    Errors in files are printed; the next change is awaited.
    """
    from svctoolkit.cli import _terminal

    used, current = Inputs(), Round(args)
    for changed in changes(used, targets, sleep):
        current.changed |= changed
        try:
            with recording() as read:
                code = run(read, current)
        except ConfigError as error:  # a half-edited file: report it and wait for the next change
            # The broken file may be a workspace: keep watching what earlier runs have read from it.
            used.add(read)
            current.fail()
            _terminal.err(str(error))
            continue
        if code == Exit.INTERRUPTED:
            return Exit.INTERRUPTED
        if current.is_partial:
            used.add(read)  # the others are not read again
        else:
            used.files, used.listings = read.files, read.listings
        current.complete()
    return Exit.OK


def changes(used: Inputs, targets: Sequence[str], sleep: Callable[[float], None] = time.sleep) -> Iterator[set[Path]]:
    """Yield at once, then after each change of a file that was `used`, and of suites, what changed. Ctrl-C ends it."""
    from svctoolkit.cli import _terminal
    from svctoolkit.yamlfile import display_name

    changed: set[Path] = set()
    try:
        while True:
            suites = _suites(targets)
            yield {path.absolute() for path in changed}
            _terminal.err("waiting for changes; press Ctrl-C to stop")
            while not (changed := {*used.changed(), *(suites ^ _suites(targets))}):
                sleep(_SECONDS)
            _terminal.err(f"changed: {', '.join(sorted({display_name(path) for path in changed}))}")
            used.refresh()
    except KeyboardInterrupt:
        return


def _suites(targets: Sequence[str]) -> set[Path]:
    """Return the suites in the folders that are watched: a new one is a change, too."""
    from svctoolkit.runner import find

    return set(find([path for target in targets if (path := Path(target)).is_dir()], projects=True))
