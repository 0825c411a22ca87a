"""User transformations: what runs the user's code, one module per language.

`callables` runs plain Python functions, the trusted form.
"""

from __future__ import annotations

from svctoolkit.transformations._contract import Log, Metadata, Output, Runnable, outputs
from svctoolkit.transformations.callables import CallableTransformation

__all__ = ["CallableTransformation", "Log", "Metadata", "Output", "Runnable", "outputs"]
