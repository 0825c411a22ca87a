"""The built-in destination: keeps every request and returns configured responses."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from svctoolkit.delivery._http import HttpRequest, HttpResponse
from svctoolkit.delivery._runs import is_within
from svctoolkit.delivery._url import Url
from svctoolkit.delivery.faults.arrival import arrive
from svctoolkit.delivery.faults.injector import FaultInjector
from svctoolkit.delivery.recorder.answer import Answer, Server
from svctoolkit.delivery.recorder.recorded import Recorded
from svctoolkit.delivery.recorder.script import Script
from svctoolkit.delivery.view import view_of
from svctoolkit.displayed import Displayed
from svctoolkit.secrets import Masker


def _now() -> datetime:
    return datetime.now(UTC)


class MappingLookup(NamedTuple):
    """A request with which a mapping asks the destination's server something, and the answer if nothing else has one.

    `is_in_order`: answers of the destination's script without a condition are for look-ups, too, in the order of all
    requests. That is so if no simulated server could answer.
    """

    default: Callable[[HttpRequest], Answer | None]
    is_in_order: bool = False


class Recorder(Displayed):
    """A transport that replaces every destination's server. Nothing leaves the machine. Thread-safe.

    It keeps the last `limit` requests in `requests` and counts the older ones in `forgotten`. By default it responds
    with 200 `{"success": true}`. `secrets` returns the strings to mask wherever requests are displayed. Requests to a
    destination meet its `faults`, unless a script answers them.

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
        faults: FaultInjector | None = None,
    ) -> None:
        self._clock, self._secrets, self._faults = clock, secrets, faults or FaultInjector()
        #: lets the time of an answer's `delay` pass
        self.sleep = sleep
        self._kept: deque[Recorded] = deque(maxlen=limit)
        self._fetched: deque[Recorded] = deque(maxlen=limit)
        self._arrived = 0
        self._answers: dict[str, Script] = {}
        self._scripts: dict[tuple[str, str], Script] = {}
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
            others = [kept for kept in self._fetched if not is_within(kept.run, run)]
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
        """Whether it keeps no requests and has no scripted answers: nothing of a request can be seen in it."""
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
                self._answers[key] = Script(answers)
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
                self._scripts[destination, run] = Script(answers)
            else:
                self._scripts.pop((destination, run), None)

    def script_of(self, destination: str, run: str = "") -> tuple[Answer, ...]:
        """Return the unused answers that `script` set for exactly this destination and run."""
        with self._changed:
            script = self._scripts.get((destination, run))
            return script.remaining() if script else ()

    def idle_answers(self, destination: str, run: str = "") -> list[int]:
        """Return the positions of the answers of exactly this script that no request has got."""
        with self._changed:
            script = self._scripts.get((destination, run))
            return script.idle if script else []

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
            others = [kept for kept in self._kept if run and not is_within(kept.run, run)]
            self._arrived -= len(self._kept) - len(others)
            self._kept = deque(others, maxlen=self._kept.maxlen)
            fetched = [kept for kept in self._fetched if run and not is_within(kept.run, run)]
            self._fetched = deque(fetched, maxlen=self._kept.maxlen)
            self._scripts = {key: s for key, s in self._scripts.items() if run and not is_within(key[1], run)}
            if not run:
                self._arrived = 0
                self._answers.clear()

    def wait(self, count: int, timeout: float = 30.0) -> bool:
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
        lookup: MappingLookup | None = None,
    ) -> HttpResponse:
        """Return the response within `timeout` seconds. Raises `DeliveryError`.

        `server` returns what the destination's own server would respond. It is used if no answer is configured, and for
        batches with rejected items. `transformation` is the key of the user code that sends the request. `sleep` lets
        the time of a delay pass, instead of the recorder's own. `lookup`: a mapping asks; no fault applies to it.
        """
        url = Url.parse(request.url)
        scripts = self._scripts_for(url, destination, run, bool(transformation), lookup)
        script, chosen = self._scripted(request, scripts)
        is_faulty = chosen is None and destination and lookup is None
        fault = self._faults.next("destination", destination, run) if is_faulty else None
        chosen = fault.answer if fault else chosen
        if server is not None:  # outside the lock: a server may take long, and has its own
            chosen = _ask(server, request, chosen)
        if chosen is None and lookup is not None:
            chosen = lookup.default(request)
        chosen = chosen or Answer()
        response = None if chosen.close or chosen.truncate else chosen.response()
        seconds = chosen.delay
        if fault is not None:
            seconds += fault.seconds(len(request.body) + (len(response.body) if response else 0))
        response = None if seconds >= timeout else response
        with self._changed:
            about = ("" if lookup else destination, run, events, transformation, script, self._secrets)
            recorded = Recorded(request, response, self._clock(), *about)
            self._kept.append(recorded)
            if transformation:
                self._fetched.append(recorded)
            self._arrived += 1
            self._changed.notify_all()
        return arrive(
            response,
            seconds,
            timeout=timeout,
            place=url.place,
            sleep=sleep or self.sleep,
            is_truncated=chosen.truncate,
        )

    def next_answer(self, request: HttpRequest, destination: str) -> Answer | None:
        """Return the answer that a script for all runs has for a request, and use it up; None without one.

        The request is not kept: its sender asks a real server if there is no answer.
        """
        with self._changed:
            script = self._scripts.get((destination, ""))
        return None if script is None else script.next(cache(lambda: view_of(request)))

    def record(
        self, served: Sequence[tuple[HttpRequest, HttpResponse, tuple[str, ...]]], *, destination: str, run: str
    ) -> bool:
        """Keep requests that the destination's own server has answered, with the message ids of their events.

        Return False if answers or faults are configured that may apply to them: then none is kept.
        """
        if self._faults.applies_to("destination", destination):
            return False
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

    def _scripts_of(self, destination: str, run: str) -> Iterator[Script]:
        """Yield the script of the run, of the run around it, and so on to the script for all runs."""
        while destination:
            if (destination, run) in self._scripts:
                yield self._scripts[destination, run]
            if not run:
                return
            run = run.rpartition("/")[0]

    def _scripts_for_code(self, url: Url, run: str) -> Iterator[tuple[str, Script]]:
        """Yield the scripts of URL prefixes, the longest first, each with its prefix."""
        prefixes = {key for key, _ in self._scripts if "://" in key and str(url).startswith(_key(key))}
        for key in sorted(prefixes, key=len, reverse=True):
            yield from ((key, script) for script in self._scripts_of(key, run))

    def _scripts_of_host(self, url: Url) -> Iterator[Script]:
        prefixes = [key for key in self._answers if "://" in key and str(url).startswith(key)]
        prefixes.sort(key=len, reverse=True)
        for key in (*prefixes, f"{url.host}:{url.port}", url.host, "*"):
            if key in self._answers:
                yield self._answers[key]

    def _scripts_for(
        self, url: Url, destination: str, run: str, is_code: bool, lookup: MappingLookup | None
    ) -> list[tuple[str, Script, bool | None]]:
        """Return the scripts that may answer a request, each with its key (empty for `answer`).

        Look-ups have those of URLs first, and of their destination, the answers whose condition fits; the others, too,
        if nothing but a script can answer them. With the third member, only answers with a condition count, or without.
        """
        with self._changed:
            found: list[tuple[str, Script, bool | None]] = []
            if is_code or lookup is not None:
                found += [(key, script, None) for key, script in self._scripts_for_code(url, run)]
            if not is_code:
                conditional = None if lookup is None or lookup.is_in_order else True
                found += [(destination, script, conditional) for script in self._scripts_of(destination, run)]
            if self._answers:
                found += [("", script, None) for script in self._scripts_of_host(url)]
        return found

    def _scripted(
        self, request: HttpRequest, scripts: Sequence[tuple[str, Script, bool | None]]
    ) -> tuple[str, Answer | None]:
        """Return the key of the script that answers a request, and the answer."""
        view = cache(lambda: view_of(request))
        for key, script, conditional in scripts:
            answer = script.next(view, conditional=conditional)
            if answer is not None:
                return key, answer
        return "", None


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


def _key(to: str) -> str:
    if to == "*":
        return to
    url = Url.parse(to if "://" in to else f"http://{to}")
    if "://" in to:
        return str(url)
    return f"{url.host}:{url.port}" if re.search(r":[0-9]+$", to) else url.host
