"""The report as text."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.mutation.result import Result
from svctoolkit.mutation.verdict import FIRST_LINES, Verdict


def summary(result: Result) -> str:
    """Return the result in one line."""
    noticed, missed = len(result.noticed), len(result.unnoticed)
    counted = noticed + missed
    what = "1 change" if counted == 1 else f"{counted} changes"
    share = f" ({result.percent:.0f} %)" if counted else ""
    line = f"{what}, {noticed} noticed{share}, {missed} not, {_time(result.seconds)}"
    return f"{line}; interrupted after {len(result.verdicts)} of {result.total}" if result.interrupted else line


def lines(result: Result, *, all_noticed: bool = False) -> Iterator[str]:
    """Yield the lines of the report: the summary, and each change that no scenario notices, with the reason.

    With `all_noticed`, also which scenario notices each of the others.
    """
    yield summary(result)
    if result.noticed:
        share = f"{len(result.named)} of {len(result.noticed)}"
        yield f"{share} failures name the changed place in their first {FIRST_LINES} lines"
    code = result.code_lines()
    if any(code.values()):
        yield f"lines of code: {', '.join(f'{len(lines)} {name}' for name, lines in code.items() if lines)}"
        for name in ("unchecked", "uncovered"):
            if code[name]:
                yield f"  {name}: {', '.join(code[name])}"
    if result.unnoticed:
        yield ""
        yield "not noticed:"
        yield from _table(result.unnoticed)
    if result.accepted:
        yield ""
        yield "accepted:"
        yield from _table(result.accepted)
    of_code = [verdict for verdict in result.ineffective if verdict.change.reached is not None]
    if of_code:
        yield ""
        yield "without effect on any event that was tried, so they do not count:"
        yield from _table(of_code)
    of_settings = [verdict for verdict in result.ineffective if verdict.change.reached is None]
    if of_settings:
        count = len(of_settings)
        what = "1 change of a setting has" if count == 1 else f"{count} changes of settings have"
        yield ""
        end = ":" if all_noticed else " (--all)"
        yield f"{what} no effect on any event of the suites, nor on any made-up event{end}"
        if all_noticed:
            yield from (f"  {verdict.change}" for verdict in of_settings)
    if all_noticed and result.noticed:
        yield ""
        yield "noticed:"
        yield from _table(result.noticed)


def _table(verdicts: list[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        yield f"  {verdict.change}"
        yield f"      {outcome_text(verdict)}"


def outcome_text(verdict: Verdict) -> str:
    """Return which scenario notices a change, or why none does."""
    if verdict.status == "noticed":
        return verdict.scenario + ("" if verdict.names_place else " (its failure does not name the place)")
    return verdict.reason


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
