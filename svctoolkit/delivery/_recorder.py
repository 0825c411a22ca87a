"""The built-in destination: keeps every request and returns configured responses."""

from __future__ import annotations

import gzip
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._http import HttpRequest, HttpResponse
from svctoolkit.delivery._js import json_bytes, stringify, utf8
from svctoolkit.delivery._sender import parse_body
from svctoolkit.delivery._url import Url
from svctoolkit.displayed import Displayed
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker


class Answer(msgspec.Struct, frozen=True):
    """How the recorder responds to one request.

    `body` is text, bytes, or a value that is sent as JSON; its type sets the content type unless `headers` has one.
    `delay` is in seconds. `close` closes the connection instead of responding, `truncate` in the middle of the body.
    With `close="after"` the destination accepts the request, and only its response is lost: a simulated destination
    holds what was sent. `times` is how many requests in a row get this answer: by default one, for the last answer all
    that follow (unless it has `close="after"`).
    `failed` are the positions of the rejected items of a batch, for destinations that report items separately: see
    `partial`.
    """

    status: int = 200
    body: Any = msgspec.field(default_factory=lambda: {"success": True})
    headers: Mapping[str, str] = {}
    delay: float = 0.0
    close: bool | Literal["after"] = False
    truncate: bool = False
    times: int | None = None
    failed: tuple[int, ...] = ()

    @classmethod
    def partial(cls, *, failed: Sequence[int], delay: float = 0.0, times: int | None = None) -> Answer:
        """Return an answer that accepts a batch except the items at these positions (from 0), in its own format.

        A destination that only accepts or rejects whole requests responds with 400.
        """
        return cls(400, {"message": "refused"}, delay=delay, times=times, failed=tuple(failed))

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


@dataclass(frozen=True, slots=True)
class Recorded(Displayed):
    """One request as it arrived, and its response: None if the connection was closed or the sender gave up.

    A data plane adds where the request belongs: the key of the `destination`, the `run`, and the message ids of the
    `events`. A request of user code has the key of its `transformation`. `script` is the key of the script that
    answered, if there was one.
    """

    request: HttpRequest
    response: HttpResponse | None
    time: datetime
    destination: str = ""
    run: str = ""
    events: tuple[str, ...] = ()
    transformation: str = ""
    script: str = ""
    _secrets: Callable[[], Iterable[str]] = field(default=tuple, repr=False, compare=False)

    def __repr__(self) -> str:
        about = f"{self.request!r}, {self.response!r}, {self.destination!r}, run={self.run!r}, events={self.events!r}"
        return Masker.of(self._secrets()).text(f"<Recorded {about}>")

    @property
    def host(self) -> str:
        """The host, with the port unless it is the scheme's default."""
        return Url.parse(self.request.url).place

    @property
    def text(self) -> str:
        """The body, decompressed."""
        body = self.request.body
        if any(name.lower() == "content-encoding" and "gzip" in v for name, v in self.request.headers.items()):
            body = _unzip(body)
        return body.decode("utf-8", "replace")

    @property
    def json(self) -> Json:
        """The parsed body, or None if it is not JSON."""
        value = parse_body(self.text.encode())
        return value if value != self.text else None

    @property
    def form(self) -> dict[str, str]:
        """The body parsed as a form; if a name occurs several times, the last value."""
        return dict(parse_qsl(self.text, keep_blank_values=True))

    def masker(self) -> Masker:
        """Return a masker for the secrets that are known at this time."""
        return Masker.of(self._secrets())


def _unzip(body: bytes) -> bytes:
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error):
        return body


def _now() -> datetime:
    return datetime.now(UTC)


