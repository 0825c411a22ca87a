"""Let the workers of a Dask cluster ignore Ctrl-C. Imported only if a cluster is used, because it imports Dask."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import suppress

from distributed import Client, Worker, WorkerPlugin


class Undisturbed(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """Makes the workers that this process started ignore Ctrl-C; this process stops them itself.

    Ctrl-C, and the stop button of a notebook, reach this process and its children alike. Without this plugin, the
    workers of a `LocalCluster` would exit and lose all their results. Workers of other processes are not touched.
    """

    idempotent = True

    def __init__(self) -> None:
        self._parent = (socket.gethostname(), os.getpid())
        self.name = f"svctoolkit-undisturbed-{'-'.join(map(str, self._parent))}"

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's protocol
        """Called by Dask in each worker, including those that join later."""
        is_child = (socket.gethostname(), os.getppid()) == self._parent
        if is_child and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def protect(client: Client) -> None:
    """Make the workers of a cluster ignore a Ctrl-C in this process, if they are its children."""
    with suppress(OSError):  # a missing scheduler is reported when work is submitted
        client.register_plugin(Undisturbed())
