"""V8 through the library that the mini-racer package ships, without that package's event loop.

Its Python layer imports asyncio and starts a thread for it, which doubles the start time of a worker and the time of a
call. Only eight functions of the library are needed. The package is pinned to the minor version that has them.
"""

from __future__ import annotations

import ctypes
import functools
import os
from _queue import SimpleQueue  # `queue` imports threading
from collections.abc import Callable, Collection
from itertools import count

import realms  # type: ignore[import-not-found]  # in this folder; this file runs as a script

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

_TEXT, _FIRST_ERROR = 5, 200
_ERRORS = {200: "exception", 201: "syntax", 202: "memory", 203: "time", 204: "memory"}


class _Value(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("value", ctypes.c_void_p), ("length", ctypes.c_size_t), ("type", ctypes.c_uint8))


_Handle = ctypes.POINTER(_Value)
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_uint64, _Handle)


class JavaScriptError(Exception):
    """An error that V8 reported. `kind` is `exception`, `syntax`, `memory` or `time`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@functools.cache
def library(folder: str) -> Any:
    """Open V8's library, which takes longer than to start V8. Nothing of V8 runs yet."""
    name = next(name for name in os.listdir(folder) if name.endswith((".so", ".dylib", ".dll")))
    opened = ctypes.CDLL(os.path.join(folder, name))
    for function_name, result, arguments in (
        ("mr_init_v8", None, (ctypes.c_char_p, ctypes.c_char_p)),
        ("mr_init_context", ctypes.c_uint64, (_Callback,)),
        ("mr_free_context", None, (ctypes.c_uint64,)),
        ("mr_eval", ctypes.c_uint64, (ctypes.c_uint64, _Handle, ctypes.c_uint64)),
        ("mr_call_function", ctypes.c_uint64, (ctypes.c_uint64, _Handle, _Handle, _Handle, ctypes.c_uint64)),
        ("mr_alloc_string_val", _Handle, (ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint8)),
        ("mr_free_value", None, (ctypes.c_uint64, _Handle)),
        ("mr_set_hard_memory_limit", None, (ctypes.c_uint64, ctypes.c_size_t)),
        ("mr_low_memory_notification", None, (ctypes.c_uint64,)),
    ):
        function = getattr(opened, function_name)
        function.restype, function.argtypes = result, arguments
    return opened


class V8:
    """The engine, which starts here. `renew` replaces the isolate with a fresh one."""

    def __init__(self, folder: str, *, flags: str, without: Collection[str] = ()) -> None:
        self._lib = library(folder)
        self._tasks = count(1)
        self._waiting: dict[int, Callable[[Any], None]] = {}  # task -> callback for the handle of its value
        self._callback = _Callback(self._on_answer)
        self._context: int | None = None
        self._realms = realms.Realms(self._lib)
        #: whether `new ShadowRealm()` works
        self.has_realms = self._realms.available and "realms" not in without
        flags += f" {realms.FLAG}" if self.has_realms else ""
        self._lib.mr_init_v8(flags.encode(), os.path.join(folder, "icudtl.dat").encode())
        self._prepared = not self.has_realms

    # Runs on V8's thread. ctypes would only print an exception raised here, and the host would not notice.
    def _on_answer(self, task: int, handle: Any) -> None:
        try:
            if not self._prepared:
                self._prepared = True
                self._realms.install()
            self._waiting.pop(task)(handle)
        except BaseException:  # noqa: BLE001 - the host notices that the process has ended
            os._exit(1)

    def renew(self, memory: int) -> None:
        """Start a fresh isolate with a heap limit of `memory` bytes."""
        if self._context is not None:
            self._lib.mr_free_context(self._context)
        self._prepared = not self.has_realms
        self._context = self._lib.mr_init_context(self._callback)
        self._lib.mr_set_hard_memory_limit(self._context, memory)
        self.nothing = self.eval("[]")

    def collect(self) -> None:
        """Collect the garbage of unused realms, which V8 would let grow to the limit."""
        self._lib.mr_low_memory_notification(self._context)

    def text(self, text: bytes) -> Any:
        """Return a handle of a JavaScript string, from UTF-8."""
        return self._lib.mr_alloc_string_val(self._context, text, len(text), _TEXT)

    def free(self, handle: Any) -> None:
        self._lib.mr_free_value(self._context, handle)

    def eval(self, code: str) -> Any:
        """Return the handle of a script's value. Raises `JavaScriptError`."""
        source = self.text(code.encode())
        handle = self._await(lambda task: self._lib.mr_eval(self._context, source, task))
        self.free(source)
        if error := _error_of(handle):
            self.free(handle)
            raise error
        return handle

    def call(self, function: Any, text: bytes) -> bytes:
        """Return the result of a function with `text` (UTF-8) as its `this`. Other results than strings become empty.

        An argument would cost a second round trip to V8's thread. Raises `JavaScriptError`.
        """
        this = self.text(text)
        handle = self._await(lambda task: self._start(function, this, task))
        self.free(this)
        answer = _answer_of(handle)
        self.free(handle)
        if isinstance(answer, JavaScriptError):
            raise answer
        return answer

    def post(self, function: Any, text: bytes, then: Callable[[bytes | JavaScriptError], None]) -> None:
        """Like `call`, but does not wait: V8's thread calls `then` with the answer or the error.

        What `then` posts runs as soon as it returns. Waking another thread would cost as much as a small call.
        """
        this = self.text(text)

        def answer(handle: Any) -> None:
            then(_answer_of(handle))
            self.free(this)
            self.free(handle)

        self._start(function, this, self._task(answer))

    def _start(self, function: Any, this: Any, task: int) -> None:
        self._lib.mr_call_function(self._context, function, this, self.nothing, task)

    def _task(self, then: Callable[[Any], None]) -> int:
        task = next(self._tasks)
        self._waiting[task] = then
        return task

    def _await(self, start: Callable[[int], None]) -> Any:
        """Return the handle of a task's value."""
        answered: SimpleQueue[Any] = SimpleQueue()
        start(self._task(answered.put))
        return answered.get()


def _answer_of(handle: Any) -> bytes | JavaScriptError:
    value = handle.contents
    return _error_of(handle) or (ctypes.string_at(value.value, value.length) if value.type == _TEXT else b"")


def _error_of(handle: Any) -> JavaScriptError | None:
    value = handle.contents
    if value.type < _FIRST_ERROR:
        return None
    message = ctypes.string_at(value.value, min(value.length, 20_000))
    return JavaScriptError(_ERRORS.get(value.type, "exception"), message.decode("utf-8", "replace"))
