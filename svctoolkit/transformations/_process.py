"""Start a worker process, and verify its locks from outside before it gets code."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection

from svctoolkit.errors import TransformationError
from svctoolkit.transformations._channel import Channel, ClosedError, Words
from svctoolkit.transformations._contract import Limits
from svctoolkit.transformations._frames import Ready, decode
from svctoolkit.transformations._launch import WorkerConfig, worker_config
from svctoolkit.transformations._layers import unconfirmed
from svctoolkit.transformations._memory import out_of_memory, resident_bytes
from svctoolkit.transformations._template import ForkedProcess, note_start, start

_START_SECONDS = 30.0
_OUT_OF_MEMORY = 3  # exit status
_ABORTS = {getattr(signal, name, None) for name in ("SIGTRAP", "SIGILL", "SIGABRT")}
ANY_SIZE = Limits(output_bytes=64 << 20, output_values=10_000_000)


class LostWorkerError(TransformationError):
    """A worker is no longer usable, through no fault of the code it was to run: another worker can run that code."""


class Process:
    """A locked-down process, ready for code in one language. `layers` describes its layers.

    Raises `TransformationError` (kind `sandbox`) if it cannot be started or does not have the locks that it reports;
    it then never receives user code. `without` disables layers (and `fork`, a child for each call).
    """

    def __init__(self, language: str, memory: int = 128, without: Collection[str] = ()) -> None:
        self.language, self.memory = language, memory
        self.ended = False
        try:
            self._start(worker_config(language, memory, without))
        except OSError as error:  # no descriptors, processes or memory left
            text = f"the sandbox for {language} did not start: {error.strerror or error}"
            raise TransformationError(text, kind="sandbox") from None
        try:
            self.layers = self._ready()
            self._verify()
        except (TransformationError, TimeoutError, ClosedError, OSError) as error:
            words = self._words.text().strip()
            self.end()
            why = error.message if isinstance(error, TransformationError) else words or f"no answer ({error!r})"
            note_start(language, self._process, why)
            raise TransformationError(f"the sandbox for {language} did not start: {why}", kind="sandbox") from None
        note_start(language, self._process)
        self._resident_at_start = resident_bytes(self.id)

    def _start(self, config: WorkerConfig) -> None:
        ours, theirs = socket.socketpair()
        # the kernel limits the memory of CPython; V8 reserves more than it uses
        self.channel = Channel(ours, self._check_memory if self.language == "javascript" else None)
        self._words = Words()
        try:
            self._process = start(self.language, theirs, self._words, config)
        except BaseException:
            self.channel.close()
            self._words.close()
            raise
        finally:
            self._words.hand_over()
            theirs.close()

    def _ready(self) -> dict[str, str]:
        frame = self.channel.receive(0, time.monotonic() + _START_SECONDS, 1 << 16)
        return decode(frame, Ready, ANY_SIZE).ready

    def _verify(self) -> None:
        """Verify the locks from outside. Only then is the process trusted with code."""
        lost = unconfirmed(self.id, self.layers)
        if lost:
            names = ", ".join(lost)
            raise TransformationError(f"the worker reports locks that the kernel does not show: {names}")

    @property
    def id(self) -> int:
        """The ID of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def _check_memory(self) -> None:
        """Raise `TransformationError` if the process uses more memory than user code may."""
        # 64 MB on top: V8 needs memory besides the heap of user code.
        if resident_bytes(self.id) > self._resident_at_start + (self.memory + 64 << 20):
            raise out_of_memory(self.memory)

    _resident_at_start = sys.maxsize  # nothing to compare with before it is ready

    def death(self) -> TransformationError:
        """Return why the process has ended."""
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            status = 0
        words = self._words.text()
        self.end()
        if isinstance(self._process, ForkedProcess) and self._process.is_lost:
            return LostWorkerError("the template process of the sandbox has ended", kind="sandbox")
        return cause_of_death(status, words, self.language, self.memory)

    def end(self) -> None:
        """End the process now. Harmless if it has ended already."""
        self.ended = True
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # the template is stopped; it will end the worker
            self._process.wait()
        if isinstance(self._process, ForkedProcess):
            self._process.close()
        self.channel.close()
        self._words.close()


def cause_of_death(status: int, words: str, language: str, memory: int) -> TransformationError:
    """Return why a process that ran user code ended, from its exit status and its last output."""
    # JavaScript can only abort its process by using up V8's memory
    aborted = language == "javascript" and -status in _ABORTS
    if status == _OUT_OF_MEMORY or aborted or "MemoryError" in words:
        return out_of_memory(memory)
    if status < 0:
        name = signal.Signals(-status).name if -status in list(signal.Signals) else f"signal {-status}"
        return TransformationError(f"the transformation crashed its process ({name})", kind="crash")
    reason = f": {words.strip()}" if status == 1 and words else ""
    return TransformationError(f"the transformation ended its process{reason}", kind="crash")
