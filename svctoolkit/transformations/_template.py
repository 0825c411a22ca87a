"""Templates: one process per language that has imported everything and has seen no user code; workers are its forks.

A fork takes a sixth (Python) to a third (JavaScript) of the CPU time of a new process. If a template cannot be kept,
each worker is a new process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Sequence

from svctoolkit.errors import TransformationError
from svctoolkit.interrupts import uninterrupted
from svctoolkit.json_codec import encode
from svctoolkit.transformations._channel import Channel, ClosedError, Words
from svctoolkit.transformations._launch import WorkerConfig, launch

_START_SECONDS = 30.0
_END_SECONDS = 10.0  # a killed process takes milliseconds
_MAX_FAILURES = 3  # templates that ended by themselves; after that, each worker is a new process
#: if set to 1, each worker is a new process
FRESH_VARIABLE = "SVCTOOLKIT_FRESH_WORKERS"
_REPORT = struct.Struct("<i")
_KILLED = -9


class TemplateError(OSError):
    """The template does not answer. The next worker can start as a new process."""


class ForkedProcess:
    """A fork of a template, with the methods of `subprocess.Popen` that a worker's process needs.

    Only the template may wait for it, so both talk over a *lifeline*: the template reports the process ID, and later
    the exit status; a byte from here kills the process. If the template has ended, so has the process.
    """

    def __init__(self, lifeline: socket.socket) -> None:
        self._lifeline = lifeline
        self._lock = threading.Lock()
        self.pid = 0
        self.returncode: int | None = None
        #: whether it ended with its template, through no fault of the code it ran
        self.is_lost = False
        lifeline.setblocking(False)

    def await_start(self, seconds: float) -> None:
        """Wait for the process ID. Raises `OSError`: the template could not fork, or does not answer."""
        report = self._report(seconds)
        if report is None:
            raise TemplateError("the template of the sandbox does not answer")
        if report < 0:
            raise OSError(-report, os.strerror(-report))
        self.pid = report

    def poll(self) -> int | None:
        """Return the exit status if the process has ended."""
        with self._lock:
            if self.returncode is None:
                self._read_status(0)
            return self.returncode

    def wait(self, timeout: float = _END_SECONDS) -> int:
        """Return the exit status. Raises `subprocess.TimeoutExpired`."""
        with self._lock:
            if self.returncode is None:
                self._read_status(timeout)
            if self.returncode is None:
                raise subprocess.TimeoutExpired("worker", timeout)
            return self.returncode

    def kill(self) -> None:
        """Ask the template to kill the process. Harmless if it has ended already."""
        with contextlib.suppress(OSError):
            self._lifeline.send(b"k")

    def close(self) -> None:
        """Release the process: the template kills it if it still runs."""
        self._lifeline.close()

    def _read_status(self, seconds: float) -> None:
        try:
            self.returncode = self._report(seconds)
        except TemplateError:
            self.returncode, self.is_lost = _KILLED, True
            self._kill_orphan()
        except OSError:  # closed: this process is a fork of the one that the worker belongs to
            self.returncode, self.is_lost = _KILLED, True

    def _kill_orphan(self) -> None:
        """Kill a process that has survived its template, where the kernel does not."""
        if not sys.platform.startswith("linux"):
            with contextlib.suppress(OSError):
                if os.getsid(self.pid) == self.pid:  # still the process that left its session, and not another one
                    os.kill(self.pid, signal.SIGKILL)

    def _report(self, seconds: float) -> int | None:
        """Return the next number that the template reports, or None. Raises `OSError` if the template has ended."""
        with contextlib.suppress(BlockingIOError):
            return self._receive()
        poll = select.poll()  # accepts descriptors of any number
        poll.register(self._lifeline, select.POLLIN)
        return self._receive() if seconds and poll.poll(seconds * 1000) else None

    def _receive(self) -> int:
        report = self._lifeline.recv(_REPORT.size)
        if len(report) < _REPORT.size:
            raise TemplateError("the template of the sandbox has ended")
        number: int = _REPORT.unpack(report)[0]
        return number


class _Template:
    """The template of a language. Raises `OSError`, and `TransformationError` if a package is missing."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._lock = threading.Lock()
        self._lifelines: weakref.WeakSet[ForkedProcess] = weakref.WeakSet()
        self._ended = threading.Event()
        self._words = Words()
        ours, theirs = socket.socketpair()
        self._control = Channel(ours)
        try:
            self._process = self._launch(theirs)
        except BaseException:
            self._close()
            raise
        finally:
            theirs.close()
            self._words.hand_over()

    def _launch(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        """Start the process. The kernel ends it with the thread that starts it, so that thread stays."""
        outcome: list[subprocess.Popen[bytes] | BaseException] = []
        started = threading.Event()

        def start() -> None:
            try:
                outcome.append(launch(self._language, theirs, self._words, None))
            except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                outcome.append(error)
            started.set()
            self._ended.wait()

        with uninterrupted():  # the thread uses descriptors that are closed after this
            try:
                threading.Thread(target=start, name="svctoolkit-template", daemon=True).start()
            except RuntimeError as error:  # too many threads, or the interpreter is shutting down
                raise TemplateError(str(error)) from None
            started.wait()
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    @property
    def alive(self) -> bool:
        return not self._ended.is_set() and self._process.poll() is None

    def fork(self, worker: WorkerConfig, descriptors: Sequence[int]) -> ForkedProcess:
        """Fork a worker that has these descriptors: its channel and its stderr. Raises `OSError`."""
        ours, theirs = socket.socketpair()
        forked = ForkedProcess(ours)
        try:
            with theirs, self._lock:
                if self._ended.is_set():
                    raise TemplateError("the template has just ended")
                self._lifelines.add(forked)
                deadline = time.monotonic() + _START_SECONDS
                self._control.send(0, b"F", encode(worker), deadline, [*descriptors, theirs.fileno()])
            forked.await_start(_START_SECONDS)
        except (ClosedError, TimeoutError, TemplateError):
            forked.close()
            raise TemplateError(self.end()) from None
        except BaseException:
            forked.close()
            raise
        return forked

    def end(self) -> str:
        """End the template, and its workers with it. Harmless if it has ended already. Returns its last words."""
        with self._lock:
            words = self._words.text().strip()
            self._close()  # it ends then, also if this process may not kill it any more
            with contextlib.suppress(OSError):
                self._process.kill()
            try:
                status: int | str = self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                status = "unknown"
        return words or f"the template process ended (status {status})"

    def forget(self) -> None:
        """Release what a forked child has of it: the template belongs to the parent, and must notice when that ends."""
        for process in list(self._lifelines):
            process.close()
        self._close()

    def _close(self) -> None:
        self._ended.set()
        self._control.close()
        self._words.close()


class _Templates:
    """The templates of this process, by language. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Template] = {}
        self._failures: dict[str, int] = {}  # since a worker started last
        self._problems: dict[str, str] = {}

    def running(self, language: str) -> _Template | None:
        """Return the template, which starts if it does not run; None if that has failed too often. Raises `OSError`."""
        with self._lock:
            if self._failures.get(language, 0) >= _MAX_FAILURES:
                return None  # one that still runs stays, for the workers that it has
            template = self._running.get(language)
            if template is not None and not template.alive:
                template.end()
                template = None
            if template is None:
                template = self._running[language] = _Template(language)
            return template

    def note(self, language: str, problem: str) -> None:
        """Note why a worker could not be forked, or that it was (no problem)."""
        with self._lock:
            self._failures[language] = self._failures.get(language, 0) + 1 if problem else 0
            self._problems[language] = problem

    def problem(self, language: str) -> str:
        return self._problems.get(language, "")

    def close(self) -> None:
        with self._lock:
            for template in self._running.values():
                template.end()
            self._running.clear()

    def forget(self) -> None:
        for template in self._running.values():
            template.forget()


_templates = _Templates()


def start(
    language: str, theirs: socket.socket, words: Words, worker: WorkerConfig
) -> subprocess.Popen[bytes] | ForkedProcess:
    """Start a worker with its end of a channel: a fork of the template, or a new process if there can be none.

    Raises `OSError`, and `TransformationError` if a package is missing. If the template is to blame, a worker that is
    `without` it may start.
    """
    if "template" in worker.without or unavailable(language):
        return launch(language, theirs, words, worker)
    try:
        template = _templates.running(language)
        if template is None:
            return launch(language, theirs, words, worker)
        return template.fork(worker, [theirs.fileno(), words.descriptor])
    except OSError as error:
        _templates.note(language, error.strerror or str(error))
        raise


def prepare(languages: Iterable[str]) -> None:
    """Start the templates of languages whose code will run soon. Returns before they are ready.

    They start while this process imports what it needs itself. What goes wrong is reported by the first call.
    """
    for language in languages:
        if not unavailable(language):
            with contextlib.suppress(OSError, TransformationError):
                _templates.running(language)


def note_start(language: str, process: subprocess.Popen[bytes] | ForkedProcess, problem: str = "") -> None:
    """Note whether a worker that `start` returned has become ready; the template is given up if several have not."""
    if isinstance(process, ForkedProcess):
        _templates.note(language, problem)


def unavailable(language: str) -> str:
    """Return why workers for a language are not forked from a template here; empty if they are."""
    if language not in ("javascript", "python"):
        return "nothing runs in it"  # a probe
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        return "this system cannot fork processes"
    return f"{FRESH_VARIABLE} is set" if os.environ.get(FRESH_VARIABLE) == "1" else ""


def template_problem(language: str) -> str:
    """Return why workers for a language are new processes here, and not forks of a template; empty if they are forks.

    Based on the last worker that started.
    """
    return unavailable(language) or _templates.problem(language)


def close() -> None:
    """End the templates of this process. A later worker starts another one."""
    _templates.close()


def _forget() -> None:
    """Forget the templates in a forked child: they are its parent's."""
    global _templates
    _templates.forget()
    _templates = _Templates()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
