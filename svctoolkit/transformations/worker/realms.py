"""Fresh realms inside one V8 isolate: separate global objects, with untouched built-ins.

A realm is a `ShadowRealm`: only strings and functions pass between it and its creator, so code in one realm has
no object of another. V8 leaves creating a realm's context to its embedder, and mini-racer does not do it. But its
library exports V8's own functions, and the few below, called on V8's thread, are enough. Their names encode the types
of their arguments, so a V8 with other signatures has no function of that name: then `install` reports failure, and
each call costs a fresh isolate.

Alternatives that were measured, in processor time per call: a context from V8's snapshot 0.3 ms, with the glue and the
program 0.45 ms (chosen); a fresh isolate 5 ms; a check of 1,500 properties for changes by the code 0.4 ms, which cannot
see everything (`RegExp.$1`, accessors, what a promise or a finalizer changes later).
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

FLAG = "--harmony-shadow-realm"

_Pointer = ctypes.c_void_p
_CALLBACK = ctypes.CFUNCTYPE(_Pointer, _Pointer)


class _Null(ctypes.Structure):
    """A function and its data, as V8 passes them by value. Both are null here."""

    _fields_ = (("function", _Pointer), ("data", _Pointer))


#: purpose -> function name and arguments; all return a pointer or nothing
_NEEDED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "isolate": ("_ZN2v87Isolate10GetCurrentEv", ()),
    "install": (
        "_ZN2v87Isolate39SetHostCreateShadowRealmContextCallbackEPFNS_10MaybeLocalINS_7ContextEEENS_5LocalIS2_EEE",
        (_Pointer, _CALLBACK),
    ),
    "context": (
        "_ZN2v87Context3NewEPNS_7IsolateEPNS_22ExtensionConfigurationENS_10MaybeLocalINS_14ObjectTemplateEEENS5_INS_5"
        "ValueEEENS_33DeserializeInternalFieldsCallbackEPNS_14MicrotaskQueueENS_30DeserializeContextDataCallbackE"
        "NS_29DeserializeAPIWrapperCallbackE",
        (_Pointer, _Pointer, _Pointer, _Pointer, _Null, _Pointer, _Null, _Null),
    ),
    "token": ("_ZN2v87Context16GetSecurityTokenEv", (_Pointer,)),
    "set_token": ("_ZN2v87Context16SetSecurityTokenENS_5LocalINS_5ValueEEE", (_Pointer, _Pointer)),
    "extras": ("_ZN2v87Context22GetExtrasBindingObjectEv", (_Pointer,)),
    "global_object": ("_ZN2v87Context6GlobalEv", (_Pointer,)),
    "put": ("_ZN2v86Object3SetENS_5LocalINS_7ContextEEENS1_INS_5ValueEEES5_", (_Pointer,) * 4),
    "text": (
        "_ZN2v86String11NewFromUtf8EPNS_7IsolateEPKcNS_13NewStringTypeEi",
        (_Pointer, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    ),
}


class Realms:
    """Makes `new ShadowRealm()` work in the isolates of a library. `available` is whether that is possible."""

    def __init__(self, library: Any) -> None:
        self._v8: dict[str, Any] = {}
        for purpose, (name, arguments) in _NEEDED.items():
            function = getattr(library, name, None)
            if function is not None:
                function.restype, function.argtypes = _Pointer, arguments
                self._v8[purpose] = function
        self.available = len(self._v8) == len(_NEEDED)
        self._make = _CALLBACK(self._make_context)  # kept alive: V8 only has its address

    def install(self) -> None:
        """Enable realms for this thread's isolate."""
        self._v8["install"](self._v8["isolate"](), self._make)

    # V8 calls this for `new ShadowRealm()`. It takes and returns handles, which are pointers here.
    def _make_context(self, initiator: int) -> int | None:
        v8, null = self._v8, _Null()
        isolate = v8["isolate"]()
        context: int | None = v8["context"](isolate, None, None, None, null, None, null, null)
        if context:
            # without the same token `eval` returns nothing there: V8 treats the realm as another origin
            v8["set_token"](context, v8["token"](initiator))
            # the glue reads from here how to find the event of running code, and deletes it
            v8["put"](
                v8["global_object"](context), context, v8["text"](isolate, b"__extras", 0, -1), v8["extras"](context)
            )
        return context
