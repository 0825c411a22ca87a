"""One try of a job: the requests of its destination's type, through the data plane's transport."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from svctoolkit.delivery import Sender
from svctoolkit.destinations import CATALOGUE, DeletionOutcome, Lookup
from svctoolkit.errors import CannotDelete, ToolkitError
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.pipeline import HeldChanges, Pipeline, Route, payload_of_lookup
from svctoolkit.secrets import reveal
from svctoolkit.server.regulations.model import KEPT, DeletionSent, DeletionTry, JobStatus
from svctoolkit.url_secrets import mask_http
from svctoolkit.workspace import Destination

_LOG = logging.getLogger("svctoolkit.delivery")
_TIMEOUT = 60.0  # seconds for a request, as in RudderStack
_ATTEMPTS = 4  # failed tries after which a job is aborted


class JobSender:
    """Tries jobs. `masked` hides secrets in what is kept, for stores that outlive the process."""

    def __init__(self, pipeline: Pipeline, clock: Callable[[], datetime], *, masked: bool) -> None:
        self._pipeline, self._clock, self._masked = pipeline, clock, masked

    def attempt(
        self, key: str, users: Sequence[Mapping[str, Json]], run: str, changed: Callable[[HeldChanges], None]
    ) -> tuple[JobStatus, list[DeletionTry]]:
        """Return the result of one try: the status of the job, and the try, twice if the token was renewed.

        `changed` gets what the requests changed at a simulated server. Nothing is raised.
        """
        try:
            destination = self._pipeline.workspace.destination(key)
            return self._attempt(destination, users, run, changed)
        except CannotDelete as error:
            return "aborted", [self._refused(405, str(error))]
        except ToolkitError as error:
            return "failed", [self._refused(400, self._pipeline.workspace.masker.text(str(error)))]
        except Exception as error:  # noqa: BLE001 - a bug in a deletion must not stop the others
            _LOG.exception("deletion at %s", key)
            return "aborted", [self._refused(500, f"this is a bug in svctoolkit: {type(error).__name__}")]

    def _attempt(
        self,
        destination: Destination,
        users: Sequence[Mapping[str, Json]],
        run: str,
        changed: Callable[[HeldChanges], None],
    ) -> tuple[JobStatus, list[DeletionTry]]:
        account = self._pipeline.workspace.account_of(destination)
        first = self._delete(destination, users, run, changed)
        tries = [first]
        if account is not None and first.auth == "REFRESH_TOKEN":
            account.renew()
            tries.append(self._delete(destination, users, run, changed))
        if account is not None and tries[-1].auth == "AUTH_STATUS_INACTIVE":
            account.active = False
        return _status(tries[-1]), tries

    def _delete(
        self,
        destination: Destination,
        users: Sequence[Mapping[str, Json]],
        run: str,
        changed: Callable[[HeldChanges], None],
    ) -> DeletionTry:
        deletion = CATALOGUE[destination.type].deletion if destination.type in CATALOGUE else None
        if deletion is None:
            raise CannotDelete(f"destinations of type {destination.type} cannot delete users")
        route = self._pipeline.route(destination)
        account = self._pipeline.workspace.account_of(destination)
        at = iso(self._clock())
        secret = None if account is None else reveal(account.tokens())
        urls: list[str] = []
        outcome = deletion.run(users, route.config, self._lookup(route, run, changed, urls), secret, at)
        return self._kept(at, outcome, route, urls)

    def _lookup(self, route: Route, run: str, changed: Callable[[HeldChanges], None], urls: list[str]) -> Lookup:
        """Return what sends one request, and adds its URL to `urls`."""
        transport = self._pipeline.transport_to(route, run, changed=changed)
        sender = Sender(transport, timeout=_TIMEOUT)

        def send(request: Mapping[str, Any]) -> tuple[int, Json]:
            answer = sender.send(payload_of_lookup(request))
            urls.append(answer.request.url)
            return (0, answer.error.code) if answer.error is not None else (answer.status, answer.response)

        return send

    def _kept(self, at: str, outcome: DeletionOutcome, route: Route, urls: Sequence[str]) -> DeletionTry:
        requests = [
            {
                "method": exchange.request["method"],
                "url": url,
                "headers": exchange.request["headers"],
                "body": exchange.request.get("body"),
                "status": exchange.status,
                "response": exchange.body,
            }
            for exchange, url in zip(outcome.exchanges[:KEPT], urls, strict=False)
        ]
        if self._masked:
            requests = mask_http(route.masker.mask(requests))
        error = route.masker.text(outcome.error or "")
        more, auth = len(outcome.exchanges) - len(requests), outcome.auth_error_category or ""
        return DeletionTry(at, outcome.status, error, [DeletionSent(**one) for one in requests], more, auth)

    def _refused(self, status: int, error: str) -> DeletionTry:
        return DeletionTry(iso(self._clock()), status, error, [])


def job_status(status: JobStatus, failures: int) -> JobStatus:
    """Return the status of a job after this many tries: the fourth failure is final."""
    return "aborted" if status == "failed" and failures >= _ATTEMPTS else status


def _status(last: DeletionTry) -> JobStatus:
    if last.status == 200:
        return "complete"
    # RudderStack cannot tell a vendor's 404 from its own, which means that the type cannot delete.
    return "aborted" if last.status in (404, 405) or last.auth == "AUTH_STATUS_INACTIVE" else "failed"
