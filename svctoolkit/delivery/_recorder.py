"""The built-in destination: keeps every request and answers as told."""

from __future__ import annotations

import gzip
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._http import HttpRequest, HttpResponse
from svctoolkit.delivery._js import json_bytes, stringify, utf8
from svctoolkit.delivery._sender import parse_body
from svctoolkit.delivery._url import Url
from svctoolkit.displayed import Displayed
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker


@dataclass(frozen=True, slots=True)
class Answer:
    """How the recorder answers one request.

    `body` is text, bytes, or a value that is sent as JSON; its kind gives the content type unless `headers` has one.
    `delay` is in seconds; `close` closes the connection instead of an answer, `truncate` in the middle of its body.
    `times` is how often in a row: once by default, and the last without end. `failed` are the places of the items of a
    batch that are refused, for destinations that say so of each: see `partial`.
    """

    status: int = 200
    body: Any = field(default_factory=lambda: {"success": True})
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    close: bool = False
    truncate: bool = False
    times: int | None = None
    failed: tuple[int, ...] = ()

    @classmethod
    def partial(cls, *, failed: Sequence[int], delay: float = 0.0, times: int | None = None) -> Answer:
        """The destination takes a batch but for the items at these places (from 0), and answers in its own form.

        A destination that answers to requests as a whole refuses it with 400.
        """
        return cls(400, {"message": "refused"}, delay=delay, times=times, failed=tuple(failed))

    def response(self) -> HttpResponse:
        """The answer as it arrives."""
        kind, body = _encode_body(self.body)
        headers = {"content-type": kind, **{name.lower(): value for name, value in self.headers.items()}}
        return HttpResponse(self.status, headers, body)


def _encode_body(body: Any) -> tuple[str, bytes]:
    if isinstance(body, bytes):
        return "application/octet-stream", body
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode("utf-8", "replace")
    return "application/json", json_bytes(body) if isinstance(body, (dict, list)) else utf8(stringify(body))


#: What a destination's server answers to a request whose items at these places it refuses; None where nobody knows.
Server: TypeAlias = Callable[[HttpRequest, Sequence[int]], Answer | None]


@dataclass(frozen=True, slots=True)
class Recorded(Displayed):
    """One request as it arrived, and its answer: None where the connection was closed or the sender gave up.

    A data plane says whose request it is: the key of the `destination`, the `run`, and the message ids of the `events`.
    """

    request: HttpRequest
    response: HttpResponse | None
    time: datetime
    destination: str = ""
    run: str = ""
    events: tuple[str, ...] = ()
    _secrets: Callable[[], Iterable[str]] = field(default=tuple, repr=False, compare=False)

    def __repr__(self) -> str:
        about = f"{self.request!r}, {self.response!r}, {self.destination!r}, run={self.run!r}, events={self.events!r}"
        return Masker.of(self._secrets()).text(f"<Recorded {about}>")

    @property
    def host(self) -> str:
        """Host, with the port if it is not the scheme's own."""
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
        """The parsed body; None if it is no JSON."""
        value = parse_body(self.text.encode())
        return value if value != self.text else None

    @property
    def form(self) -> dict[str, str]:
        """The body as a form; of several values of one name the last."""
        return dict(parse_qsl(self.text, keep_blank_values=True))

    def masker(self) -> Masker:
        """Masks the secrets that are known now."""
        return Masker.of(self._secrets())


def _unzip(body: bytes) -> bytes:
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error):
        return body


def _now() -> datetime:
    return datetime.now(UTC)


