"""How the recorder responds to requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.delivery._http import HttpRequest, HttpResponse
from svctoolkit.delivery._js import json_bytes, stringify, utf8
from svctoolkit.json_types import Json


class Answer(msgspec.Struct, frozen=True):
    """How the recorder responds to one request.

    `body` is text, bytes, or a value that is sent as JSON; its type sets the content type unless `headers` has one.
    `delay` is in seconds. `close` closes the connection instead of responding, `truncate` in the middle of the body.
    With `close="after"` the destination accepts the request, and only its response is lost: a simulated destination
    holds what was sent. `times` is how many requests in a row get this answer: by default one, for the last answer all
    that follow (unless it has `close="after"`).
    `failed` are the positions of the rejected items of a batch, for destinations that report items separately: see
    `partial`.

    With `when`, the answer is only for requests that match: an expectation with some of `method`, `url`, `path`,
    `query`, `headers` and `body`, as in suites. Answers with the same condition are a sequence of their own.
    """

    status: int = 200
    body: Any = msgspec.field(default_factory=lambda: {"success": True})
    headers: Mapping[str, str] = {}
    delay: float = 0.0
    close: bool | Literal["after"] = False
    truncate: bool = False
    times: int | None = None
    failed: tuple[int, ...] = ()
    when: Mapping[str, Json] | None = None

    @classmethod
    def partial(
        cls,
        *,
        failed: Sequence[int],
        delay: float = 0.0,
        times: int | None = None,
        when: Mapping[str, Json] | None = None,
    ) -> Answer:
        """Return an answer that accepts a batch except the items at these positions (from 0), in its own format.

        A destination that only accepts or rejects whole requests responds with 400.
        """
        return cls(400, {"message": "refused"}, delay=delay, times=times, failed=tuple(failed), when=when)

    def response(self) -> HttpResponse:
        """Return the response as the client receives it."""
        kind, body = _encode_body(self.body)
        headers = {"content-type": kind, **{name.lower(): value for name, value in self.headers.items()}}
        return HttpResponse(self.status, headers, body)


def _encode_body(body: Any) -> tuple[str, bytes]:
    if isinstance(body, bytes):
        return "application/octet-stream", body
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode("utf-8", "replace")
    return "application/json", json_bytes(body) if isinstance(body, (dict, list)) else utf8(stringify(body))


#: What a destination's server responds if it rejects the items at these positions; None if that is not known.
Server: TypeAlias = Callable[[HttpRequest, Sequence[int]], Answer | None]
