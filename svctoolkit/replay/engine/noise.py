"""Run a batch again if its output changed, to separate changes from values that differ in every run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from svctoolkit.replay.tally.differences import Difference, Outcome, difference
from svctoolkit.replay.tally.stability import is_fixed, settle
from svctoolkit.results.changes import Change, general

Run: TypeAlias = Callable[[], Sequence[Outcome]]
_TICK = 0.003  # seconds, enough for the clocks of user code to advance


def without_noise(
    differences: Sequence[Difference],
    old: Sequence[Outcome],
    new: Sequence[Outcome],
    run_before: Run,
    run_after: Run,
    count: Callable[[str], None],
) -> list[Difference]:
    """Return the differences of a batch except those of clocks and random values; `count` gets the paths of these.

    A value that varies in the first pipeline and is constant in the second is a change. To detect that, the second
    pipeline runs again, too.
    """
    again = run_before()
    settled = [settle(*four) for four in zip(differences, old, again, new, strict=True)]
    varying = {place: changes for place, (_, changes) in enumerate(settled) if changes}
    fixed = _fixed(varying, old, again, new, run_after) if varying else set()
    stable = []
    for rest, changes in settled:
        own = tuple(change for change in changes if general(change.path) in fixed)
        for path in {general(change.path) for change in changes} - fixed:
            count(path)
        added = Difference("changed", (*rest.changes, *own), frozenset(change.path for change in own))
        stable.append(added if own and rest.kind in ("same", "changed") else rest)
    return stable


def _fixed(
    varying: dict[int, list[Change]],
    old: Sequence[Outcome],
    again: Sequence[Outcome],
    new: Sequence[Outcome],
    run_after: Run,
) -> set[str]:
    """Return the paths (`*` for an index) with constant values for each event in all runs of the second pipeline."""
    runs = [new]
    for _ in range(2):
        time.sleep(_TICK)
        runs.append(run_after())
    fixed: dict[str, bool] = {}
    for place, changes in varying.items():
        noise = difference(old[place], again[place]).changes
        for change in changes:
            path = general(change.path)
            fixed[path] = fixed.get(path, True) and is_fixed(change, noise, [run[place] for run in runs])
    return {path for path, is_so in fixed.items() if is_so}
