"""Connections of the live transport: only to checked addresses, and never past the deadline."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from time import monotonic
from typing import Any

import httpcore

from svctoolkit.delivery.policy import NetworkPolicy
from svctoolkit.json_types import Json


class Progress(threading.local):
    """State of this thread's request: its deadline, and whether the other side has closed the connection."""

    deadline = float("inf")
    closed = False

    def start(self, timeout: float) -> None:
        self.deadline, self.closed = monotonic() + timeout, False

    def remaining(self) -> float:
        """Return the seconds that are left. Raises `httpcore.ReadTimeout`."""
        seconds = self.deadline - monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout("deadline")
        return seconds


class _Stream(httpcore.NetworkStream):
    """A connection whose every step is limited to the time that is left. The library's timeouts are per step."""

    def __init__(self, inner: httpcore.NetworkStream, progress: Progress) -> None:
        self._inner, self._progress = inner, progress

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the library's signature
        data = self._inner.read(max_bytes, self._progress.remaining())
        self._progress.closed = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        size = 1 << 20  # a slow reader could keep every step of a big body just within its timeout
        for start in range(0, len(buffer), size):
            self._inner.write(buffer[start : start + size], self._progress.remaining())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, self._progress.remaining())
        return _Stream(secured, self._progress)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class CheckedBackend(httpcore.NetworkBackend):
    """Opens connections to addresses that the policy allows. TLS and the Host header still use the host name."""

    def __init__(self, policy: NetworkPolicy, progress: Progress) -> None:
        self._policy, self._progress = policy, progress
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[Json] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = self._check_addresses(host, port)
        failed: Exception | None = None
        for attempts, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            # An address that drops packets must leave time for the next one.
            patience = self._progress.remaining() if attempts == 1 else min(5.0, self._progress.remaining() / attempts)
            try:
                stream = self._inner.connect_tcp(address, port, patience, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
            else:
                return _Stream(stream, self._progress)
        raise failed or httpcore.ConnectError("no address")

    def _check_addresses(self, host: str, port: int) -> list[str]:
        """Run `policy.check` in its own thread, because the system's name lookup has no timeout."""
        answer: Future[list[str]] = Future()

        def check() -> None:
            try:
                answer.set_result(self._policy.check(host, port))
            except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
                answer.set_exception(error)

        threading.Thread(target=check, name="svctoolkit-lookup", daemon=True).start()
        try:
            return answer.result(self._progress.remaining())
        except TimeoutError:
            raise httpcore.ConnectTimeout("name lookup") from None
