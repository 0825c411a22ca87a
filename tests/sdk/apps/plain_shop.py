"""A bare WSGI and ASGI application with a client at module level, as servers load it before they fork."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.middleware import TrackingASGI

client = ServiceClient(
    profile="server",
    data_plane_url=os.environ["SHOP_DATA_PLANE"],
    data_directory=os.environ["SHOP_FOLDER"],
    exit_timeout=60,  # a busy machine
    enabled=os.environ.get("SHOP_IS_TRACKED") != "no",
)
client.initialize(os.environ["SHOP_KEY"])


def wsgi(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
    client.track(environ["PATH_INFO"], {"process": os.getpid()}, user_id=environ["PATH_INFO"][-1:])
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]


async def _request(request: Request) -> PlainTextResponse:
    path = request.url.path
    client.track(path, {"process": os.getpid()}, user_id=path[-1:])
    return PlainTextResponse("ok")


asgi = TrackingASGI(Starlette(routes=[Route("/request/{place}", _request)]), client)


def post_worker_init(_: object) -> None:
    """gunicorn calls this in each worker: from here on, a worker heeds SIGTERM."""
    Path(os.environ["SHOP_FOLDER"], f"worker-{os.getpid()}").touch()
