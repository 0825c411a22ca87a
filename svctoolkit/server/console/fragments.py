"""The fragments that the page shows: event timelines, webhooks, held rows, pictures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import RequestError
from svctoolkit.json_types import Json
from svctoolkit.pictures import Days
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.console.assets import HEADERS
from svctoolkit.server.console.event_timeline import event_timeline
from svctoolkit.server.console.webhooks import webhook_fragment, webhook_lineage
from svctoolkit.server.inspect.failure_days import failures_by_day
from svctoolkit.server.inspect.held._display import held_everywhere, person_blocks
from svctoolkit.server.inspect.held.person import find_person
from svctoolkit.server.inspect.latency import latencies
from svctoolkit.server.inspect.own_payloads import OwnPayloads
from svctoolkit.server.inspect.parameters import MAX_NUMBER, only, settle
from svctoolkit.server.inspect.queries import about
from svctoolkit.server.inspect.records import Fate, seen
from svctoolkit.server.inspect.revisions import Revisions
from svctoolkit.server.inspect.views import View
from svctoolkit.server.store.records import EVENTS, FATES, Filter, Records
from svctoolkit.server.web.requests import run_name
from svctoolkit.server.worker import Engine
from svctoolkit.url_secrets import mask_http
from svctoolkit.workspace import is_forward_key


class Fragments:
    """The handlers of the fragments, which `Console` loads with the first of them."""

    def __init__(self, engine: Engine, pipeline: Pipeline, revisions: Revisions) -> None:
        self._engine, self._pipeline, self._revisions = engine, pipeline, revisions

    async def event(self, request: Request) -> Response:
        """Return the timeline of an event."""
        seq = _seq(request)
        await settle(self._engine)
        record = await asyncio.to_thread(about, self._engine, seq)
        if not (record["events"] or record["rejected"]):
            raise RequestError(404, {"message": f"event {seq} is not in the store"})
        template = self._engine.workspace.data_plane.traces
        trace_id = await asyncio.to_thread(self._engine.journal.traces.trace_id, seq)
        trace = template.replace("{trace_id}", trace_id) if trace_id else ""
        payloads = await asyncio.to_thread(self._payloads, seq)
        return _fragment(await asyncio.to_thread(event_timeline, record, payloads, trace))

    def _payloads(self, seq: int) -> dict[str, Sequence[Json]]:
        """Return the payloads of an event alone, by destination, without those to which it was forwarded."""
        own, mask = OwnPayloads(self._engine, self._revisions), self._engine.masker().mask
        fates = (
            seen(Fate, self._engine, fate) for fate in Records(self._engine.store, FATES, Filter(seq=seq)).all(100)
        )
        return {
            fate.destination: [mask_http(mask(payload)) for payload in own.of(fate)]
            for fate in fates
            if not is_forward_key(fate.destination)
        }

    async def held(self, request: Request) -> Response:
        """Return what simulated destinations hold: about a person (`id`), or all; of one `destination`, or of all."""
        query = dict(request.query_params)
        run, id, key = run_name(query.pop("run", "")), query.pop("id", ""), query.pop("destination", "")
        only(query, "run", "id", "destination")
        await settle(self._engine)
        return _fragment(await asyncio.to_thread(self._held, run, id, key))

    def _held(self, run: str, id: str, key: str) -> Html:
        is_simulated, workspace = self._engine.simulated.is_simulated, self._engine.workspace
        keys = [each.key for each in workspace.destinations.values() if is_simulated(each) and key in ("", each.key)]
        if id:
            return display.fragment(*person_blocks(find_person(self._engine, id, run, keys)))
        view = View(self._engine, run)
        return display.fragment(*held_everywhere({each: view.held(each) for each in keys}, view.lost))

    async def latency(self, request: Request) -> Response:
        """Return how long each stage takes at each destination; of one `run`, or of all."""
        run = _run_or_all(request)
        await settle(self._engine)
        found = await asyncio.to_thread(latencies, self._engine, run)
        return _fragment(display.fragment(found.picture().html() or display.message("no requests yet", "info")))

    async def failures(self, request: Request) -> Response:
        """Return how many events failed on each day; of one `run`, or of all."""
        run = _run_or_all(request)
        await settle(self._engine)
        found = await asyncio.to_thread(failures_by_day, self._engine, run)
        return _fragment(display.fragment(_drawn(found) if found.groups else display.message("no failures", "ok")))

    async def lineage(self, request: Request) -> Response:
        """Return where the fields of an event's payloads at a destination come from. Computed on request."""
        seq, destination = _seq(request), request.path_params["destination"]
        return _fragment(await asyncio.to_thread(self._measure, seq, destination))

    async def webhook(self, request: Request) -> Response:
        """Return the request of a webhook and its events."""
        await settle(self._engine)
        return _fragment(await asyncio.to_thread(webhook_fragment, self._engine, _seq(request)))

    async def webhook_lineage(self, request: Request) -> Response:
        """Return which members of a webhook the fields of payloads at a destination come from. Computed on request."""
        where = _seq(request), request.path_params["destination"]
        return _fragment(await asyncio.to_thread(webhook_lineage, self._engine, self._pipeline, *where))

    def _measure(self, seq: int, destination: str) -> Html:
        from svctoolkit.results.lineage._display import tables
        from svctoolkit.results.lineage.pictures import flow

        records = Records(self._engine.store, EVENTS, Filter(seq=seq)).page(0, 1)
        if not records:
            raise RequestError(404, {"message": f"event {seq} is not in the store"})
        event, source = self._engine.events[seq], records[0].source
        lineage = self._pipeline.lineage(destination, event, source=source)
        return display.fragment(flow(lineage).html(), *tables(lineage))


def _seq(request: Request) -> int:
    return min(int(request.path_params["seq"]), MAX_NUMBER)


def _run_or_all(request: Request) -> str | None:
    """The run of the query; None for all."""
    query = dict(request.query_params)
    run = run_name(query.pop("run")) if "run" in query else None
    only(query, "run")
    return run


def _drawn(found: Days) -> Html:
    """The picture, or a table if everything is on one day."""
    rows = [[cause, day, count] for cause, days in found.groups.items() for day, count in days.items()]
    return found.html() or display.table(["cause", "day", "events"], rows)


def _fragment(html: Html) -> Response:
    return Response(html.encode("utf-8", "replace"), media_type="text/html", headers=HEADERS)
