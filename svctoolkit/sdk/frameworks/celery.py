"""Celery: the user of a request travels with the tasks that it starts.

    track_tasks(client)

in the module of the Celery application. A task that is started in a request, in `client.scope` or in another task runs
in the same scope: its events have the user, the anonymous ID and the context of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.events.identity import Identity

#: The message header.
HEADER = "svctoolkit"


def track_tasks(client: ServiceClient, *, exit_timeout: float = 2.0) -> None:
    """Let identities travel in a message header, for all Celery applications of this process.

    A visitor who does not allow events does not allow them in tasks either. When a child process of a worker ends, it
    sends its events for at most `exit_timeout` seconds; the rest stays in the queue.
    """
    from celery import signals

    tracking = _TaskTracking(client, exit_timeout)
    # `weak`: nothing else keeps these methods alive.
    signals.before_task_publish.connect(tracking.publish, weak=False)
    signals.task_prerun.connect(tracking.begin, weak=False)
    signals.task_postrun.connect(tracking.end, weak=False)
    signals.worker_process_shutdown.connect(tracking.shut_down, weak=False)


class _TaskTracking:
    """The receivers of Celery's signals."""

    def __init__(self, client: ServiceClient, exit_timeout: float) -> None:
        self._client, self._exit_timeout = client, exit_timeout
        self._scopes: dict[str, AbstractContextManager[None]] = {}

    def publish(self, headers: dict[str, Any] | None = None, **_: Any) -> None:
        identity = self._client.scoped_identity()
        if identity is not None and headers is not None:
            headers[HEADER] = _to_header(identity)

    def begin(self, task_id: str = "", task: Any = None, **_: Any) -> None:
        # Without a header it is a task of the application itself, or one that runs in the caller's scope
        # (`task_always_eager`).
        header = getattr(getattr(task, "request", None), HEADER, None)
        if isinstance(header, Mapping):
            scope = self._client.visit(_from_header(header))
            scope.__enter__()
            self._scopes[task_id] = scope

    def end(self, task_id: str = "", **_: Any) -> None:
        scope = self._scopes.pop(task_id, None)
        if scope is not None:
            scope.__exit__(None, None, None)

    def shut_down(self, **_: Any) -> None:
        # Such a process ends without the interpreter's `atexit`.
        self._client.shutdown(self._exit_timeout)


def _to_header(identity: Identity) -> dict[str, object]:
    return {
        "anonymousId": identity.anonymous_id,
        "userId": identity.user_id,
        "context": dict(identity.visitor or {}),
        "isDenied": identity.denied or identity.opted_out,
    }


def _from_header(header: Mapping[str, Any]) -> Identity:
    context = header.get("context")
    return Identity(
        str(header.get("anonymousId") or ""),
        str(header.get("userId") or ""),
        visitor=dict(context) if isinstance(context, Mapping) else {},
        denied=header.get("isDenied") is True,
    )
