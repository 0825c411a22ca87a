"""Serve the Test API in a background thread, and the settings that all servers here share."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, cast

import msgspec

from svctoolkit.errors import ConfigError
from svctoolkit.pipeline import Pipeline
from svctoolkit.transformations import Layers, code_is_trusted, layers
from svctoolkit.workspace import PlaneLimits, Workspace

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

_GRACE = 5  # seconds
_SEND_BUFFER = 256 * 1024  # bytes buffered for a client that does not read; the default is megabytes


def running(workspace: Workspace, host: str = "127.0.0.1", port: int = 0, *, timeout: float = 300.0) -> Running:
    """Start a server of the Test API in a thread: `with running(workspace) as server: server.url`.

    Arguments and errors as for `serve`.
    """
    bound = listening_at(host, port)
    pipeline = _pipeline(workspace, bound)
    return Running(url_of(bound), pipeline, _server(pipeline, timeout), bound)


class Running:
    """A server in a background thread, until `stop()` or the end of its `with` block.

    `url` is where it listens, `pipeline` runs the events; `pipeline.recorder` has what was sent.
    """

    def __init__(self, url: str, pipeline: Pipeline, server: uvicorn.Server, bound: socket.socket) -> None:
        self.url, self.pipeline, self._server = url, pipeline, server
        # A daemon, so that the program can end even if the server is not stopped.
        self._thread = Thread(target=server.run, args=([bound],), name="svctoolkit server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, and wait for the end of the thread; requests under way get 5 seconds to finish."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<svctoolkit server at {self.url}>"


def listening_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens already, so that clients can connect before the server runs."""
    where = f"{host}:{port}"
    if not 0 <= port <= 65535:
        raise ConfigError(f"{port} is not a valid port (0 picks a free one; maximum 65535)")
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return _listening(addresses[0][0], addresses[0][4])
    except (socket.gaierror, UnicodeError) as error:
        raise ConfigError(f"cannot listen at {where}: the host {host!r} has no address") from error
    except OSError as error:
        raise ConfigError(f"cannot listen at {where}: {_reason(error)}") from error


def _listening(family: int, address: tuple[object, ...]) -> socket.socket:
    # asyncio disables Nagle's algorithm only for an explicit TCP socket; otherwise every answer is delayed by 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)  # connections inherit it
        bound.bind(address)
        bound.listen(2048)
    except OSError:
        bound.close()
        raise
    return bound


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is already in use. Choose another one, or 0 for a free one"
    if error.errno == errno.EACCES:
        return "the port requires more privileges. Choose one above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine does not have that address"
    return error.strerror or str(error)


class Tls(msgspec.Struct, frozen=True):
    """The PEM files of a certificate with its chain, and of its key, which may be in the same file."""

    certificate: Path
    key: Path | None = None

    def check(self) -> None:
        """Raise `ConfigError` if they cannot be used."""
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                self.certificate, self.key, _no_password
            )
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            files = " and ".join(str(file) for file in (self.certificate, self.key) if file)
            raise ConfigError(f"cannot serve with the certificate of {files}: {reason}") from error


def _no_password() -> str:
    raise ValueError("the key is protected by a password; use a key without one")


def url_of(bound: socket.socket, scheme: str = "http") -> str:
    """Return the address at which a client on this machine reaches a socket."""
    host, port = bound.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:  # listens on every address of this machine; a client needs one
        return f"{scheme}://localhost:{port}"
    return f"{scheme}://[{host}]:{port}" if address.version == 6 else f"{scheme}://{host}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine can reach the socket."""
    return ipaddress.ip_address(bound.getsockname()[0]).is_loopback


def _pipeline(workspace: Workspace, bound: socket.socket) -> Pipeline:
    return Pipeline(workspace, loopback=is_loopback(bound))


def check_sandbox(layers: Callable[[], Layers] = layers) -> None:
    """Raise `ConfigError` if the sandbox lacks an essential layer on this machine, and code is not trusted."""
    sandbox = layers()
    if not sandbox.essential and not code_is_trusted():
        raise ConfigError(
            f"cannot serve on an address that other machines can reach: the sandbox for user transformations is "
            f"incomplete here. Serve on 127.0.0.1, or trust the code (--trust-code).\n{sandbox}"
        )


def _server(pipeline: Pipeline, timeout: float) -> uvicorn.Server:
    from svctoolkit.server.test_api.app import app

    return uvicorn_server(app(pipeline.workspace, pipeline=pipeline, timeout=timeout))


def uvicorn_server(
    made: ASGIApp, tls: Tls | None = None, *, head: Callable[[], float] = lambda: PlaneLimits().head
) -> uvicorn.Server:
    """Return a server for an application, with the settings that all servers here share.

    `head` returns the seconds for the line and the headers of a request; then its connection is closed.
    """
    import uvicorn  # takes 0.1 s, and an application in process does not need it

    from svctoolkit.server.web.connections import Server, TimedProtocol

    config = uvicorn.Config(
        made,
        http=cast("type", partial(TimedProtocol, seconds=head)),  # uvicorn only calls it
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
    return Server(config)
