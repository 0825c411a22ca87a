"""Python in the worker: CPython itself. The process is locked down, not the language.

The worker is a parent that never runs a line of user code. It compiles a program, and forks a child for each call; the
child runs the module from the top, answers over its own channel, and ends. So nothing can leak from one call to
the next, and code cannot reach the channel of another call, which is created when that call starts. The host requests
the next child while one runs, so that a call does not wait for its fork.

Alternatives that were measured (events of 2 KB):

- one process for all calls, and a check for what the code has changed: 0.16 ms for one event, 20,000 events a second
  and core in batches of 200. But the check cannot see everything (contexts of `decimal`, handlers of `logging`, state
  in C), and hostile code can undo it;
- a new process for each call: 100 ms;
- `os.fork` in the parent: 0.6 ms more processor time per call than libc's `fork`, mostly for pages that CPython's
  clean-up after a fork touches. With one thread there is nothing to clean up;
- libc's `fork`, with the next child forked in advance (chosen): 1.0 ms for one event, and in batches of 200 between 80
  and 95% of the throughput of the first alternative, measured on the same machine. A fork costs 0.7 ms in the parent
  and 0.8 ms in a child that does nothing, a copied page 2 to 4 us, and one event needs 270 of them. So whatever does
  not depend on the call is done before the fork, events are decoded one after the other, nothing large is copied, and
  a child ends with its answer.

A child of code that leaves nothing behind (see `stateless`) runs the next call, too: 0.2 ms for one event.

Without `fork` (Windows), a worker serves one call and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import random
import signal
import sys
import time
import types
from typing import Any

import call as calls  # type: ignore[import-not-found]  # in this folder; this file runs as a script
import channel  # type: ignore[import-not-found]
import program as programs  # type: ignore[import-not-found]

OUT_OF_MEMORY = 3  # exit status
# A child that runs several calls ends before what they have used could matter to the limits of the next one.
_CPU_SECONDS = 1.0  # the limit of a child is two seconds more than that of a call
_SHARE = 16  # of the memory for one call

# Nothing can be imported once the locks are on, so everything user code may need is imported before.
_PRELOAD = """
__future__ abc array ast asyncio base64 binascii bisect bz2 calendar cmath codecs collections collections.abc
colorsys concurrent.futures contextlib contextvars copy csv dataclasses datetime decimal difflib email.utils
encodings.ascii encodings.cp1252 encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_8_sig enum
fnmatch fractions functools gzip hashlib heapq hmac html html.parser inspect io ipaddress itertools json
keyword locale logging lzma math numbers operator pathlib pickle platform pprint queue random re reprlib secrets
statistics string stringprep struct textwrap threading time traceback types typing unicodedata urllib.parse uuid
warnings weakref zlib zoneinfo _strptime
""".split()  # noqa: SIM905


class Engine:
    """Holds one program at a time. `kind` is the filter it needs, `spare` the memory in addition to user code's."""

    spare = 0

    def __init__(self, config: dict[str, Any]) -> None:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # asyncio works without it, and it is slow to load
        for name in _PRELOAD:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        del sys.modules["ssl"]
        calls.event_loop().close()
        self._codec = _codec(config["packages"])
        if hasattr(signal, "SIGUSR1"):  # the host asks for the position of code that takes too long
            faulthandler.register(signal.SIGUSR1, file=2, all_threads=False, chain=False)
        self._call: Any = None
        self._seconds = 1.0
        self._children: dict[int, int] = {}

    def prepare(self, config: dict[str, Any]) -> None:
        """Configure this worker, before it is locked down."""
        self.kind = "parent" if config["forks"] else "child"
        self._memory: int = config["memory"]

    def start(self) -> None:
        """Remove what only an interactive program needs, and this package's own modules."""
        sys.stdin = sys.__stdin__ = None  # type: ignore[misc]
        sys.argv, sys.path[:] = ["transformation"], []
        self._own_modules = [sys.modules.pop(name) for name in _own_names()]  # kept alive, but no longer importable
        sys.modules["__main__"] = types.ModuleType("__main__")
        gc.freeze()

    def load(self, content: bytes) -> bytes:
        """Compile a program. Returns what the host needs to know about it, or what is wrong with it."""
        message = json.loads(content)
        files = [source["file"] for source in (message["main"], *message["libraries"])]
        if self._call is not None:
            self._call.close()
            self._call = None
        try:
            program = programs.Program(message)
            lines = program.lines()
            self._call, self._seconds = calls.Call(program, self._codec), program.limits["time"]
        except programs.NameClashError as clash:
            return _error({"name": "ImportError", "message": str(clash), "at": [clash.file, 1, 1]})
        except (SyntaxError, ValueError, RecursionError) as error:
            return _error(calls.failure(error, files))
        finally:
            gc.collect()
            gc.freeze()  # so that children do not touch these pages
        pairs = zip(program.files, lines, strict=True)
        units = [{"file": file, "lines": numbers, "branches": program.branches[file]} for file, numbers in pairs]
        return json.dumps({"units": units, "stateless": program.is_stateless}).encode()

    def serve(self, receive: channel.Receive, send: channel.Send) -> None:
        """Run one call in this process, for platforms without `fork`; then the process ends."""
        while True:
            number, letter, content = receive()
            if letter == b"L":
                send(number, self.load(content))
            else:
                self._answer(number, letter, content, receive, send, stay=False)

    def _answer(
        self, number: int, letter: bytes, content: bytes, receive: channel.Receive, send: channel.Send, stay: bool
    ) -> None:
        """Run user code, then end the process, except after a check and with `stay`. The code receives no module or
        frame of this package, but may search for them: whatever it does to them is undone when the process ends."""
        leave = os._exit  # user code may patch the module

        def ask(requests: bytes) -> Any:
            send(number, requests)
            return json.loads(receive()[2])

        call = self._call  # None only if the host sends a call before a program; that ends this process
        send(number, call.check(ask) if letter == b"C" else call.run(content, ask))
        if not stay and (letter == b"R" or self.kind == "parent"):
            leave(0)  # no clean-up: it would only touch pages that are freed with the process

    def serve_with_children(self, control: Any, lock: Any) -> None:
        """Fork a child for each call that the host announces over the socket `control`, until the host disconnects.

        L loads a program, F forks a child that answers over the descriptors sent with the message (a socket for
        frames, a pipe for last words), S asks a child for its position, K ends one. Each command gets one answer.
        """
        _, send = channel.of_descriptor(control.fileno())
        descriptors: list[int] = []
        receive, _ = channel.frames(lambda size: channel.read_with_descriptors(control, size, descriptors), os.write)
        while True:
            number, letter, content = receive()
            if letter == b"L":
                answer = self.load(content)
            elif letter == b"F":
                self._children[number] = self._fork(control, descriptors, lock)
                answer = b'{"child":%d}' % self._children[number]
            elif letter == b"S":
                os.kill(self._children[number], signal.SIGUSR1)
                answer = b"{}"
            else:
                answer = b'{"status":%d}' % _end(self._children.pop(number))
            send(number, answer)

    def _fork(self, control: Any, descriptors: list[int], lock: Any) -> int:
        random.seed()  # otherwise all children would get the same random numbers
        child = _fork()
        if child < 0:
            os._exit(1)  # the host notices, and starts another worker
        if child:
            for descriptor in descriptors:
                os.close(descriptor)
            descriptors.clear()
            return child
        try:
            self._serve_as_child(control, descriptors, lock)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except BaseException:  # noqa: BLE001 - no caller can catch it
            os._exit(1)
        os._exit(0)

    def _serve_as_child(self, control: Any, descriptors: list[int], lock: Any) -> None:
        answers, words = descriptors
        os.dup2(words, 2, inheritable=False)
        os.close(words)
        os.close(control.fileno())
        if lock is not None:
            lock.close(self._seconds)
        receive, send = channel.of_descriptor(answers)
        send(0, b"{}")  # locked down; the host may now verify it
        stay, memory = self._call.is_stateless, _peak_memory()  # before user code runs
        while True:
            number, letter, content = receive()
            self._answer(number, letter, content, receive, send, stay=stay and letter == b"R")
            if time.process_time() > _CPU_SECONDS or _peak_memory() > memory + self._memory // _SHARE:
                os._exit(0)
            self._call.repeat()
            send(0, b"{}")  # ready for the next


def _fork() -> int:
    if _libc is None:
        return os.fork()
    child: int = _libc.fork()
    return child


def _peak_memory() -> int:
    """Return the most memory that this process has used, in bytes."""
    import resource  # not on Windows, which has no children

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def _end(child: int) -> int:
    """End a child, whatever it is doing. Returns its exit status, or minus the signal that ended it before."""
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _error(words: dict[str, Any]) -> bytes:
    return json.dumps({"error": words}).encode()


def _own_names() -> list[str]:
    folder = os.path.dirname(os.path.abspath(__file__))
    return [name for name, module in sys.modules.items() if getattr(module, "__file__", "") and name != "__main__"
            and os.path.dirname(module.__file__ or "") == folder]  # fmt: skip


def _codec(folders: list[str]) -> calls.Codec:
    """Return the codec for fast JSON. User code cannot import its module."""
    before = set(sys.modules)
    sys.path[:0] = folders
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # not needed, and slow to load
    import msgspec

    del sys.path[: len(folders)]
    for name in set(sys.modules) - before:
        del sys.modules[name]
    return calls.Codec(msgspec)


_libc = ctypes.PyDLL(None) if sys.platform == "linux" else None
