"""Braze's server: BRAZE and BRAZE_AUDIENCE send to the same one."""

from __future__ import annotations

from svctoolkit.destinations._families.braze.server import simulation

__all__ = ["simulation"]
