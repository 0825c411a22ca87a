"""A webhook on the page: its request, the events that it became, and where the fields of their payloads come from."""

from __future__ import annotations

from urllib.parse import quote

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import RequestError, ToolkitError
from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.webhooks import through_source
from svctoolkit.server.inspect._display import webhook_parts
from svctoolkit.server.inspect.records import Webhook, seen
from svctoolkit.server.store.records import WEBHOOKS, Filter, Records
from svctoolkit.server.worker import Engine

_MOST = 5  # events of a webhook with lineage: each is measured on request


def webhook_fragment(engine: Engine, seq: int) -> Html:
    """Return the request and the events of a webhook, with a place for the lineage at each destination."""
    found = _webhook(engine, seq)
    source = engine.workspace.sources.get(found.source)
    keys = [] if source is None or not found.count else [c.destination for c in source.connections if c.enabled]
    return display.fragment(*webhook_parts(found), *(_lineage_place(seq, key) for key in keys))


def webhook_lineage(engine: Engine, pipeline: Pipeline, seq: int, destination: str) -> Html:
    """Return which members of a webhook the fields of a destination's payloads come from."""
    from svctoolkit.results.lineage._display import tables

    masker, found = engine.masker(), _webhook(engine, seq)
    source = engine.workspace.sources.get(found.source)
    if source is None:
        raise RequestError(404, {"message": f"source {found.source!r} is not in the workspace any more"})
    blocks: list[Html] = []
    for number, event in enumerate(found.events[:_MOST]):
        try:
            lineage = pipeline.lineage(destination, event, source=source.key)
            joined = through_source(lineage, source, found.request, number, found.at, masker)
            blocks.append(display.section(f"event {number + 1}", *tables(joined)))
        except ToolkitError as error:
            blocks.append(display.message(masker.text(f"event {number + 1}: {error}"), "error"))
    return display.fragment(*blocks)


def _lineage_place(seq: int, key: str) -> Html:
    path = display.html(f"console/webhooks/{seq}/lineage/{quote(key, safe='')}")
    return Html(f'<details data-lineage="{path}"><summary>lineage at {display.html(key)}</summary></details>')


def _webhook(engine: Engine, seq: int) -> Webhook:
    records = Records(engine.store, WEBHOOKS, Filter(seq=seq)).page(0, 1)
    if not records:
        raise RequestError(404, {"message": f"webhook {seq} is not in the store"})
    return seen(Webhook, engine, records[0])
