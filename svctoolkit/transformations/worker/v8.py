"""V8 by way of the library that the mini-racer package ships, without that package's event loop.

Its Python layer imports asyncio and starts a thread for it, which doubles the start of a worker and the time of a
call; the library itself needs eight functions. The package is pinned to the minor version whose functions these are.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

import realms  # type: ignore[import-not-found]  # beside this file, which runs as a script

_TEXT, _FIRST_ERROR = 5, 200
_ERRORS = {200: "exception", 201: "syntax", 202: "memory", 203: "time", 204: "memory"}


class _Value(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("value", ctypes.c_void_p), ("length", ctypes.c_size_t), ("type", ctypes.c_uint8))


_Handle = ctypes.POINTER(_Value)
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_uint64, _Handle)


class JavaScriptError(Exception):
    """What V8 reported. `kind` is `exception`, `syntax`, `memory` or `time`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class V8:
    """The engine. `renew` gives a fresh isolate, and ends the one before."""

    def __init__(self, folder: str, *, flags: str, without: Collection[str] = ()) -> None:
        library = next(p for p in Path(folder).iterdir() if p.suffix in {".so", ".dylib", ".dll"})
        self._lib = ctypes.CDLL(str(library))
        for name, result, arguments in (
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
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments
        self._answer: Any = None
        self._answered = threading.Lock()
        self._answered.acquire()
        self._callback = _Callback(self._on_answer)
        self._context: int | None = None
        self._realms = realms.Realms(self._lib)
        #: whether `new ShadowRealm()` works
        self.has_realms = self._realms.available and "realms" not in without
        flags += f" {realms.FLAG}" if self.has_realms else ""
        self._lib.mr_init_v8(flags.encode(), str(Path(folder, "icudtl.dat")).encode())
        self._prepared = not self.has_realms

    # Runs on V8's thread, while the one that has asked waits in `_wait`. The lock is what hands the answer over, so
    # there is never more than one task under way.
    def _on_answer(self, _task: int, handle: Any) -> None:
        if not self._prepared:
            self._prepared = True
            self._realms.install()
        self._answer = handle
        self._answered.release()

    def renew(self, memory: int) -> None:
        """A fresh isolate whose heap may take `memory` bytes."""
        if self._context is not None:
            self._lib.mr_free_context(self._context)
        self._prepared = not self.has_realms
        self._context = self._lib.mr_init_context(self._callback)
        self._lib.mr_set_hard_memory_limit(self._context, memory)
        self.nothing = self.eval("[]")

    def collect(self) -> None:
        """Collects the garbage of realms that are no longer used; V8 would let it grow to the limit."""
        self._lib.mr_low_memory_notification(self._context)

    def text(self, text: bytes) -> Any:
        """A handle of a JavaScript string, from UTF-8."""
        return self._lib.mr_alloc_string_val(self._context, text, len(text), _TEXT)

    def free(self, handle: Any) -> None:
        self._lib.mr_free_value(self._context, handle)

    def eval(self, code: str) -> Any:
        """The handle of a script's value. Raises `JavaScriptError`."""
        source = self.text(code.encode())
        self._lib.mr_eval(self._context, source, 1)
        handle = self._wait()
        self.free(source)
        return handle

    def call(self, function: Any, text: bytes) -> bytes:
        """What a function returns with `text` (UTF-8) as its `this`; anything but a text gives an empty one.

        An argument would cost a second way to V8's thread and back.
        """
        this = self.text(text)
        self._lib.mr_call_function(self._context, function, this, self.nothing, 1)
        handle = self._wait()
        self.free(this)
        returned = handle.contents
        answer = ctypes.string_at(returned.value, returned.length) if returned.type == _TEXT else b""
        self.free(handle)
        return answer

    def _wait(self) -> Any:
        self._answered.acquire()
        handle = self._answer
        kind = handle.contents.type
        if kind < _FIRST_ERROR:
            return handle
        message = ctypes.string_at(handle.contents.value, min(handle.contents.length, 20_000))
        self.free(handle)
        raise JavaScriptError(_ERRORS.get(kind, "exception"), message.decode("utf-8", "replace"))
