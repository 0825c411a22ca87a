"""What user code has requested, logged and lost in a run, under the names that expectations use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit.delivery.view import json_or_text, view_of
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.delivery import Recorded
    from svctoolkit.workspace import CodeLog, LostValue


def fetch_record(recorded: Recorded) -> dict[str, Json]:
    """Return a request of user code; without a response, it has no `status`."""
    request, response = recorded.request, recorded.response
    record: dict[str, Any] = {
        "destination": recorded.destination,
        "transformation": recorded.transformation,
        **view_of(request),
    }
    return record | ({"status": response.status, "response": json_or_text(response.body)} if response else {})


def log_record(log: CodeLog) -> dict[str, Json]:
    """Return a line that user code has logged."""
    names = ("destination", "transformation", "level", "text", "event")
    return {name: getattr(log, name) for name in names}


def loss_record(lost: LostValue) -> dict[str, Json]:
    """Return a value that user code returned and JSON could not represent."""
    record: dict[str, Json] = {name: getattr(lost, name) for name in ("destination", "transformation", "event")}
    return record | {"path": lost.loss.path, "value": lost.loss.kind, "becomes": lost.loss.becomes}


def code_records(
    fetched: Iterable[Recorded], logs: Iterable[CodeLog], losses: Iterable[LostValue], run: str
) -> dict[str, list[dict[str, Json]]]:
    """Return the requests, log lines and losses of a run, and how often scripts of the recorder answered requests."""
    of_run = [request for request in fetched if request.run == run]
    return {
        "fetched": [fetch_record(request) for request in of_run],
        "logs": [log_record(log) for log in logs if log.run == run],
        "losses": [loss_record(lost) for lost in losses if lost.run == run],
        "scripts": [{"script": request.script} for request in of_run if request.script],
    }


def by_destination(records: Iterable[Mapping[str, Json]]) -> dict[str, list[Mapping[str, Json]]]:
    """Return records by the key of their destination, in its order."""
    grouped: dict[str, list[Mapping[str, Json]]] = {}
    for record in records:
        grouped.setdefault(str(record["destination"]), []).append(record)
    return dict(sorted(grouped.items()))
