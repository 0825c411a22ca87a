"""Worker processes on this machine, each with its own pipe.

The pools of the standard library share one pipe among their workers: if one is killed while it writes its result, the
other workers and the parent wait forever for the rest of that message.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from svctoolkit.errors import ToolkitError
from svctoolkit.interrupts import interrupts_blocked, uninterrupted

P = ParamSpec("P")
T = TypeVar("T")
_PATIENCE = 5.0  # seconds that an idle process gets to exit


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Yield a pool of processes on this machine that always ends with the block."""
    with uninterrupted():
        pool = Processes(workers)
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        with uninterrupted():
            pool.terminate()
        raise


class Processes(Executor):
    """Runs functions in processes that it starts on demand.

    A call whose process is killed raises `BrokenProcessPool`, as do later calls in the same process; the other
    processes continue. A call whose process cannot start raises `ToolkitError`.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers)
        self._workers = [_Worker() for _ in range(workers)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in the next free process; the future has its result or its exception."""
        return self._threads.submit(self._call, function, *args, **kwargs)

    def _call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        worker = self._idle.get_nowait()  # never empty: there is one worker per thread
        try:
            result: T = worker.call(function, args, kwargs)
            return result
        finally:
            self._idle.put(worker)

    def terminate(self) -> None:
        """Kill all processes now; the calls in progress are lost."""
        for worker in self._workers:
            worker.kill()
        self.shutdown(cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the calls in progress, then stop the processes."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.close()


class _Worker:
    """A process and the parent's end of its pipe."""

    def __init__(self) -> None:
        self._lock = Lock()  # the first call's thread starts the process, the pool's thread stops it
        self._ended = self._has_answered = False
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function in the process, and return its result or raise its exception.

        Raises `BrokenProcessPool` if the process has died.
        """
        try:
            pipe = self._start()
            pipe.send((function, args, kwargs))
            result, error = pipe.recv()
        except (EOFError, OSError):
            raise self._loss() from None
        self._has_answered = True
        if error is not None:
            raise error
        return result

    def _start(self) -> Connection[Any, Any]:
        with self._lock:
            if self._ended:
                raise EOFError
            if self._pipe is None:
                # not fork: this process may have threads, and owns the sandbox's workers. Not forkserver either: it is
                # shared with other code, and exits if Ctrl-C arrives before it is ready
                context = multiprocessing.get_context("spawn")
                pipe, there = context.Pipe()
                process = context.Process(target=_serve, args=(there,), daemon=False)
                resource_tracker.ensure_running()  # if it started below, it would unblock Ctrl-C
                with there, interrupts_blocked():  # if the parent kept that end open, EOF would never arrive
                    process.start()
                self._process, self._pipe = process, pipe
            return self._pipe

    def _loss(self) -> Exception:
        """Return the error for a call without an answer."""
        if self._process is not None and not self._has_answered:
            self._process.join(_PATIENCE)
            if self._process.exitcode is not None and self._process.exitcode > 0:
                return ToolkitError(
                    "a worker process could not start, see its error above. A script that uses workers must run under "
                    '`if __name__ == "__main__":`, because every worker imports the script, too'
                )
        return BrokenProcessPool("a worker process was killed")

    def kill(self) -> None:
        """Kill the process now, even while it is starting or writing."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Stop the process when it is idle, and wait for its exit, but not for threads left by user code."""
        with self._lock:
            self._ended = True
            if self._process is None or self._pipe is None:
                return
            with suppress(OSError):  # the process was killed
                self._pipe.send(None)
            self._process.join(_PATIENCE)
            self._process.kill()
            self._process.join()
            self._pipe.close()


def _serve(pipe: Connection[Any, Any]) -> None:
    """Run the calls that arrive, until the parent sends None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on systems where the parent cannot block it
    try:
        while (call := pipe.recv()) is not None:
            pipe.send_bytes(_answer(*call))
    except (EOFError, OSError):  # the parent has exited
        os._exit(1)  # without waiting for threads that user code left running


def _answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    try:
        return pickle.dumps((function(*args, **kwargs), None))
    except BaseException as error:  # noqa: BLE001 - raised again where it was called
        return _of_error(error)


def _of_error(error: BaseException) -> bytes:
    try:
        content = pickle.dumps((None, error))
        pickle.loads(content)  # some exceptions can be pickled but not unpickled
        return content
    except Exception:  # noqa: BLE001 - not all that is raised can be sent
        return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
