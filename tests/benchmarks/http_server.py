"""Events through `POST /v0/testDestination`, compared with a bare Starlette route that answers the same JSON.

Both are served by uvicorn in this process; the client is a separate process with a few persistent connections. The two
take turns, and the median of the rounds counts.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from threading import Thread
from time import perf_counter

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from svctoolkit import Workspace, events
from svctoolkit.server import running
from svctoolkit.workspace import Person
from tests.benchmarks._figures import Figure, Options

CONNECTIONS = 4


def run(options: Options) -> Iterator[Figure]:
    workspace = Workspace(users=[Person.with_token("dev@example.com", "token")])
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    body = json.dumps({"stage": {"user_transform": False}, "message": events.sample("track")}).encode()
    requests = options.many(2000, 40)
    with running(workspace) as server, _bare() as bare:
        port = int(server.url.rpartition(":")[2])
        _measured(port, body, requests), _measured(bare, body, requests)
        rounds = options.many(5, 1)
        pairs = [(_measured(port, body, requests), _measured(bare, body, requests)) for _ in range(rounds)]
    ours, theirs = (median(rates) for rates in zip(*pairs, strict=True))
    yield Figure("POST /v0/testDestination", ours, "events/s", "a bare route that answers the same JSON", theirs)


async def _echo(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


@contextmanager
def _bare() -> Iterator[int]:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    made = Starlette(routes=[Route("/v0/testDestination/{id}", _echo, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(made, log_config=None, log_level="error", access_log=False, lifespan="off"))
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def _measured(port: int, body: bytes, requests: int) -> float:
    """Requests per second, as counted by a client in another process."""
    client = [sys.executable, "-m", "tests.benchmarks.http_server", str(port), str(requests)]
    return float(subprocess.run(client, input=body, stdout=subprocess.PIPE, check=True).stdout)


async def _client(port: int, body: bytes, requests: int) -> float:
    login = base64.b64encode(b"dev@example.com:token").decode()
    head = f"POST /v0/testDestination/hook HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {login}\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    started = perf_counter()
    await asyncio.gather(*(_connection(port, request, requests // CONNECTIONS) for _ in range(CONNECTIONS)))
    return requests / (perf_counter() - started)


async def _connection(port: int, request: bytes, times: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(times):
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            raise SystemExit(head.decode())
        await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
    writer.close()


if __name__ == "__main__":
    print(asyncio.run(_client(int(sys.argv[1]), sys.stdin.buffer.read(), int(sys.argv[2]))))
