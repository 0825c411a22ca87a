"""How a pipeline reaches destinations: their requests, and the look-ups of mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from svctoolkit.delivery import HttpRequest, HttpResponse, Recorder, Sender, Transport
from svctoolkit.destinations import Lookup
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Destination, Workspace


def transport_of(route: Route, transport: Transport, run: str = "") -> Transport:
    """Return `transport` for one destination: a recorder is also given the destination, and responds as its server."""
    if not isinstance(transport, Recorder):
        return transport
    recorder = transport

    def record(request: HttpRequest, *, timeout: float) -> HttpResponse:
        return recorder.exchange(
            request, timeout=timeout, destination=route.destination.key, run=run, server=route.answer
        )

    return record


def account_metadata(workspace: Workspace, destination: Destination) -> dict[str, Json]:
    """Return what a mapping may read from the account that a destination delivers with; empty without one."""
    account = workspace.account_of(destination)
    return {} if account is None else {"secret": reveal(account.tokens())}


def lookup_through(sender: Callable[[], Sender]) -> Lookup:
    """Return look-ups for mappings over the delivery transport. A request without a response counts as a 500."""

    def lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
        headers = {str(name).lower(): value for name, value in (request.get("headers") or {}).items()}
        kind = "FORM" if "form-urlencoded" in str(headers.get("content-type")) else "JSON"
        answered = sender().send(
            {
                "method": request.get("method", "GET"),
                "endpoint": request["url"],
                "headers": dict(request.get("headers") or {}),
                "params": dict(request.get("params") or {}),
                "body": {kind: request.get("body") or {}},
            }
        )
        return answered.status, answered.response

    return lookup
