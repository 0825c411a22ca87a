"""What simulated destinations hold and have lost: tables, losses, and all about one person."""

from __future__ import annotations

from svctoolkit.server.inspect.held.person import HeldPerson
from svctoolkit.server.inspect.held.tables import Held, HeldRow, HeldTable, Losses

__all__ = ["Held", "HeldPerson", "HeldRow", "HeldTable", "Losses"]
