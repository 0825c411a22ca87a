"""Worker processes of this machine, each with a pipe of its own.

The pools of the standard library share one pipe among their workers: one that is killed while it writes its result
leaves the others, and who waits for them, behind a message that never ends.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from svctoolkit.interrupts import uninterrupted

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """A pool of processes of this machine that ends with the block, whatever happens."""
    with uninterrupted():
        pool = Processes(workers)
    try:
        yield pool
    except BaseException:
        with uninterrupted():
            pool.terminate()
        raise
    pool.shutdown()


class Processes(Executor):
    """Runs functions in processes that it starts when they are needed.

    The call whose process is killed raises `BrokenProcessPool`; others go on.
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
        self._ended = False
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives there, or raises. Raises `BrokenProcessPool` where the process is gone."""
        try:
            pipe = self._start()
            pipe.send((function, args, kwargs))
            result, error = pipe.recv()
        except (EOFError, OSError):
            raise BrokenProcessPool("a worker process was killed") from None
        if error is not None:
            raise error
        return result

    def _start(self) -> Connection[Any, Any]:
        with self._lock:
            if self._ended:
                raise EOFError
            if self._pipe is None:
                # not fork: this process may have threads, and the sandbox's workers belong to it
                method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
                context: Any = multiprocessing.get_context(method)  # the type of it does not say `Process`
                self._pipe, there = context.Pipe()
                self._process = context.Process(target=_serve, args=(there,), daemon=False)
                self._process.start()
                there.close()  # else its end would not be the end of the pipe
            return self._pipe

    def kill(self) -> None:
        """End it now, also while it is starting or writing."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End it when it is idle, and wait until it has ended."""
        with self._lock:
            self._ended = True
            if self._process is None or self._pipe is None:
                return
            with suppress(OSError):  # it was killed
                self._pipe.send(None)
            self._process.join()
            self._pipe.close()


def _serve(pipe: Connection[Any, Any]) -> None:
    """Do what is sent, until nothing is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; who started this one ends it
    with suppress(EOFError, OSError):  # who started it is gone
        while (call := pipe.recv()) is not None:
            pipe.send_bytes(_answer(*call))


def _answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    try:
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:  # noqa: BLE001 - raised again where it was called
        return _of_error(error)


def _of_error(error: Exception) -> bytes:
    try:
        return pickle.dumps((None, error))
    except Exception:  # noqa: BLE001 - not all that is raised can be sent
        return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
