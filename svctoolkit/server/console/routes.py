"""The page at `/`, its assets, and the routes of the fragments that it shows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit.errors import RequestError
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.console.assets import HEADERS, TYPES, names, static
from svctoolkit.server.inspect.revisions import Revisions
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.operation import Handler
from svctoolkit.server.web.routes import route
from svctoolkit.server.worker import Engine

if TYPE_CHECKING:
    from svctoolkit.server.console.fragments import Fragments


class Console:
    """The routes of the page. It is public like the documentation; its data comes from guarded operations."""

    def __init__(self, engine: Engine, pipeline: Pipeline, guard: Guard, health: Handler, revisions: Revisions) -> None:
        self._engine, self._pipeline, self._guard, self._health = engine, pipeline, guard, health
        self._revisions = revisions

    def routes(self) -> list[Route]:
        return [
            route("/", self.root),
            self._fragment("/console/events/{seq:int}", "event"),
            self._fragment("/console/events/{seq:int}/lineage/{destination:path}", "lineage"),
            self._fragment("/console/webhooks/{seq:int}", "webhook"),
            self._fragment("/console/webhooks/{seq:int}/lineage/{destination:path}", "webhook_lineage"),
            self._fragment("/console/held", "held"),
            self._fragment("/console/latency", "latency"),
            self._fragment("/console/failures", "failures"),
            route("/console/{name}", self.asset),
        ]

    def _fragment(self, path: str, name: str) -> Route:
        """Return the route of the handler `name` in `Fragments`."""

        async def handle(request: Request) -> Response:
            handler: Handler = getattr(self._fragments, name)
            return await handler(request)

        return route(path, self._guard.local(handle))

    @cached_property
    def _fragments(self) -> Fragments:
        # Displays and pictures take a tenth of the time in which a plane starts, and most planes have no page open.
        from svctoolkit.server.console.fragments import Fragments

        return Fragments(self._engine, self._pipeline, self._revisions)

    async def root(self, request: Request) -> Response:
        """Return the page to browsers, and the health of the data plane, like the gateway, to programs."""
        if "text/html" not in request.headers.get("accept", ""):
            return await self._health(request)
        return Response(static("index.html"), media_type="text/html", headers={**HEADERS, "Vary": "Accept"})

    async def asset(self, request: Request) -> Response:
        from svctoolkit import display

        name = request.path_params["name"]
        if name == "display.css":
            return Response(display.STYLE + display.PICTURE_STYLE, media_type="text/css", headers=HEADERS)
        if name == "tree_tools.js":
            return Response(display.tree_tools(), media_type="text/javascript", headers=HEADERS)
        ending = name[name.rfind(".") :]
        if ending not in TYPES or name not in names():
            raise RequestError(404, {"message": f"unknown asset {name[:50]!r}"})
        return Response(static(name), media_type=TYPES[ending], headers=HEADERS)
