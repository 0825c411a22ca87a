"""`html`: one page, which works offline: the counts, and the changes with their outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.mutation.result import Result
from svctoolkit.mutation.text import outcome_text, summary
from svctoolkit.mutation.verdict import Verdict


def text(result: Result, mask: Callable[[str], str]) -> str:
    """Return the page."""
    return display.document("Mutation testing", mask(summary(result)), body(result, mask))


def body(result: Result, mask: Callable[[str], str]) -> Html:
    """Return the tables of changes: what no scenario notices first."""
    blocks = [
        display.section(title, _table(verdicts, mask))
        for title, verdicts in (("Not noticed", result.unnoticed), ("Accepted", result.accepted))
        if verdicts
    ]
    for verdicts, end in ((result.noticed, "noticed"), (result.ineffective, "without effect")):
        if verdicts:
            title = f"{display.quantity(len(verdicts), 'change')} {end}"
            blocks.append(display.more(title, _table(verdicts, mask)))
    return display.page(*blocks)


def _table(verdicts: Sequence[Verdict], mask: Callable[[str], str]) -> Html:
    rows = [(v.change.where, v.change.kind, mask(v.change.text), mask(outcome_text(v))) for v in verdicts]
    return display.table(["place", "kind", "change", "outcome"], rows)
