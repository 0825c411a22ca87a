"""Serve a data plane in the foreground, until it is stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, current_thread, main_thread

from svctoolkit.server.announcement import banner
from svctoolkit.server.collector import rare_collections
from svctoolkit.server.plane import DataPlane
from svctoolkit.server.serving import Tls, check_sandbox
from svctoolkit.server.tracing.setup import provider_of
from svctoolkit.workspace import Workspace


def serve(
    workspace: Workspace | Path | str,
    host: str = "127.0.0.1",
    port: int = 8091,
    *,
    store: Path | str | None = None,
    timeout: float = 300.0,
    adjust: Callable[[Workspace], object] = lambda _: None,
    tls: Tls | None = None,
    announce: Callable[[DataPlane], object] = lambda plane: print(banner(plane)),
    history: Path | str | None = None,
    token: str = "",
) -> None:
    """Serve a data plane, the Test API included, until Ctrl-C or SIGTERM; requests under way get 5 seconds to finish.

    A workspace file is reloaded when it changes; `adjust` may change the loaded workspace. `announce` is called with
    the data plane as soon as it accepts connections; port 0 picks a free one. `store` is the file for events, which are
    kept in memory by default. `tls`, `token`: see `DataPlane`. A test of the Test API without a result after
    `timeout` seconds gets 504. When it stops, the events are added to the file `history`, if given.

    On an address that other machines can reach, inspection requires credentials, and live delivery refuses private
    targets unless `workspace.delivery.allow` lists them. Raises `ConfigError` if the address or the store cannot be
    used. Also raises it on such an address if an essential layer of the sandbox is missing here and the users' code is
    not trusted (`limits.trust` of the workspace, `transformations.trust_code()`). Raises `InvalidWorkspace` for a bad
    file.
    """
    if history is not None:
        from svctoolkit.history import History

        History.check(history)  # a file that cannot be used is an error before the first event
    traces = provider_of(os.environ)
    with DataPlane(
        workspace,
        host=host,
        port=port,
        store=store,
        timeout=timeout,
        adjust=adjust,
        tls=tls,
        token=token,
        traces=traces,
    ) as plane:
        if not plane.loopback and not plane.workspace.limits.trust:
            check_sandbox()
        with rare_collections():
            run_until_stopped(lambda: announce(plane))
        if history is not None:
            plane.history().write(history)


def run_until_stopped(start: Callable[[], object]) -> None:
    """Call `start`, then wait for Ctrl-C or SIGTERM and return, so that the caller can clean up."""
    ended = Event()
    before = _on_signals(ended)
    try:
        start()
        while not ended.wait(0.2):  # a signal to another thread would not wake this one
            pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_signals(ended: Event) -> dict[signal.Signals, Callable[..., object] | int | None]:
    """Let Ctrl-C and SIGTERM set `ended`. Return the previous handlers. Works only in the main thread."""
    if current_thread() is not main_thread():
        return {}
    numbers = (signal.SIGINT, signal.SIGTERM)
    return {number: signal.signal(number, lambda *_: ended.set()) for number in numbers}
