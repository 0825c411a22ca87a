"""Views of a result in a destination explorer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from svctoolkit import display
from svctoolkit.delivery import curl
from svctoolkit.display import Html, Leaf
from svctoolkit.json_types import Json
from svctoolkit.results import DestinationResult, EventResult, blocks
from svctoolkit.results.lineage import Lineage, open_batches
from svctoolkit.results.lineage.lights import LineageLights
from svctoolkit.results.lineage.pictures import flow

_CELL = 80  # characters


def strips(result: DestinationResult, first: Sequence[display.Step] = (), left_out: Collection[str] = ()) -> Html:
    """The stages of each output event of the user transformation, after the steps in `first`.

    Stages in `left_out` are switched on, and did not run yet.
    """
    if result.error is not None:
        return display.page(display.message(result.masker.mask(result.error), "warning"))
    return display.page(*(display.strip([*first, *_steps(result, entry, left_out)]) for entry in result.data))


def _steps(result: DestinationResult, entry: EventResult, left_out: Collection[str]) -> Iterator[display.Step]:
    for step in blocks.steps(result, entry):
        yield step._replace(note="click Run") if step.name in left_out else step


def values_by_name(result: DestinationResult) -> dict[str, Json]:
    """All inputs and outputs by name; several events are numbered."""
    all_values: dict[str, Any] = {}
    for number, entry in enumerate(result.data, 1):
        before = f"{number}: " if len(result.data) > 1 else ""
        all_values |= {before + name: value for name, value in blocks.values(result, entry).items()}
    return all_values


class Lit:
    """The values of a result by name, with the lineage of its event: related fields are highlighted together.

    `scope` distinguishes it from others on the same page.
    """

    def __init__(self, result: DestinationResult, lineage: Lineage | None, scope: str = "") -> None:
        self._result, self._scope = result, scope
        self.values = values_by_name(result)
        self._lineage = lineage if lineage is not None and lineage.event else None
        if self._lineage is not None and not self._lineage.stopped_at:
            self.values |= {name: open_batches(self.values[name]) for name in self._payload_names()}

    def payloads(self) -> Html:
        """A tree of each value."""
        return display.page(self._trees("payloads")) if self.values else _nothing("no stage has run")

    def saved(self) -> Html:
        """The display of the result with these trees, for views without widgets."""
        if self._lineage is None:
            return Html(self._result._repr_mimebundle_()["text/html"])
        return blocks.page_with(self._result, self._trees("saved"))

    def flow(self, *, is_open: bool) -> Html:
        """The lineage as a picture below its title; empty without one."""
        picture = flow(self._lineage).html() if self._lineage is not None else Html("")
        return display.more("Where each field goes", picture, is_open=is_open) if picture else picture

    def _trees(self, scope: str) -> Html:
        lights, leaves = self._lights(scope)
        trees = display.columns(
            *(
                display.tree(value, name, open_depth=6 if lights else 2, leaf=leaves.get(name))
                for name, value in self.values.items()
            )
        )
        return lights.group(trees) if lights else trees

    def diff(self, left: str, right: str) -> Html:
        """Two of the values side by side."""
        if left not in self.values or right not in self.values:
            return _nothing("Run, then choose two stages")
        lights, leaves = self._lights("diff")
        sides = leaves.get(left), leaves.get(right)
        table = display.diff(self.values[left], self.values[right], left=left, right=right, leaves=sides)
        return display.page(lights.group(table) if lights else table)

    def _lights(self, scope: str) -> tuple[LineageLights | None, dict[str, Leaf]]:
        """The highlighting of a view, and by name that of its leaves."""
        if self._lineage is None:
            return None, {}
        lights = LineageLights(self._lineage, f"{self._scope}{scope}")
        leaves: dict[str, Leaf] = {name: lights.event for name in self.values if name.endswith("event")}
        return lights, leaves | {name: lights.payload(n) for n, name in enumerate(self._payload_names(), 1)}

    def _payload_names(self) -> list[str]:
        """The names of values with the fields of the lineage: payloads, or else the output of the user's code."""
        stopped = self._lineage is not None and self._lineage.stopped_at
        return [name for name in self.values if ("user_transform" if stopped else "dest_transform") in name]


def http(result: DestinationResult, left_out: Collection[str]) -> Html:
    """Each request with its answer, and as a shell command. Stages in `left_out` did not run yet."""
    sections: list[display.Html] = []
    for entry in result.data:
        exchanges = blocks.exchanges(result, entry)
        for request, exchange in zip(blocks.requests(result, entry), exchanges, strict=True):
            sections.append(display.section("Request and response", exchange))
            sections.append(
                display.section("As a shell command (click to select)", display.code(curl(request), "curl"))
            )
    if sections:
        return display.page(*sections)
    sends = "send_to_destination" in left_out
    return _nothing("Run to send it" if sends else "nothing was sent: send_to_destination is off or had no payload")


def frame(result: DestinationResult) -> Html:
    """The rows of the result's frame without empty columns."""
    table = result.frame().dropna(axis="columns", how="all")
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
    caption = f"{len(table)} rows, {len(table.columns)} columns: the same as explorer.result.frame()"
    return display.page(display.table(list(table.columns), rows, caption=caption))


def _cell(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, (str, list, dict)):
        text = str(value)
        return text if len(text) <= _CELL else f"{text[:_CELL]}…"
    return None if pd.isna(value) else value


def _nothing(text: str) -> Html:
    return display.page(display.message(text, "info"))


def code(text: str, language: str, note: str) -> Html:
    """Text to copy."""
    return display.page(display.message(note, "info"), display.code(text, language))
