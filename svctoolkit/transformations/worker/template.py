"""The template: a process that has imported everything and has seen no user code. Each worker is a fork of it.

The host asks for a worker with a message over the control socket that carries three descriptors: the worker's channel,
its stderr, and a *lifeline*. Over the lifeline the template reports the worker's process ID, and how it has ended; the
host sends a byte, or disconnects, to end it. So nothing is shared by two workers, and an interrupted host leaves no
worker. The template ends with its host, and its workers with it.

What a worker must not reach is closed in it before it does anything else: the control socket and all other lifelines.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import select
import signal
import struct
import sys

import channel  # type: ignore[import-not-found]  # in this folder; the worker runs as a script

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

_REPORT = struct.Struct("<i")
_LINUX = sys.platform.startswith("linux")
_LOOK_MILLISECONDS = None if _LINUX else 1000  # other systems do not signal a parent's death


class SharedError(Exception):
    """Forks of this process would not be separate from each other."""


def next_worker(descriptor: int, parent: int) -> dict[str, Any]:
    """Fork workers until the host disconnects. Returns in each of them, with what its configuration adds."""
    import _socket

    if _LINUX:
        import lock  # type: ignore[import-not-found]

        _check_separate()
        lock.protect_template(parent)
    os.environ.clear()
    gc.freeze()  # so that workers do not touch these pages; to collect first would take longer than it saves
    return _Template(_socket.socket(fileno=descriptor), parent).serve()


def _check_separate() -> None:
    """Raise `SharedError` if a fork would share more than the layout: writable memory, or a thread's locks."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            rights = line.split(None, 2)[1]
            if rights[1] == "w" and rights[3] == "s":
                raise SharedError(f"writable memory would be shared: {line.strip()}")
    if len(os.listdir("/proc/self/task")) > 1:
        raise SharedError("a library has started a thread")


class _Template:
    def __init__(self, control: Any, parent: int) -> None:
        self._control, self._parent = control, parent
        self._received: list[int] = []  # descriptors of the current message
        self._receive, _ = channel.frames(
            lambda size: channel.read_with_descriptors(control, size, self._received), os.write, self._leave
        )
        self._lifelines: dict[int, int] = {}  # process -> its descriptor
        self._wake, self._waker = os.pipe()
        for end in (self._wake, self._waker):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})  # the host may have blocked it
        self._poll = select.poll()
        for each in (control.fileno(), self._wake):
            self._poll.register(each, select.POLLIN)

    def serve(self) -> dict[str, Any]:
        control = self._control.fileno()
        while True:
            ready = {descriptor for descriptor, _ in self._poll.poll(_LOOK_MILLISECONDS)}
            if os.getppid() != self._parent:
                self._leave(0)
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._reap()
            for process, lifeline in list(self._lifelines.items()):
                if lifeline in ready:
                    self._end(process, lifeline)
            if control in ready and (config := self._fork()) is not None:
                return config

    def _fork(self) -> dict[str, Any] | None:
        """Fork the worker that the host asks for. Returns its configuration in the worker, None in the template."""
        self._received.clear()
        config: dict[str, Any] = json.loads(self._receive()[2])
        answers, words, lifeline = self._received
        template = os.getpid()
        try:
            process = os.fork()
        except OSError as error:  # no memory or processes left
            _report(lifeline, -(error.errno or errno.EAGAIN))
            for each in self._received:
                os.close(each)
            return None
        if process == 0:
            self._become_worker(answers, words)
            return {**config, "channel": answers, "parent": template}
        os.close(answers)
        os.close(words)
        self._lifelines[process] = lifeline
        self._poll.register(lifeline, select.POLLIN)
        _report(lifeline, process)
        return None

    def _become_worker(self, answers: int, words: int) -> None:
        """Close everything but the worker's own channel and its stderr."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # a signal to its group, or from a terminal, stays there
        os.dup2(words, 2, inheritable=False)
        highest = max(self._control.detach(), self._wake, self._waker, *self._received, *self._lifelines.values())
        os.closerange(3, answers)
        os.closerange(answers + 1, highest + 1)
        self._lifelines.clear()  # code that finds this object learns nothing about other workers

    def _end(self, process: int, lifeline: int) -> None:
        """Kill a worker whose host has disconnected, or asks for it. It is reaped when it has ended."""
        self._poll.unregister(lifeline)  # it would stay readable
        _kill(process)

    def _reap(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            lifeline = self._lifelines.pop(process)
            with contextlib.suppress(KeyError):  # it was asked to end
                self._poll.unregister(lifeline)
            _report(lifeline, os.waitstatus_to_exitcode(status))
            os.close(lifeline)

    def _leave(self, status: int) -> None:
        for process in self._lifelines:
            _kill(process)
        os._exit(status)


def _kill(process: int) -> None:
    with contextlib.suppress(PermissionError):  # root without CAP_KILL; the worker ends when the host disconnects
        os.kill(process, signal.SIGKILL)


def _report(lifeline: int, number: int) -> None:
    with contextlib.suppress(OSError):  # the host does not want to hear it
        os.write(lifeline, _REPORT.pack(number))
