"""What a destination explorer shows of a result."""

from __future__ import annotations

from typing import Any

from svctoolkit import display
from svctoolkit.delivery import curl
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.results import DestinationResult, blocks

_CELL = 80  # characters


def strips(result: DestinationResult) -> Html:
    """The stages of each event that came out of the user transformation."""
    if result.error is not None:
        return display.page(display.message(result.masker.mask(result.error), "warning"))
    return display.page(*(blocks.strip(result, entry) for entry in result.data))


def values_by_name(result: DestinationResult) -> dict[str, Json]:
    """Everything that went in and came out, by name; of several events each has a number."""
    all_values: dict[str, Any] = {}
    for number, entry in enumerate(result.data, 1):
        before = f"{number}: " if len(result.data) > 1 else ""
        all_values |= {before + name: value for name, value in blocks.values(result, entry).items()}
    return all_values


def payloads(result: DestinationResult) -> Html:
    """A tree of each."""
    trees = [display.tree(value, name, open_depth=2) for name, value in values_by_name(result).items()]
    return display.page(display.columns(*trees)) if trees else _nothing("no stage has run")


def diff(values: dict[str, Json], left: str, right: str) -> Html:
    """Two of them side by side."""
    if left not in values or right not in values:
        return _nothing("Run, then choose two stages")
    return display.page(display.diff(values[left], values[right], left=left, right=right))


def http(result: DestinationResult) -> Html:
    """Each request with its answer, and as a command for a shell."""
    sections: list[display.Html] = []
    for entry in result.data:
        exchanges = blocks.exchanges(result, entry)
        for request, exchange in zip(blocks.requests(result, entry), exchanges, strict=True):
            sections.append(display.section("Request and response", exchange))
            sections.append(display.section("As a command (a click selects all)", display.code(curl(request), "curl")))
    return (
        display.page(*sections)
        if sections
        else _nothing("nothing was sent: send_to_destination is off, or had nothing")
    )


def frame(result: DestinationResult) -> Html:
    """The rows of the result's frame, without the columns that are empty."""
    table = result.frame().dropna(axis="columns", how="all")
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
    caption = f"{len(table)} rows, {len(table.columns)} columns: the same as explorer.result.frame()"
    return display.page(display.table(list(table.columns), rows, caption=caption))


def _cell(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, str | list | dict):
        text = str(value)
        return text if len(text) <= _CELL else f"{text[:_CELL]}…"
    return None if pd.isna(value) else value


def _nothing(text: str) -> Html:
    return display.page(display.message(text, "info"))


def code(text: str, language: str, note: str) -> Html:
    """Text to copy."""
    return display.page(display.message(note, "info"), display.code(text, language))
