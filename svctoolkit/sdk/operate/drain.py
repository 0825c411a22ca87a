"""Sending what waits in a data directory, without the application."""

from __future__ import annotations

import time
from collections.abc import Callable

from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import new_id, settings
from svctoolkit.sdk.queue.database import Database
from svctoolkit.sdk.queue.location import fingerprint
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.dispatcher import Dispatcher
from svctoolkit.sdk.sending.http import HttpTransport
from svctoolkit.sdk.sending.worker import Worker

_STEP_SECONDS = 1.0
_MOST_EVENTS = 1 << 40


def drain(path: str, write_key: str, url: str, timeout: float, show: Callable[[int, int], None]) -> str:
    """Send the waiting events of a write key; return the last problem, if any.

    A client without a recorder: it leaves the application's identity, session and version as they are. Calls `show`
    with the numbers of delivered and waiting events each second. Raises `ConfigError` for an invalid URL.
    """
    chosen = settings({"data_plane_url": url} if url else {}, {"backoff": lambda failures: min(0.5 * failures, 5.0)})
    reporter = Reporter()
    reporter.use(chosen)
    database, transport = Database(path, reporter), HttpTransport()
    source = fingerprint(write_key)
    queue = Queue(database, reporter, source=source, origin=new_id(), limit=_MOST_EVENTS, clock=chosen.clock)
    queue.refresh(open_file=True)
    anonymous_id = queue.installation.read("device_id") or queue.states.read("device_id") or ""
    dispatcher = Dispatcher(
        queue,
        transport,
        reporter,
        chosen,
        write_key,
        synchronize=lambda _: anonymous_id,
        on_config=lambda _: None,
    )
    worker = Worker(dispatcher, reporter, database.gate.lent, embedded=True)
    end = time.monotonic() + timeout
    try:
        while not worker.flush(min(_STEP_SECONDS, max(0.0, end - time.monotonic()))):
            show(reporter.counts().get("delivered", 0), queue.waiting)
            if dispatcher.pause.blocks or time.monotonic() >= end:
                break
        numbers, counts = queue.numbers()
        show(counts.get("delivered", 0), numbers.waiting)
        return dispatcher.pause.text or reporter.last_error
    finally:
        queue.close()
        transport.close()