class Recorder(Displayed):
    """A transport that stands in for every destination's server. Nothing leaves the machine; safe for many threads.

    It keeps the last `limit` requests in `requests` and counts the older ones in `forgotten`. Without an instruction
    it answers 200 `{"success": true}`. `secrets` gives what is masked where requests are shown to people.

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
        self._clock, self._sleep, self._secrets = clock, sleep, secrets
        self._kept: deque[Recorded] = deque(maxlen=limit)
        self._arrived = 0
        self._answers: dict[str, _Script] = {}
        self._scripts: dict[tuple[str, str], _Script] = {}
        self._changed = threading.Condition()

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """Every request that is kept, oldest first."""
        with self._changed:
            return tuple(self._kept)

    def __repr__(self) -> str:
        return f"<Recorder: {self._arrived:,} requests>"

    def masker(self) -> Masker:
        """Masks the secrets that are known now."""
        return Masker.of(self._secrets())

    @property
    def forgotten(self) -> int:
        """How many requests are no longer kept, because `limit` later ones came."""
        with self._changed:
            return self._arrived - len(self._kept)

    def answer(self, to: str, *answers: Answer) -> None:
        """Answer requests to a host (`hook.example`, `localhost:8080`), a URL prefix, or `*` (all) with `answers`.

        They are used in order; the last is repeated, unless it has `times`. The longest prefix rules, then host with
        port, host, `*`.
        Telling it again replaces the answers; without `answers` requests are answered as by default again.

        Raises `DeliveryError` for what is neither host nor URL, `UsageError` for what is no `Answer`.
        """
        key = _key(to)
        with self._changed:
            if answers:
                self._answers[key] = _Script(answers)
            else:
                self._answers.pop(key, None)

    def script(self, destination: str, *answers: Answer, run: str = "") -> None:
        """As `answer`, for the requests that a data plane sends to a destination (its key), or those of one run only.

        A script goes before what `answer` says, and that of a run before that of all runs. The script of a run holds
        for the runs within it, too: that of `r` for `r/1`. Raises `UsageError` for what is no `Answer`.
        """
        with self._changed:
            if answers:
                self._scripts[destination, run] = _Script(answers)
            else:
                self._scripts.pop((destination, run), None)

    def script_of(self, destination: str, run: str = "") -> tuple[Answer, ...]:
        """What `script` said for just this destination and run, without what is used up."""
        with self._changed:
            script = self._scripts.get((destination, run))
            return script.remaining() if script else ()

    def clear(self) -> None:
        """Forget all requests and their count. The answers stay as told."""
        with self._changed:
            self._kept.clear()
            self._arrived = 0

    def reset(self, run: str = "") -> None:
        """Be as at the beginning: no requests, and answers as by default. With `run` only for it and the runs in it."""
        with self._changed:
            others = [kept for kept in self._kept if run and not _is_within(kept.run, run)]
            self._arrived -= len(self._kept) - len(others)
            self._kept = deque(others, maxlen=self._kept.maxlen)
            self._scripts = {key: s for key, s in self._scripts.items() if run and not _is_within(key[1], run)}
            if not run:
                self._arrived = 0
                self._answers.clear()

    def wait(self, count: int, timeout: float = 10.0) -> bool:
        """True as soon as `count` requests have arrived since the start or `clear`, false after `timeout` seconds."""
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
    ) -> HttpResponse:
        """The answer, within `timeout` seconds. Raises `DeliveryError`.

        `server` knows what the destination's own server says: where nobody said what the answer is, and to batches of
        which it refuses some items.
        """
        url = Url.parse(request.url)
        with self._changed:
            chosen = self._from_script(destination, run) or self._next(url)
            if server is not None and (chosen is None or chosen.failed):
                own = server(request, chosen.failed if chosen else ())
                chosen = replace(own, delay=chosen.delay) if own and chosen else own or chosen
            chosen = chosen or Answer()
            gives_up = chosen.delay >= timeout
            response = None if chosen.close or chosen.truncate or gives_up else chosen.response()
            self._kept.append(Recorded(request, response, self._clock(), destination, run, events, self._secrets))
            self._arrived += 1
            self._changed.notify_all()
        if chosen.delay > 0:
            self._sleep(min(chosen.delay, timeout))
        if gives_up:
            raise failure("ECONNABORTED", f"{url.place} gave no answer within {timeout:g} s")
        if response is None:
            when = "before its answer was complete" if chosen.truncate else "without an answer"
            raise failure("ECONNRESET", f"{url.place} closed the connection {when}")
        return response

    def _from_script(self, destination: str, run: str) -> Answer | None:
        """By the script of the run, of the run that it is within, and so on to that of all runs."""
        while destination:
            script = self._scripts.get((destination, run))
            answer = script.next() if script else None
            if answer is not None or not run:
                return answer
            run = run.rpartition("/")[0]
        return None

    def _next(self, url: Url) -> Answer | None:
        prefixes = [key for key in self._answers if "://" in key and str(url).startswith(key)]
        prefixes.sort(key=len, reverse=True)
        for key in (*prefixes, f"{url.host}:{url.port}", url.host, "*"):
            answer = self._answers[key].next() if key in self._answers else None
            if answer is not None:
                return answer
        return None


class _Script:
    """Answers in order, each as often as it says."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if not isinstance(answer, Answer):
                raise UsageError(f"an answer of the recorder is an Answer, such as Answer(503), and not {answer!r}")
        self._answers, self._uses = deque(answers), 0

    def remaining(self) -> tuple[Answer, ...]:
        return tuple(self._answers)

    def next(self) -> Answer | None:
        """The next one; None where all are used up."""
        if not self._answers:
            return None
        answer = self._answers[0]
        self._uses += 1
        endless = answer.times is None and len(self._answers) == 1
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
