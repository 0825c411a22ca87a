"""Worker processes of this machine, each with a pipe of its own.

The pools of the standard library share one pipe among their workers: one that is killed while it writes its result
leaves the others, and who waits for them, behind a message that never ends.
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
_PATIENCE = 5.0  # seconds for a process that has nothing to do any more to end


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """A pool of processes of this machine that ends with the block, whatever happens."""
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
    """Runs functions in processes that it starts when they are needed.

    The call whose process is killed raises `BrokenProcessPool`, as do those that come to it later; others go on. One
    whose process cannot start raises `ToolkitError`.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers)
        self._workers = [_Worker() for _ in range(workers)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run it in the next process that is free; its result, or what it raised, is in the future."""
        return self._threads.submit(self._call, function, *args, **kwargs)

    def _call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        worker = self._idle.get_nowait()  # there are as many as threads
        try:
            result: T = worker.call(function, args, kwargs)
            return result
        finally:
            self._idle.put(worker)

    def terminate(self) -> None:
        """End all processes now; what they were doing is lost."""
        for worker in self._workers:
            worker.kill()
        self.shutdown(cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let what is under way end, then the processes."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.close()


class _Worker:
    """A process and this end of its pipe."""

    def __init__(self) -> None:
        self._lock = Lock()  # it is started in the thread of its first call and ended by the pool's
        self._ended = self._has_answered = False
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives there, or raises. Raises `BrokenProcessPool` where the process is gone."""
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
                # not fork: this process may have threads, and the sandbox's workers belong to it. Nor a server that
                # forks: others use it, too, and it ends where Ctrl-C comes before it is ready
                context = multiprocessing.get_context("spawn")
                pipe, there = context.Pipe()
                process = context.Process(target=_serve, args=(there,), daemon=False)
                resource_tracker.ensure_running()  # lest it starts below, which would let Ctrl-C through again
                with there, interrupts_blocked():  # open here, its end would not be the end of the pipe
                    process.start()
                self._process, self._pipe = process, pipe
            return self._pipe

    def _loss(self) -> Exception:
        """Why there is no answer."""
        if self._process is not None and not self._has_answered:
            self._process.join(_PATIENCE)
            if self._process.exitcode is not None and self._process.exitcode > 0:
                return ToolkitError(
                    "a worker process could not start, for what it has written above. A script that runs with workers "
                    'does so under `if __name__ == "__main__":`, since each of them reads the script, too'
                )
        return BrokenProcessPool("a worker process was killed")

    def kill(self) -> None:
        """End it now, also while it is starting or writing."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End it when it is idle, and wait until it has ended; what user code has left running there does not count."""
        with self._lock:
            self._ended = True
            if self._process is None or self._pipe is None:
                return
            with suppress(OSError):  # it was killed
                self._pipe.send(None)
            self._process.join(_PATIENCE)
            self._process.kill()
            self._process.join()
            self._pipe.close()


def _serve(pipe: Connection[Any, Any]) -> None:
    """Do what is sent, until nothing is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked
    try:
        while (call := pipe.recv()) is not None:
            pipe.send_bytes(_answer(*call))
    except (EOFError, OSError):  # who started it is gone
        os._exit(1)  # without waiting for threads that user code has left


def _answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    try:
        return pickle.dumps((function(*args, **kwargs), None))
    except BaseException as error:  # noqa: BLE001 - raised again where it was called
        return _of_error(error)


def _of_error(error: BaseException) -> bytes:
    try:
        content = pickle.dumps((None, error))
        pickle.loads(content)  # some can be sent, and not be received
        return content
    except Exception:  # noqa: BLE001 - not all that is raised can be sent
        return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
