"""`svctoolkit-client queue DIR`: inspect and maintain a queue, also while the application uses it."""

from __future__ import annotations

from svctoolkit.sdk.operate.commands import main

__all__ = ["main"]
