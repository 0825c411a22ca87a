"""How a pipeline reaches destinations: their requests, and the look-ups of mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from svctoolkit.delivery import (
    Answer,
    HttpRequest,
    HttpResponse,
    MappingLookup,
    Recorder,
    Sender,
    Server,
    Transport,
)
from svctoolkit.destinations import Lookup
from svctoolkit.destinations.lookups import asks_in_order, example_answer
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.simulated import HeldChanges, Simulated
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Destination, Workspace

if TYPE_CHECKING:
    from svctoolkit.simulations import About


def server_of(
    route: Route,
    simulated: Simulated | None,
    run: str,
    events: tuple[str, ...] = (),
    changed: Callable[[HeldChanges], None] = lambda _: None,
    about: About | None = None,
) -> Server:
    """Return the server of a route's destination: its simulation, or else the documented answers of its type.

    `changed` gets what a request changed at a simulated server whose state is stored. `about` returns which of the
    `events` a record of the request comes from.
    """
    if simulated is None or not simulated.is_simulated(route.destination):
        return route.answer
    servers = simulated

    def serve(request: HttpRequest, failed: Sequence[int]) -> Answer | None:
        if failed:  # a script rejects items: only the form of the answer is needed
            return route.answer(request, failed)
        answer, held = servers.respond(route, request, run, events, about)
        if held is not None:
            changed(held)
        return answer or route.answer(request)

    return serve


def transport_of(
    route: Route,
    transport: Transport,
    run: str = "",
    simulated: Simulated | None = None,
    events: tuple[str, ...] = (),
    changed: Callable[[HeldChanges], None] = lambda _: None,
) -> Transport:
    """Return `transport` for one destination: a recorder is also given the destination, and responds as its server.

    `changed`: see `server_of`.
    """
    if not isinstance(transport, Recorder):
        return transport
    recorder, server = transport, server_of(route, simulated, run, events, changed)

    def record(request: HttpRequest, *, timeout: float) -> HttpResponse:
        return recorder.exchange(
            request, timeout=timeout, destination=route.destination.key, run=run, events=events, server=server
        )

    return record


def lookup_at(
    route: Route,
    recorder: Recorder,
    simulated: Simulated | None,
    run: str,
    events: tuple[str, ...],
    changed: Callable[[HeldChanges], None] = lambda _: None,
) -> Lookup:
    """Return look-ups for the mapping of these events of a run.

    Scripts of URLs answer them, those of the destination where their condition fits, and then its simulated server. If
    the type has no simulation, the destination's script answers all its requests in order, and then, or if it is only
    not simulated here, the type's examples do.
    """
    key = route.destination.key
    is_simulated = simulated is not None and simulated.is_simulated(route.destination)
    server = (
        server_of(route, simulated, run, events, changed) if is_simulated else None
    )  # not the answers to deliveries
    asks = MappingLookup(partial(_example_answer, route), asks_in_order(route.destination.type))

    def record(request: HttpRequest, *, timeout: float) -> HttpResponse:
        return recorder.exchange(
            request, timeout=timeout, destination=key, run=run, events=events, server=server, lookup=asks
        )

    return lookup_through(lambda: Sender(record, timeout=route.workspace.delivery.timeout))


def _example_answer(route: Route, request: HttpRequest) -> Answer | None:
    asked = example_answer(route.destination.type, request.method, request.url)
    return None if asked is None else Answer(asked.status, asked.body)


def message_ids(events: Iterable[Mapping[str, Json]]) -> tuple[str, ...]:
    """Return the message ids of events, without those that have none."""
    return tuple(str(event["messageId"]) for event in events if event.get("messageId"))


def account_metadata(workspace: Workspace, destination: Destination) -> dict[str, Json]:
    """Return what a mapping may read about the account that a destination delivers with; empty without anything.

    `secret` has the tokens of an OAuth account, `brazeLimit` is the workspace's setting if it is not the default.
    """
    account, limit = workspace.account_of(destination), workspace.delivery.braze_limit
    tokens: dict[str, Json] = {} if account is None else {"secret": reveal(account.tokens())}
    return tokens if destination.type != "BRAZE" or limit == "each" else {**tokens, "brazeLimit": limit}


def lookup_through(sender: Callable[[], Sender]) -> Lookup:
    """Return look-ups for mappings over the delivery transport. A request without a response counts as a 500."""

    def lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
        answered = sender().send(payload_of_lookup(request))
        return answered.status, answered.response

    return lookup


def payload_of_lookup(request: Mapping[str, Json]) -> dict[str, Json]:
    """Return a look-up's request in the form that is delivered."""
    headers = {str(name).lower(): value for name, value in (request.get("headers") or {}).items()}
    kind = "FORM" if "form-urlencoded" in str(headers.get("content-type")) else "JSON"
    body = request.get("body") or {}
    if isinstance(body, str):  # an encoded form
        body = dict(parse_qsl(body, keep_blank_values=True))
    return {
        "method": request.get("method", "GET"),
        "endpoint": request["url"],
        "headers": dict(request.get("headers") or {}),
        "params": dict(request.get("params") or {}),
        "body": {kind: body},
    }
