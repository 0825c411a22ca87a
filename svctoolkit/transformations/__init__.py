"""User transformations: runs the user's code.

`callables` runs plain Python functions, which are trusted. `load` runs JavaScript and Python given as text, in worker
processes that are locked down before they receive the code; `layers` lists the locks of this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svctoolkit.transformations._contract import (
    CodeLoss,
    FetchRequest,
    FetchResponse,
    JsonEvents,
    Library,
    Limits,
    Log,
    Metadata,
    Output,
    Runnable,
    Scope,
    cause_of,
    outputs,
)
from svctoolkit.transformations.callables import CallableTransformation

if TYPE_CHECKING:
    from svctoolkit.transformations._layers import (
        Layers,
        SandboxWarning,
        code_is_trusted,
        essential_layers,
        first_notice,
        possible_layers,
        trust_code,
    )
    from svctoolkit.transformations._load import SandboxedTransformation, load
    from svctoolkit.transformations._pool import Pool
    from svctoolkit.transformations._probe import layers
    from svctoolkit.transformations._template import prepare, template_problem
    from svctoolkit.transformations._trust import Trusted, TrustStore, digest_of, imported_libraries
    from svctoolkit.transformations._types import type_files

__all__ = [
    "CallableTransformation",
    "CodeLoss",
    "FetchRequest",
    "FetchResponse",
    "JsonEvents",
    "Layers",
    "Library",
    "Limits",
    "Log",
    "Metadata",
    "Output",
    "Pool",
    "Runnable",
    "SandboxWarning",
    "SandboxedTransformation",
    "Scope",
    "TrustStore",
    "Trusted",
    "cause_of",
    "code_is_trusted",
    "digest_of",
    "essential_layers",
    "first_notice",
    "imported_libraries",
    "layers",
    "load",
    "outputs",
    "possible_layers",
    "prepare",
    "template_problem",
    "trust_code",
    "type_files",
]

_ON_FIRST_USE = {
    "Layers": "_layers",
    "Pool": "_pool",
    "SandboxWarning": "_layers",
    "SandboxedTransformation": "_load",
    "TrustStore": "_trust",
    "Trusted": "_trust",
    "digest_of": "_trust",
    "imported_libraries": "_trust",
    "layers": "_probe",
    "load": "_load",
    "code_is_trusted": "_layers",
    "essential_layers": "_layers",
    "first_notice": "_layers",
    "possible_layers": "_layers",
    "prepare": "_template",
    "template_problem": "_template",
    "trust_code": "_layers",
    "type_files": "_types",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ON_FIRST_USE[name]}"), name)
