"""Workers of a Dask cluster that outlive Ctrl-C. Only who uses a cluster imports this: it loads Dask."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import suppress

from distributed import Client, Worker, WorkerPlugin


class Undisturbed(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
    """Lets the workers that this process has started ignore Ctrl-C; it ends them itself.

    Ctrl-C, and the button of a notebook, reach this process and its children alike. The workers of a `LocalCluster`
    would end of it, with all that they have done. Workers of others are left alone: theirs to be ended so.
    """

    idempotent = True

    def __init__(self) -> None:
        self._parent = (socket.gethostname(), os.getpid())
        self.name = f"svctoolkit-undisturbed-{'-'.join(map(str, self._parent))}"

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's protocol
        """Dask calls it in each worker, also in those that come later."""
        is_child = (socket.gethostname(), os.getppid()) == self._parent
        if is_child and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def protect(client: Client) -> None:
    """Let the workers of a cluster outlive a Ctrl-C in this process, as far as they are its children."""
    with suppress(OSError):  # a scheduler that is gone is told where work is given to it
        client.register_plugin(Undisturbed())
