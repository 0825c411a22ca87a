"""Rich display of a conformance report."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.client.conformance._report import Conformance
from svctoolkit.display import Html
from svctoolkit.displayed import shows


@shows(Conformance)
def conformance(item: Conformance) -> Html:
    """Show the counts and the rows as a table."""
    rows = [(row.row, row.rule, row.verdict, row.difference) for row in item.rows]
    title = f"Test API of {item.base_url}"
    return display.page(
        display.section(
            title, display.facts(item.counts), display.table(("row", "rule", "verdict", "difference"), rows)
        )
    )
