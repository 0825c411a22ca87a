"""One worker process, seen from the host."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from svctoolkit.errors import TransformationError
from svctoolkit.transformations._contract import Limits
from svctoolkit.transformations._frames import Results, encode, message, results
from svctoolkit.transformations._layers import ESSENTIAL, threads_without_locks

_MAIN = Path(__file__).with_name("worker") / "main.py"
_START_SECONDS = 30.0
_WATCH_SECONDS = 0.05  # how often the memory of a long call is looked at
_WHERE_SECONDS = 0.3
_OUT_OF_MEMORY = 3
_SMALL = 1 << 14
_ABORTS = {getattr(signal, name, None) for name in ("SIGTRAP", "SIGILL", "SIGABRT")}
_NEEDED = {
    "javascript": {
        "py_mini_racer": "mini-racer",
        "tree_sitter": "tree-sitter",
        "tree_sitter_javascript": "tree-sitter-javascript",
    },
    "python": {"msgspec": "msgspec"},
}

Answer = Callable[[list[dict[str, Any]], float], list[dict[str, Any]]]


class CallError(Exception):
    """The whole call failed; `words` is what the worker says about it."""

    def __init__(self, words: Any) -> None:
        super().__init__(words)
        self.words = words


class Worker:
    """A locked process, ready for code in one language. `held` are its layers.

    Raises `TransformationError` (kind `sandbox`) when it cannot be started or does not hold the locks that it
    claims: no user code reaches it then. `without` leaves layers out.
    """

    def __init__(self, language: str, memory: int = 128, without: Collection[str] = ()) -> None:
        self.language, self.memory = language, memory
        self.program = ""  # the digest of what is loaded
        self.scope = ""
        self.ended = False
        self._buffer = bytearray(1 << 16)
        self._resident = sys.maxsize  # nothing to compare with before it is ready
        self.units: list[dict[str, Any]] = []
        self._start(without)
        try:
            self.layers: dict[str, str] = self._ready()
            self._check(without)
        except (TransformationError, TimeoutError, KeyError) as error:
            self.end()
            why = error.message if isinstance(error, TransformationError) else f"no answer ({error})"
            raise TransformationError(f"the sandbox for {language} did not start: {why}", kind="sandbox") from None
        self._resident = self._resident_bytes()

    def _start(self, without: Collection[str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._words, write = os.pipe()
        os.set_blocking(self._words, False)
        os.set_blocking(write, False)
        windows = sys.platform == "win32"
        config = {
            "language": self.language,
            "memory": self.memory << 20,
            "channel": theirs.fileno(),
            "shared": windows,
            "parent": os.getpid(),
            "without": sorted(without),
            **_packages(self.language),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(_MAIN), json.dumps(config)],
            stdin=subprocess.PIPE if windows else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=write,
            env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
            cwd=os.path.abspath(os.sep),
            start_new_session=True,
            pass_fds=() if windows else (theirs.fileno(),),
        )
        if self._process.stdin is not None:
            self._process.stdin.write(theirs.share(self._process.pid).hex().encode() + b"\n")  # type: ignore[attr-defined]
            self._process.stdin.close()
        os.close(write)
        theirs.close()

    def _ready(self) -> dict[str, str]:
        ready = message(self._receive(time.monotonic() + _START_SECONDS, _ANY), _ANY)
        return {str(name): str(how) for name, how in ready["ready"].items()}

    def _check(self, without: Collection[str]) -> None:
        """From outside, and only then is it trusted with code."""
        if not sys.platform.startswith("linux"):
            return
        if self.layers.get("seccomp") and threads_without_locks(self._process.pid):
            raise TransformationError("it says that it is locked, and the kernel says that it is not")
        if self.language == "probe" or without:
            return
        from svctoolkit.transformations._layers import layers

        lost = [name for name in ESSENTIAL if name in layers().active and not self.layers.get(name)]
        if lost:
            raise TransformationError(f"it could not be locked: {', '.join(lost)}")

    @property
    def alive(self) -> bool:
        """Whether it runs and has nothing to say: a worker that speaks unasked is not to be believed."""
        if self._process.poll() is not None:
            return False
        readable, _, _ = select.select([self._socket], [], [], 0)
        return not readable

    def load(self, payload: bytes, limits: Limits) -> dict[str, Any]:
        """The worker's answer to a program. Raises `TransformationError` for a breach; the worker has ended then."""
        with self._within(limits) as deadline:
            self._send(b"L", payload, deadline)
            return message(self._receive(deadline, _ANY), _ANY)

    def run(self, payload: bytes, limits: Limits, answer: Answer) -> Results:
        """The results for events; `answer` answers the requests on the way. Raises like `load`.

        Raises `CallError` with the worker's words for a failure of the whole call.
        """
        with self._within(limits) as deadline:
            self._send(b"R", payload, deadline)
            while True:
                frame = self._receive(deadline, limits)
                if frame.startswith(b'{"results"'):
                    outcome = results(frame, limits)
                    if outcome.last:
                        self.end()
                    return outcome
                words = message(frame, limits)
                if "error" in words:
                    raise CallError(words["error"])
                self._send(b"A", encode(answer(words["calls"], deadline)), deadline)

    @contextlib.contextmanager
    def _within(self, limits: Limits) -> Iterator[float]:
        try:
            yield time.monotonic() + limits.time
        except TimeoutError:
            raise self._timeout(limits) from None
        except (KeyError, TypeError, ValueError):
            self.end()
            raise TransformationError("the sandbox gave an answer that cannot be read", kind="output") from None
        except TransformationError:
            self.end()
            raise

    def _send(self, kind: bytes, payload: bytes, deadline: float) -> None:
        head = struct.pack("<I", 1 + len(payload)) + kind
        pieces = [head + payload] if len(payload) < _SMALL else [head, payload]  # to copy much costs more than a call
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            for piece in pieces:
                self._socket.sendall(piece)
        except (BrokenPipeError, ConnectionError):
            raise self._death() from None

    def _receive(self, deadline: float, limits: Limits) -> bytes:
        most = 4 * limits.output_bytes + (4 << 20)
        (size,) = struct.unpack("<I", self._exactly(4, deadline))
        if size > most:
            raise TransformationError(f"the output is larger than {most} bytes", kind="output")
        frame = bytes(self._exactly(size, deadline))
        if self._goes_on():
            raise TransformationError("the sandbox gave an answer that cannot be read", kind="output")
        return frame

    def _goes_on(self) -> bool:
        """Whether it says more than a frame."""
        self._socket.setblocking(False)
        try:
            return bool(self._socket.recv(1))
        except OSError:  # nothing more for now, or for ever
            return False

    def _exactly(self, size: int, deadline: float) -> memoryview:
        """The next `size` bytes, in a buffer that is used again."""
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        frame = memoryview(self._buffer)[:size]
        size_now = 0
        while size_now < size:
            count = self._receive_into(frame[size_now:], deadline)
            if not count:
                raise self._death()
            size_now += count
        return frame

    def _receive_into(self, into: memoryview, deadline: float) -> int:
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._socket.settimeout(min(remaining, _WATCH_SECONDS) if self.language == "javascript" else remaining)
            try:
                return self._socket.recv_into(into)
            except ConnectionError:
                return 0
            except TimeoutError:
                if self._resident_bytes() > self._resident + (self.memory + 64 << 20):
                    raise self._out_of_memory() from None

    def _resident_bytes(self) -> int:
        """Resident memory, which bounds an engine that reserves more than it uses; 0 where it cannot be seen."""
        try:
            with open(f"/proc/{self._process.pid}/statm", encoding="ascii") as numbers:
                return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            return 0

    def _timeout(self, limits: Limits) -> TransformationError:
        where = self._where()
        self.end()
        text = f"Script execution timed out. One call may take {limits.time:g} s."
        return TransformationError(text, name="Error", kind="time", where=where)

    def _where(self) -> str:
        """`file:line` that a stuck Python worker is at, as its faulthandler tells it."""
        if self.language != "python" or not hasattr(signal, "SIGUSR1"):
            return ""
        words, until = "", time.monotonic() + _WHERE_SECONDS
        with contextlib.suppress(OSError):
            self._last_words()
            self._process.send_signal(signal.SIGUSR1)
            while time.monotonic() < until:
                select.select([self._words], [], [], until - time.monotonic())
                words += self._last_words()
                for file, line in re.findall(r'File "([^"\n]{1,200})", line (\d{1,9}) in', words):
                    if any(unit["file"] == file for unit in self.units):
                        return f"{file}:{line}"
        return ""

    def _last_words(self) -> str:
        try:
            return os.read(self._words, 1 << 16).decode("utf-8", "replace")
        except BlockingIOError:
            return ""

    def _out_of_memory(self) -> TransformationError:
        text = f"memory limit of {self.memory} MB exceeded"
        return TransformationError(text, name="RangeError", kind="memory")

    def _death(self) -> TransformationError:
        """Why it is gone. V8 ends its process when memory runs out."""
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            status = 0
        words = self._last_words()
        self.end()
        # JavaScript has no other way to abort its process than to use up what V8 may size_now
        aborted = self.language == "javascript" and -status in _ABORTS
        if status == _OUT_OF_MEMORY or aborted or "MemoryError" in words:
            return self._out_of_memory()
        if status < 0:
            how = signal.Signals(-status).name if -status in list(signal.Signals) else f"signal {-status}"
            return TransformationError(f"the transformation crashed its process ({how})", kind="crash")
        reason = f": {words.strip()}" if status == 1 and words else ""
        return TransformationError(f"the transformation ended its process{reason}", kind="crash")

    def end(self) -> None:
        """Ends the process now. Harmless when it has ended."""
        self.ended = True
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._socket.close()
        if self._words >= 0:
            os.close(self._words)
            self._words = -1


_ANY = Limits(output_bytes=64 << 20, output_values=10_000_000)


def _packages(language: str) -> dict[str, Any]:
    """Where the packages are that a worker imports, found without importing them."""
    folders = {}
    for module, package in _NEEDED.get(language, {}).items():
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            text = f"{language} transformations need the package {package}: pip install {package}"
            raise TransformationError(text, kind="sandbox")
        folders[module] = next(iter(spec.submodule_search_locations))
    engine = folders.pop("py_mini_racer", "")
    return {"engine": engine, "packages": sorted({os.path.dirname(folder) for folder in folders.values()})}
