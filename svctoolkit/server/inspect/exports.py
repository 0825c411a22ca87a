"""Records as files to download: events as NDJSON, requests to destinations as an HTTP archive (HAR 1.2)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from svctoolkit import __version__
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.server.inspect.parameters import INTEGER, number, settle
from svctoolkit.server.inspect.queries import page
from svctoolkit.server.inspect.routes import FILTER_PARAMETERS, filter_of
from svctoolkit.server.store.records import Filter
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal
from svctoolkit.server.worker import Engine

_AT_ONCE = 200  # records read at a time
_HAR = "application/json"
_NDJSON = "application/x-ndjson"


class Exports:
    """The operations. Secrets are masked."""

    def __init__(self, engine: Engine, protected: Callable[[Handler], Handler]) -> None:
        self._engine, self._protected = engine, protected

    async def events(self, request: Request) -> Response:
        chosen = await self._chosen(request)
        lines = (encode(record) + b"\n" for record in self._records("events", chosen))
        return StreamingResponse(lines, media_type=_NDJSON, headers=_attachment("events.ndjson"))

    async def requests(self, request: Request) -> Response:
        chosen = await self._chosen(request)
        return StreamingResponse(self._archive(chosen), media_type=_HAR, headers=_attachment("requests.har"))

    async def _chosen(self, request: Request) -> Filter:
        query = dict(request.query_params)
        seq = number(query, "seq", 0) if "seq" in query else None
        chosen = filter_of(query, "seq")
        await settle(self._engine)
        return replace(chosen, seq=seq)

    def _records(self, kind: str, chosen: Filter) -> Iterator[dict[str, Json]]:
        """Yield all matching records, read a few at a time."""
        after = 0
        while records := page(self._engine, kind, chosen, after, _AT_ONCE):
            yield from records
            after = records[-1]["number"]

    def _archive(self, chosen: Filter) -> Iterator[bytes]:
        creator = encode({"name": "svctoolkit", "version": __version__})
        yield b'{"log":{"version":"1.2","creator":%s,"entries":[' % creator
        for number_, record in enumerate(self._records("deliveries", chosen)):
            yield (b"," if number_ else b"") + encode(archive_entry(record))
        yield b"]}}"

    def operations(self) -> list[Operation]:
        refusals = {
            400: ResponseDoc("A parameter is invalid.", (Refusal,)),
            401: ResponseDoc("Credentials are wrong, or missing although they are required.", (Refusal,)),
        }
        seq = Parameter("seq", "query", "Only records of this event.", INTEGER)
        files = (
            (
                "events.ndjson",
                "exportEvents",
                "Download events",
                "A JSON object per line, oldest first.",
                self.events,
            ),
            ("requests.har", "exportRequests", "Download requests", "Requests to destinations as HAR.", self.requests),
        )
        return [
            Operation(
                method="GET",
                path=f"/inspect/export/{name}",
                id=id,
                summary=summary,
                description=f"{description} Accepts the same filters as the lists.",
                handle=self._protected(handle),
                login="local",
                parameters=(*FILTER_PARAMETERS, seq),
                responses={200: ResponseDoc("The file."), **refusals},
            )
            for name, id, summary, description, handle in files
        ]


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def archive_entry(record: Mapping[str, Json]) -> dict[str, Json]:
    """Return a delivery, in the form of `/inspect/deliveries`, as an entry of an archive."""
    request, milliseconds = record["request"], record["milliseconds"]
    return {
        "startedDateTime": record["at"],
        "time": milliseconds,
        "request": _request(request),
        "response": _response(record),
        "cache": {},
        "timings": {"send": 0, "wait": milliseconds, "receive": 0},
        "comment": f"{record['destination']}, attempt {record['attempt']}",
    }


def _request(request: Mapping[str, Any]) -> dict[str, Any]:
    body, headers = request["body"], request["headers"]
    members: dict[str, Any] = {
        "method": request["method"],
        "url": request["url"],
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(headers),
        "queryString": _pairs(parse_qsl(urlsplit(request["url"]).query, keep_blank_values=True)),
        "headersSize": -1,
        "bodySize": len(body.encode("utf-8", "replace")),
    }
    if body:
        kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        members["postData"] = {"mimeType": kind, "text": _text(body)}
    return members


def _response(record: Mapping[str, Any]) -> dict[str, Any]:
    answer, error = record["response"], record["error"]
    text = answer if isinstance(answer, str) else "" if answer is None else encode(answer).decode()
    kind = next((value for name, value in record["headers"].items() if name.lower() == "content-type"), "")
    return {
        "status": 0 if error else record["status"],
        "statusText": error,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(record["headers"]),
        "content": {"size": len(text.encode("utf-8", "replace")), "mimeType": kind, "text": text},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
    }


def _pairs(values: Mapping[str, str] | list[tuple[str, str]]) -> list[dict[str, str]]:
    items = values.items() if isinstance(values, Mapping) else values
    return [{"name": name, "value": str(value)} for name, value in items]


def _text(body: str) -> str:
    """Return the body as text; a binary body stays in base64."""
    if not body.startswith("base64:"):
        return body
    try:
        return base64.b64decode(body[7:]).decode()
    except ValueError:
        return body
