"""JavaScript in the worker: V8, the glue around the user's code, and the linker.

Each call runs in its own realm (see `realms`), which V8's thread creates once the previous answer has
been sent, while the host reads that answer and may already send the next call. Only code that can leave nothing behind
(see `stateless_javascript`) runs several calls in one realm. Whatever a call changes is left
behind in its realm, and nothing there can run later: there are no timers, promises are settled
before the answer is sent, and finalizers are never called.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from _queue import SimpleQueue  # `queue` imports threading
from collections.abc import Callable

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

    Ask = Callable[[bytes], list[dict[str, Any]]]

OUT_OF_MEMORY = 3  # exit status
_REALMS = 128  # garbage is collected after this number of realms: about 10 MB, in 4 ms
_RESULTS = b'{"results"'
_IDLE_CPU = 0.1  # seconds of processor time that an idle worker may use between two checks
_LOOKS = 0.2, 30.0  # seconds until the first check, and at most between later ones
#: Newer than RudderStack's Node.js, 20 to 22, where code with any of these fails. The glue deletes what has no flag
_TOO_NEW = " ".join(
    f"--no-js-{name}"
    for name in (
        "atomics-pause", "base-64", "error-iserror", "explicit-resource-management", "float16array", "promise-try",
        "regexp-duplicate-named-groups", "regexp-escape", "regexp-modifiers",
    )
)  # fmt: skip


class Engine:
    """Runs one program at a time. `python.Engine` is the same for Python."""

    kind = "jit"
    spare = 64 << 20  # V8 collects garbage before it reports that the heap is full; without room it crashes instead

    def __init__(self, config: dict[str, Any]) -> None:
        sys.path[:0] = config["packages"]
        import linker  # type: ignore[import-not-found]  # in this folder; the worker runs as a script
        import stateless_javascript as stateless  # type: ignore[import-not-found]
        import v8  # type: ignore[import-not-found]

        self._linker, self._stateless, self._error = linker, stateless, v8.JavaScriptError
        self._start_v8 = v8.V8
        self._maker, self._glue = _text("realm.js"), _text("glue.js").encode()
        if sys.platform.startswith("linux"):  # the frameworks of macOS do not survive a fork
            v8.library(config["engine"])
        self._engine = config["engine"]
        self._count = 0
        self._program: bytes = b""
        self._files: list[str] = []
        self._judge: Any = None
        self._is_stateless = False
        self._poll: Any = None

    def prepare(self, config: dict[str, Any]) -> None:
        """Initialize V8 for this worker, before it is locked down: V8 reads a file. Its threads start later."""
        self._memory = config["memory"]
        # WebAssembly that compiles in the background would continue after its call. Incremental marking would avoid
        # long pauses, but all of a call's objects become garbage at once, and the steps cost a fifth of all time
        flags = "--single-threaded --no-wasm-async-compilation --no-incremental-marking"
        flags += f" --max-old-space-size={self._memory >> 20} {_TOO_NEW}"
        self._v8 = self._start_v8(self._engine, flags=flags, without=config["without"])
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(config["channel"], select.POLLIN)

    def start(self) -> None:
        """Start the engine's thread, which inherits this thread's locks."""
        self._start_isolate()
        self._renew()

    def _start_isolate(self) -> None:
        self._v8.renew(self._memory)
        self._step = self._v8.eval(self._maker)
        self._v8.call(self._step, b"glue " + self._glue)
        if self._program:
            self._v8.call(self._step, b"program " + self._program)

    def _renew(self) -> None:
        """Create a fresh realm with the program for the next call; without shadow realms, a fresh isolate."""
        if not self._v8.has_realms:
            self._start_isolate()
        self._count += 1
        if self._count > _REALMS:
            self._v8.collect()
            self._count = 0
        self._v8.call(self._step, b"renew")

    def serve(self, receive: Any, send: Any) -> None:
        """Run one call after the other, until the host disconnects."""
        while True:
            self._watch()
            number, letter, content = receive()

            def ask(requests: bytes, number: int = number) -> list[dict[str, Any]]:
                send(number, requests)
                replies: list[dict[str, Any]] = json.loads(receive()[2])
                return replies

            try:
                if letter == b"R":
                    self._serve_call(number, content, ask, send)
                    continue
                answer = self.load(json.loads(content))
                self._v8.call(self._step, b"forget")
                send(number, answer)
                self._renew()
                send(0, b"{}")  # ready for the next
            except (MemoryError, self._error):
                os._exit(OUT_OF_MEMORY)

    def _serve_call(self, number: int, content: bytes, ask: Ask, send: Any) -> None:
        """Answer a call. If it needs nothing from the host, V8's thread answers it, then renews the realm."""
        unfinished: SimpleQueue[Any] = SimpleQueue()
        results: list[bytes] = []

        def take(answer: Any) -> None:
            if self._is_due or not (isinstance(answer, bytes) and answer.startswith(_RESULTS)):
                unfinished.put(answer)
                return
            if self._is_stateless:  # the realm is as new
                send(number, answer)
                send(0, b"{}")
                unfinished.put(None)
                return
            results.append(answer)
            self._v8.post(self._step, b"forget", leave)

        # V8 calls it once nothing is left to run in that realm
        def leave(answer: Any) -> None:
            self._end_if_error(answer)
            send(number, results[0])
            self._count += 1
            self._v8.post(self._step, b"renew", ready)
            unfinished.put(None)

        def ready(answer: Any) -> None:
            self._end_if_error(answer)
            send(0, b"{}")

        self._v8.post(self._step, b"run " + content, take)
        answer = unfinished.get()
        if answer is not None:
            text = self._finish(answer, ask)
            self._v8.call(self._step, b"forget")
            send(number, text)
            self._renew()
            send(0, b"{}")

    def _end_if_error(self, answer: Any) -> None:
        if isinstance(answer, self._error):  # in our own code: V8 ran out of memory
            os._exit(OUT_OF_MEMORY)

    @property
    def _is_due(self) -> bool:
        """Whether garbage must be collected before the next realm is created, or V8's thread cannot create it."""
        return self._count >= _REALMS or not self._v8.has_realms

    def _watch(self) -> None:
        """Wait for the host. If code found a way to continue after its answer, the process ends."""
        if self._poll is None:
            return
        pause, longest = _LOOKS
        used = time.process_time()
        while not self._poll.poll(pause * 1000):
            before, used = used, time.process_time()
            if used - before > _IDLE_CPU:
                os._exit(1)
            pause = min(2 * pause, longest)

    def load(self, message: dict[str, Any]) -> bytes:
        """Link and compile a program. Returns what is wrong with it, or what the host needs to locate later errors."""
        libraries, coverage, self._files, units = message["libraries"], message["coverage"], [], []
        names = {library["import"]: place for place, library in enumerate(libraries)}
        try:
            for source, importable in [*((library, {}) for library in libraries), (message["main"], names)]:
                self._files.append(source["file"])
                file, script = source["file"], source["script"]
                form = {"coverage": coverage, "version": source.get("version", "")}
                units.append(self._linker.link(source["code"], file, script, importable, **form))
        except self._linker.UnknownImportError as unknown:
            at = [self._files[-1], unknown.line, unknown.column]
            return json.dumps({"unknown_import": unknown.module, "at": at}).encode()
        main = units.pop()
        used = sorted({binding["library"] for binding in main["imports"]})
        for binding in main["imports"]:
            binding["library"] = used.index(binding["library"])
        imported = [units[place] for place in used]
        alone = main["modular"] and not coverage and not used  # counters and libraries are not judged
        self._is_stateless = alone and self._leaves_nothing(message["main"]["code"])
        self._program = json.dumps({**message, "main": main, "libraries": imported}).encode()
        files = [message["main"]["file"], *(libraries[place]["file"] for place in used)]
        members = ("lines", "branches", "inserted")
        placed = [
            {"file": file, **{name: unit[name] for name in members}, "head": len(unit["head"])}
            for file, unit in zip(files, [main, *imported], strict=True)
        ]
        return json.dumps({"units": placed, **self._check()}).encode()

    def _leaves_nothing(self, code: str) -> bool:
        if self._judge is None:
            known = json.loads(self._v8.call(self._v8.eval(self._stateless.NAMES), b""))
            self._judge = self._stateless.Judge(known, self._linker.names)
        return bool(self._v8.has_realms and self._judge.is_stateless(self._linker.parse(code)))

    def _check(self) -> dict[str, Any]:
        try:
            self._v8.call(self._step, b"forget")
            self._v8.call(self._step, b"program " + self._program)
            self._renew()
            self._v8.call(self._step, b"check")
        except self._error as error:
            self._program = b""
            self._raise_if_memory(error)
            return {"syntax": str(error)}
        checked: dict[str, Any] = json.loads(self._v8.call(self._step, b"checked"))
        return checked

    def _finish(self, answer: Any, ask: Ask) -> bytes:
        """Return the results of a call as JSON text, starting from the answer to its first step.

        `ask` sends requests to the host and returns its answers.
        """
        try:
            while isinstance(answer, bytes) and not answer.startswith(_RESULTS):
                if answer:
                    for reply in ask(answer):
                        self._v8.call(self._step, b"answer " + json.dumps(reply).encode())
                answer = self._v8.call(self._step, b"state")
        except self._error as error:
            answer = error
        if isinstance(answer, bytes):
            return answer
        self._raise_if_memory(answer)
        # the glue catches what is thrown; only a stack overflow gets past it
        return json.dumps({"error": {"name": "RangeError", "message": str(answer).split("\n")[0]}}).encode()

    @staticmethod
    def _raise_if_memory(error: Any) -> None:
        if error.kind == "memory" or str(error).strip() in {"", "null"}:  # terminated, not thrown
            raise MemoryError from None


def _text(name: str) -> str:
    """Return a file of this folder."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read()