class Recorder(Displayed):
    """A transport that replaces every destination's server. Nothing leaves the machine. Thread-safe.

    It keeps the last `limit` requests in `requests` and counts the older ones in `forgotten`. By default it responds
    with 200 `{"success": true}`. `secrets` returns the strings to mask wherever requests are displayed.

    >>> recorder = Recorder()
    >>> recorder.answer("hook.example", Answer(503), Answer(200))
    >>> [recorder(HttpRequest("POST", "https://hook.example/in"), timeout=1).status for _ in range(3)]
    [503, 200, 200]
    """

    def __init__(
        self,
        *,
        limit: int = 10_000,
        clock: Callable[[], datetime] = _now,
        sleep: Callable[[float], None] = time.sleep,
        secrets: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._clock, self._secrets = clock, secrets
        #: lets the time of an answer's `delay` pass
        self.sleep = sleep
        self._kept: deque[Recorded] = deque(maxlen=limit)
        self._fetched: deque[Recorded] = deque(maxlen=limit)
        self._arrived = 0
        self._answers: dict[str, _Script] = {}
        self._scripts: dict[tuple[str, str], _Script] = {}
        self._changed = threading.Condition()

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """The requests that are kept, oldest first."""
        with self._changed:
            return tuple(self._kept)

    @property
    def fetched(self) -> tuple[Recorded, ...]:
        """Those of `requests` that user code has sent, also after `requests` was full."""
        with self._changed:
            return tuple(self._fetched)

    def forget_fetched(self, run: str) -> None:
        """Remove the requests of a run, and of the runs within it, from `fetched`."""
        with self._changed:
            others = [kept for kept in self._fetched if not _is_within(kept.run, run)]
            self._fetched = deque(others, maxlen=self._fetched.maxlen)

    def __repr__(self) -> str:
        return f"<Recorder: {self._arrived:,} requests>"

    def masker(self) -> Masker:
        """Return a masker for the secrets that are known at this time."""
        return Masker.of(self._secrets())

    @property
    def forgotten(self) -> int:
        """The number of requests that are no longer kept because `limit` later ones arrived."""
        with self._changed:
            return self._arrived - len(self._kept)

    @property
    def is_silent(self) -> bool:
        """Whether it keeps no requests, and has no answers of its own: nothing of a request can be seen in it."""
        with self._changed:
            return self._kept.maxlen == 0 and not self._answers and not self._scripts

    def answer(self, to: str, *answers: Answer) -> None:
        """Answer requests to a host (`hook.example`, `localhost:8080`), a URL prefix, or `*` (all) with `answers`.

        They are used in order. The last one repeats unless it has `times`. The longest matching prefix wins, then host
        with port, host, `*`.
        Calling it again replaces the answers. Without `answers` requests get the default response again.

        Raises `DeliveryError` if `to` is neither a host nor a URL, `UsageError` for answers that are not `Answer`s.
        """
        key = _key(to)
        with self._changed:
            if answers:
                self._answers[key] = _Script(answers)
            else:
                self._answers.pop(key, None)

    def script(self, destination: str, *answers: Answer, run: str = "") -> None:
        """Like `answer`, for the requests that a data plane sends to a destination (by key), or only those of a run.

        A script takes precedence over `answer`, and one of a run over one for all runs. The script of a run
        also applies to the runs within it: that of `r` to `r/1`. Instead of a destination, it can be for a URL prefix
        that user code requests (`https://crm.example/lookup`); the longest one applies.
        Raises `UsageError` for anything but `Answer`s, `DeliveryError` for an invalid URL.
        """
        if "://" in destination:
            Url.parse(destination)
        with self._changed:
            if answers:
                self._scripts[destination, run] = _Script(answers)
            else:
                self._scripts.pop((destination, run), None)

    def script_of(self, destination: str, run: str = "") -> tuple[Answer, ...]:
        """Return the unused answers that `script` set for exactly this destination and run."""
        with self._changed:
            script = self._scripts.get((destination, run))
            return script.remaining() if script else ()

    def is_scripted(self, destination: str) -> bool:
        """Whether answers are configured that may apply to requests to a destination, in any run.

        Without any, every request is answered at once, with the response of its server.
        """
        with self._changed:
            return bool(self._answers) or any(key == destination for key, _ in self._scripts)

    @property
    def answers_code(self) -> bool:
        """Whether answers are configured for requests of the user's code."""
        with self._changed:
            return bool(self._answers) or any("://" in key for key, _ in self._scripts)

    def unused(self) -> dict[str, int]:
        """Return how many answers no request received, by destination or host; those that received all are left out."""
        with self._changed:
            scripts = [(key, script) for (key, _), script in self._scripts.items()] + [*self._answers.items()]
            return {key: script.unused for key, script in scripts if script.unused}

    def clear(self) -> None:
        """Forget all requests and their count. The configured answers stay."""
        with self._changed:
            self._kept.clear()
            self._fetched.clear()
            self._arrived = 0

    def reset(self, run: str = "") -> None:
        """Restore the initial state: no requests, default response. With `run`, only for that run and those in it."""
        with self._changed:
            others = [kept for kept in self._kept if run and not _is_within(kept.run, run)]
            self._arrived -= len(self._kept) - len(others)
            self._kept = deque(others, maxlen=self._kept.maxlen)
            fetched = [kept for kept in self._fetched if run and not _is_within(kept.run, run)]
            self._fetched = deque(fetched, maxlen=self._kept.maxlen)
            self._scripts = {key: s for key, s in self._scripts.items() if run and not _is_within(key[1], run)}
            if not run:
                self._arrived = 0
                self._answers.clear()

    def wait(self, count: int, timeout: float = 10.0) -> bool:
        """Return True once `count` requests have arrived since the start or `clear`, False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._arrived >= count, timeout)

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        return self.exchange(request, timeout=timeout)

    def exchange(
        self,
        request: HttpRequest,
        *,
        timeout: float,
        destination: str = "",
        run: str = "",
        events: tuple[str, ...] = (),
        server: Server | None = None,
        transformation: str = "",
        sleep: Callable[[float], object] | None = None,
    ) -> HttpResponse:
        """Return the response within `timeout` seconds. Raises `DeliveryError`.

        `server` returns what the destination's own server would respond. It is used if no answer is configured, and for
        batches with rejected items. `transformation` is the key of the user code that sends the request. `sleep` lets
        the time of a delay pass, instead of the recorder's own.
        """
        url = Url.parse(request.url)
        with self._changed:
            if transformation:
                script, chosen = self._for_code(url, run)
            else:
                script, chosen = destination, self._from_script(destination, run)
            script = script if chosen is not None else ""
            chosen = chosen or self._next(url)
        if server is not None:  # outside the lock: a server may take long, and has its own
            chosen = _ask(server, request, chosen)
        chosen = chosen or Answer()
        gives_up = chosen.delay >= timeout
        response = None if chosen.close or chosen.truncate or gives_up else chosen.response()
        with self._changed:
            about = (destination, run, events, transformation, script, self._secrets)
            recorded = Recorded(request, response, self._clock(), *about)
            self._kept.append(recorded)
            if transformation:
                self._fetched.append(recorded)
            self._arrived += 1
            self._changed.notify_all()
        if chosen.delay > 0:
            (sleep or self.sleep)(min(chosen.delay, timeout))
        if gives_up:
            raise failure("ECONNABORTED", f"{url.place} did not respond within {timeout:g} s")
        if response is None:
            when = "before its response was complete" if chosen.truncate else "without a response"
            raise failure("ECONNRESET", f"{url.place} closed the connection {when}")
        return response

    def record(
        self, served: Sequence[tuple[HttpRequest, HttpResponse, tuple[str, ...]]], *, destination: str, run: str
    ) -> bool:
        """Keep requests that the destination's own server has answered, with the message ids of their events.

        Return False if answers are configured that may apply to them: then none is kept.
        """
        with self._changed:
            if self._answers or any(key == destination for key, _ in self._scripts):
                return False
            now, secrets = self._clock(), self._secrets
            self._kept.extend(
                Recorded(request, response, now, destination, run, events, "", "", secrets)
                for request, response, events in served
            )
            self._arrived += len(served)
            self._changed.notify_all()
        return True

    def _from_script(self, destination: str, run: str) -> Answer | None:
        """Return the answer from the script of the run, of the run around it, and so on to the script for all runs."""
        while destination:
            script = self._scripts.get((destination, run))
            answer = script.next() if script else None
            if answer is not None or not run:
                return answer
            run = run.rpartition("/")[0]
        return None

    def _for_code(self, url: Url, run: str) -> tuple[str, Answer | None]:
        """Return the answer from the script of the longest URL prefix, with that prefix."""
        prefixes = {key for key, _ in self._scripts if "://" in key and str(url).startswith(_key(key))}
        for key in sorted(prefixes, key=len, reverse=True):
            answer = self._from_script(key, run)
            if answer is not None:
                return key, answer
        return "", None

    def _next(self, url: Url) -> Answer | None:
        if not self._answers:
            return None
        prefixes = [key for key in self._answers if "://" in key and str(url).startswith(key)]
        prefixes.sort(key=len, reverse=True)
        for key in (*prefixes, f"{url.host}:{url.port}", url.host, "*"):
            answer = self._answers[key].next() if key in self._answers else None
            if answer is not None:
                return answer
        return None


def _ask(server: Server, request: HttpRequest, chosen: Answer | None) -> Answer | None:
    """Return the response, given the scripted one: the server is asked without one, and if only the response is lost.

    For a batch with rejected items the server gives the response its form.
    """
    if chosen is None:
        return server(request, ())
    if chosen.failed:
        own = server(request, chosen.failed)
        return replace(own, delay=chosen.delay) if own else chosen
    if chosen.close == "after" or chosen.truncate:
        server(request, ())
    return chosen


class _Script:
    """Answers in order, each used `times` times."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if not isinstance(answer, Answer):
                raise UsageError(f"a recorder's answer must be an Answer, such as Answer(503), not {answer!r}")
        self._answers, self._uses = deque(answers), 0

    def remaining(self) -> tuple[Answer, ...]:
        return tuple(self._answers)

    @property
    def unused(self) -> int:
        return max(0, sum(answer.times or 1 for answer in self._answers) - self._uses)

    def next(self) -> Answer | None:
        """Return the next answer, or None if all are used up."""
        if not self._answers:
            return None
        answer = self._answers[0]
        self._uses += 1
        endless = answer.times is None and len(self._answers) == 1 and answer.close != "after"
        if not endless and self._uses >= (answer.times or 1):
            self._answers.popleft()
            self._uses = 0
        return answer


def _is_within(run: str, outer: str) -> bool:
    return run == outer or run.startswith(f"{outer}/")


def _key(to: str) -> str:
    if to == "*":
        return to
    url = Url.parse(to if "://" in to else f"http://{to}")
    if "://" in to:
        return str(url)
    return f"{url.host}:{url.port}" if re.search(r":[0-9]+$", to) else url.host
