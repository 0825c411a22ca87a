"""Webhook sources: the events that a webhook of a type becomes, and what each destination gets of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import InvalidWebhook, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.webhooks import handle, through_source
from svctoolkit.results.lineage._display import tables
from svctoolkit.sources import CATALOGUE, Example, Handled, examples
from svctoolkit.widgets._base import controls
from svctoolkit.workspace import Destination, Source, Workspace


class SourceExplorer(controls.Explorer):
    """Choose a webhook source type and one of its webhooks, edit the body, and see the events and every destination.

    >>> SourceExplorer(workspace, "Shopify")  # doctest: +SKIP

    Destinations are those of `workspace`; each shows its payloads and which member of the raw webhook their fields come
    from. `type` is the type that is shown first. Nothing is sent.
    """

    def __init__(self, workspace: Workspace, type: str = "webhook") -> None:
        self._pipeline = Pipeline(workspace, exploring=True)
        self._painter = controls.Painter(self._paint, fail=self._fail, per_second=2.0)
        self._type = controls.choice("Source type", CATALOGUE.names(), CATALOGUE[type].name)
        self._sample = controls.choice("Webhook", [])
        self._body = controls.area("Body", rows=12)
        self._page = controls.html()
        super().__init__(
            [controls.card("Webhook source", controls.bar(self._type, self._sample), self._body, self._page)],
            closing=[self._painter.close],
        )
        self._type.observe(lambda _: self._choose_type(), "value")
        self._sample.observe(lambda _: self._choose_sample(), "value")
        self._body.observe(lambda _: self._painter.poke(), "value")
        self._choose_type()

    def show(self, type: str, webhook: str = "") -> None:
        """Show a type, and one of its webhooks by name. Raises `UnknownName` for an unknown type."""
        self._type.value = CATALOGUE[type].name
        if webhook:
            self._sample.value = webhook

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until all changes are painted; False after `timeout` seconds."""
        return self._painter.wait(timeout)

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events that the webhook becomes; empty if it is refused."""
        try:
            return [dict(event) for event in self._handled(self._source()).events]
        except InvalidWebhook:
            return []

    def static(self) -> Html:
        """Return the events, and what each destination gets."""
        return display.page(*self._blocks())

    def __repr__(self) -> str:
        return f"<SourceExplorer: {self._type.value}, {self._sample.value or 'own webhook'}>"

    def _choose_type(self) -> None:
        self._samples = {example.name: example for example in examples(self._type.value)}
        self._sample.options = list(self._samples)
        self._sample.value = next(iter(self._samples), None)
        self._choose_sample()

    def _choose_sample(self) -> None:
        example = self._samples.get(self._sample.value)
        if example is not None:
            self._body.value = json.dumps(example.body, indent=2) if example.text is None else example.text
        self._select(type=self._type.value, webhook=self._sample.value or "")
        self._painter.poke()

    def _request(self, example: Example | None) -> Mapping[str, Json]:
        request = (example or Example(name="own")).request()
        return {**request, "body": self._body.value}

    def _source(self) -> Source:
        example = self._samples.get(self._sample.value)
        return Source("source", "source", "source", self._type.value, config=dict(example.config if example else {}))

    def _handled(self, source: Source) -> Handled:
        example, context = self._samples.get(self._sample.value), self._pipeline.context
        memory = {key: dict(fields) for key, fields in example.memory.items()} if example else {}
        return handle(source, self._request(example), context.clock(), context.new_id, memory)

    def _blocks(self) -> Iterator[Html]:
        source = self._source()
        request = self._request(self._samples.get(self._sample.value))
        try:
            handled = self._handled(source)
        except InvalidWebhook as error:
            yield display.message(f"refused with {error.status}: {error}. In production this webhook is lost", "error")
            return
        if handled.answer is not None:
            yield display.message(f"answered with {handled.answer.status}: {handled.answer.body}", "info")
        mask = self._pipeline.workspace.masker.mask
        for number, event in enumerate(handled.events):
            yield display.section(f"event {number + 1}", display.tree(mask(event), "event", open_depth=1))
            for destination in self._pipeline.workspace.destinations.values():
                yield self._at(destination, source, request, number, event)

    def _at(self, to: Destination, source: Source, request: Mapping[str, Json], number: int, event: Any) -> Html:
        """Return the payloads at a destination, and where their fields come from."""
        pipeline, now = self._pipeline, self._pipeline.context.clock()
        try:
            result = pipeline.test_destination(to.key, event)
            lineage = through_source(
                pipeline.lineage(to.key, event), source, request, number, now, pipeline.workspace.masker
            )
        except ToolkitError as error:
            return display.more(to.key, display.message(pipeline.workspace.masker.text(str(error)), "error"))
        sign = "✓" if result.ok else "✗"
        return display.more(
            f"{sign} {to.key} ({to.type})", display.tree(result.to_masked_dict(), "result"), *tables(lineage)
        )

    def _paint(self) -> None:
        self._page.value = self.static()

    def _fail(self, message: Html) -> None:
        self._page.value = display.page(message)
