"""Whether a data plane works, for load balancers and for tests that wait for it: `/health` and `/ready`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.errors import StoreError
from svctoolkit.events.builders import iso
from svctoolkit.server.inspect.overview import Reload
from svctoolkit.server.inspect.parameters import only
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine

_MOST_PENDING = 1_000_000


class HealthRecord(Struct, frozen=True, rename="camel"):
    """The health of the data plane, in the gateway's format. `db` is DOWN while events cannot be stored."""

    app_type: str
    server: str
    db: str
    accepting_events: str
    routing_events: str
    mode: str
    backend_config_mode: str
    last_sync: str
    last_regulation_sync: str


class Readiness(Struct, frozen=True):
    """Whether the data plane does its work, and what prevents it."""

    ready: bool
    reasons: list[str]


class Health:
    """The operations. Anyone may use them, so they show no name and no path."""

    def __init__(self, engine: Engine, reload: Callable[[], Reload]) -> None:
        self._engine, self._reload, self._started = engine, reload, iso(engine.clock())

    async def health(self, _request: Request) -> Response:
        works = not self._engine.store.failure
        return json_response(
            HealthRecord(
                app_type="EMBEDDED",
                server="UP",
                db="UP" if works else "DOWN",
                accepting_events="TRUE" if works else "FALSE",
                routing_events="TRUE",
                mode="NORMAL" if works else "DEGRADED",
                backend_config_mode="JSON",
                last_sync=self._started,
                last_regulation_sync="",
            )
        )

    async def ready(self, request: Request) -> Response:
        query = dict(request.query_params)
        text = query.pop("pending", str(_MOST_PENDING))
        only(query)
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            refuse(f"pending must be a number of deliveries, not {text[:50]!r}")
        reasons = await self._reasons(int(text))
        return json_response(Readiness(not reasons, reasons), 503 if reasons else 200)

    async def _reasons(self, most: int) -> list[str]:
        engine, reasons = self._engine, []
        if engine.store.failure:
            try:
                await asyncio.wrap_future(engine.store.probe())
            except StoreError:
                reasons.append("events cannot be stored; they are answered with 500")
        if (pending := sum(engine.pending.under_way().values())) > most:
            reasons.append(f"{pending:,} pending deliveries, more than {most:,}")
        if self._reload().problem:
            reasons.append("the workspace file has a mistake, so its previous content is in use")
        return reasons

    def operations(self) -> list[Operation]:
        """Return the operations."""
        kind = {"type": "integer", "minimum": 0}
        pending = Parameter("pending", "query", "Not ready with more pending deliveries.", kind, _MOST_PENDING)
        return [
            Operation(
                method="GET",
                path="/health",
                id="health",
                summary="Health",
                description="In the gateway's format. While events cannot be stored, for example because the disk is "
                "full, `db` is DOWN and `acceptingEvents` is FALSE.",
                handle=self.health,
                responses={200: ResponseDoc("The health of the data plane.", (HealthRecord,))},
                login="none",
            ),
            Operation(
                method="GET",
                path="/ready",
                id="ready",
                summary="Whether the data plane is ready",
                description="For load balancers, and for tests that start a data plane: events can be stored, not too "
                "many deliveries are pending, and the workspace file is valid.",
                handle=self.ready,
                parameters=(pending,),
                responses={
                    200: ResponseDoc("Ready.", (Readiness,)),
                    400: ResponseDoc("A parameter is invalid.", (Refusal,)),
                    503: ResponseDoc("Not ready, with the reasons.", (Readiness,)),
                },
                login="none",
            ),
        ]
